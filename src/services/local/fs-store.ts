/** The workstation's own secret store: creds files under `<root>/.cotal/space.<key>/`. */
import { realpathSync } from 'node:fs';
import type { WritableStore } from '../ports.ts';
import { readIfThere, SECRET_FILE, SECRET_FOLDER, writeAtomic } from './files.ts';
import { credsPath } from './mint.ts';

export function fsStore({ root, space }: { root: string; space: string }): WritableStore {
  return {
    identity: () => ({ kind: 'fs', root: realpathSync(root) }),
    read: async (name) => readIfThere(credsPath(root, space, name)),
    write: async (name, text) => writeAtomic(credsPath(root, space, name), text, SECRET_FILE, SECRET_FOLDER),
  };
}
