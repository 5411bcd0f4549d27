/** What `cotal doctor --fix` repairs: records that name nobody, and credentials past their use. It starts and stops nothing. */
import { existsSync } from 'node:fs';
import { operatorKeys, spaceKeys } from '../services/local/auth-store.ts';
import { credsPath, keepCreds, mint } from '../services/local/mint.ts';
import { clearStale, knownProcesses } from '../services/local/process-record.ts';
import type { Journal } from '../services/ports.ts';
import { keepCredentials } from './credentials.ts';
import { readSettings } from './mesh.ts';

/** @returns One line for each thing that was done. */
export async function repair({ root, space }: { root: string; space: string }): Promise<string[]> {
  const done: string[] = [];
  for (const what of ['delivery', 'manager', 'broker'] as const) {
    const name = { root, what, space };
    const { record } = knownProcesses(name);
    if (record.kind !== 'stale') continue;
    clearStale(name);
    done.push(`removed the stale record of ${what} (${record.reason})`);
  }
  if (readSettings(root)?.mode !== 'auth') return done;
  const journal: Journal = { tell: () => {} };
  const keys = {
    operator: await operatorKeys({ root, create: false }),
    space: await spaceKeys({ root, space, create: false }),
  };
  const made = await keepCredentials({ root, keys, journal });
  // A missing evictor is a posture that a start keeps. Whoever asks for a repair wants eviction.
  const evictor = credsPath(root, space, 'evictor');
  if (!existsSync(evictor)) {
    keepCreds(evictor, await mint(keys, { profile: { profile: 'evictor' }, name: 'local.evictor' }));
    made.push('evictor');
  }
  for (const name of made) done.push(`made ${name}.creds anew`);
  return done;
}
