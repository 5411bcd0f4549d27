/** Which workspace root a process works on: the one that was named, or the nearest `.cotal` above where it stands. */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Plane3Error } from '../../domain/errors/catalogue.ts';

const isRoot = (folder: string): boolean => existsSync(join(folder, '.cotal'));

/** The nearest folder at or above `from` that has a `.cotal`. */
export function nearestRoot(from: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (isRoot(folder)) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

/**
 * Absolute path of the workspace root.
 * @throws Plane3Error `place.root` for a named folder without `.cotal`, `start.root` naming the folder it was looked for from.
 */
export function workspaceRoot({ root, from = process.cwd() }: { root?: string; from?: string }): string {
  if (root !== undefined) {
    const directory = resolve(from, root);
    if (!isRoot(directory)) throw new Plane3Error('place.root', { directory });
    return directory;
  }
  const found = nearestRoot(from);
  if (found === undefined) throw new Plane3Error('start.root', { directory: resolve(from) });
  return found;
}
