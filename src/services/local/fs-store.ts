/** The workstation's own secret store: creds files under `<root>/.cotal/space.<key>/`. */
import { realpathSync } from 'node:fs';
import type { SecretStore } from '../ports.ts';
import { readIfThere } from './files.ts';
import { credsPath } from './mint.ts';

export function fsStore({ root, space }: { root: string; space: string }): SecretStore {
  return {
    identity: () => ({ kind: 'fs', root: realpathSync(root) }),
    read: async (name) => readIfThere(credsPath(root, space, name)),
  };
}
