/** Workspace roots: a folder that has a `.cotal`. One rule for every command and for the daemon (UPD-04). */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** The nearest folder at or above `from` that has a `.cotal`. */
export function nearestRoot(from: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.cotal'))) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

/** The folder with every link resolved; the path as it is where it does not exist. */
export function realFolder(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}
