/**
 * What a manager keeps across restarts: the instance that its gate and ledger are about, and the keys of its serve,
 * goal-writer and session-ledger identities. `<root>/.cotal/auth/manager.<key>.json` (0600), made once.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { spaceKey } from '../../domain/names.ts';
import { readSeed } from '../../domain/nkeys.ts';
import { newPair, pairFromSeed, type SigningPair } from '../credential.ts';
import { cotalFolder } from './auth-store.ts';
import { withFileLock } from './file-lock.ts';
import { readJsonFile, SECRET_FILE, SECRET_FOLDER, writeAtomic } from './files.ts';

export const KEPT_IDENTITIES = ['serve', 'goal_writer', 'session_ledger'] as const;
export type KeptIdentity = (typeof KEPT_IDENTITIES)[number];

/** The principal of a kept identity: the same for every incarnation, so that restarts add no holder. */
export const keptPrincipal = (name: KeptIdentity): string => `local.manager_${name}`;

export interface ManagerIdentity {
  readonly instance: string;
  /** On the ledger rows of the family. */
  readonly lifecycleUid: string;
  readonly pairs: Readonly<Record<KeptIdentity, SigningPair>>;
}

const seed = z.string().refine((text) => readSeed(text)?.kind === 'user');
const fileSchema = z.object({
  version: z.literal(1),
  instance: z.string().regex(/^[0-9a-f]{24}$/),
  lifecycleUid: z.string().regex(/^[a-z0-9]{26}$/),
  seeds: z.object({ serve: seed, goal_writer: seed, session_ledger: seed }),
});

export async function managerIdentity({ root, space }: { root: string; space: string }): Promise<ManagerIdentity> {
  const path = join(cotalFolder(root), 'auth', `manager.${spaceKey(space)}.json`);
  const open = (): ManagerIdentity | undefined => {
    const file = readJsonFile(path, fileSchema);
    if (file === undefined) return undefined;
    const { instance, lifecycleUid, seeds } = file;
    return {
      instance,
      lifecycleUid,
      pairs: {
        serve: pairFromSeed(seeds.serve),
        goal_writer: pairFromSeed(seeds.goal_writer),
        session_ledger: pairFromSeed(seeds.session_ledger),
      },
    };
  };
  const make = (): ManagerIdentity => {
    const [serve, goal_writer, session_ledger] = [newPair('user'), newPair('user'), newPair('user')];
    const instance = randomBytes(12).toString('hex');
    const lifecycleUid = `m${randomBytes(16).toString('hex')}`.slice(0, 26);
    const seeds = { serve: serve.seed, goal_writer: goal_writer.seed, session_ledger: session_ledger.seed };
    writeAtomic(path, `${JSON.stringify({ version: 1, instance, lifecycleUid, seeds })}\n`, SECRET_FILE, SECRET_FOLDER);
    return { instance, lifecycleUid, pairs: { serve, goal_writer, session_ledger } };
  };
  return open() ?? withFileLock({ path, work: async () => open() ?? make() });
}
