/**
 * The keys of a mesh: operator, system account, and for each space an account with a signing key of its own. They lie in
 * `<root>/.cotal/auth` (0700), one file for the operator and one for each space, written by one rename. The daemon never
 * reads them. A file that is there and cannot be read is refused, never replaced.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { encodeAccount, encodeOperator } from '@nats-io/jwt';
import { z } from 'zod';
import { Plane3Error } from '../../domain/errors/catalogue.ts';
import { spaceKey } from '../../domain/names.ts';
import { isPublicKey, type KeyKind, readSeed } from '../../domain/nkeys.ts';
import { newPair, pairFromSeed, type SigningPair } from '../credential.ts';
import { withFileLock } from './file-lock.ts';
import { readJsonFile, SECRET_FILE, SECRET_FOLDER, writeAtomic } from './files.ts';

const seedOf = (kind: KeyKind) => z.string().refine((text) => readSeed(text)?.kind === kind);
const jwt = z.string().regex(/^[\w-]+\.[\w-]+\.[\w-]+$/);
const operatorSchema = z.object({
  version: z.literal(1),
  operatorSeed: seedOf('operator'),
  operatorJwt: jwt,
  systemSeed: seedOf('account'),
  systemJwt: jwt,
});
const spaceSchema = z.object({
  version: z.literal(1),
  space: z.string(),
  accountSeed: seedOf('account'),
  signingSeed: seedOf('account'),
  accountJwt: jwt,
  /** User key → seconds since the epoch: its credentials issued up to then are refused. */
  revoked: z.record(
    z.string().refine((key) => isPublicKey('user', key)),
    z.int().min(0),
  ),
  /** User key → seconds since the epoch: its last credential that was revoked ends then by itself. */
  ends: z.record(z.string(), z.int().min(0)).optional(),
});
type SpaceFile = z.infer<typeof spaceSchema>;

export interface OperatorKeys {
  readonly operator: SigningPair;
  readonly operatorJwt: string;
  readonly system: SigningPair;
  readonly systemJwt: string;
}
export interface SpaceKeys {
  readonly space: string;
  /** Identity of the account: its public key names the account everywhere. */
  readonly account: SigningPair;
  /** Signs users, so that the identity key is used for nothing. */
  readonly signing: SigningPair;
  readonly accountJwt: string;
  readonly revoked: Readonly<Record<string, number>>;
  /** When the credentials of a revoked user end by themselves; absent for one whose credentials have no end, or an unknown one. */
  readonly ends?: Readonly<Record<string, number>>;
}

/** The broker's clock decides when a credential has ended; it is never this far from ours. */
const CLOCKS_DIFFER_S = 3_600;

/** No limit of ours on an account: what the broker has is what it may use. */
const LIMITS = {
  subs: -1,
  data: -1,
  payload: -1,
  imports: -1,
  exports: -1,
  wildcards: true,
  conn: -1,
  leaf: -1,
} as const;
const STORE_LIMITS = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 } as const;

export const cotalFolder = (root: string): string => join(root, '.cotal');
const authFolder = (root: string): string => join(cotalFolder(root), 'auth');
const operatorPath = (root: string): string => join(authFolder(root), 'operator.json');
const spacePath = (root: string, space: string): string => join(authFolder(root), `space.${spaceKey(space)}.json`);

const keep = (path: string, value: object): void =>
  writeAtomic(path, `${JSON.stringify(value, undefined, 2)}\n`, SECRET_FILE, SECRET_FOLDER);

/** The operator and system keys of a root; made when they are missing and `create` says so. */
export async function operatorKeys({ root, create }: { root: string; create: boolean }): Promise<OperatorKeys> {
  const path = operatorPath(root);
  const open = (): OperatorKeys | undefined => {
    const file = readJsonFile(path, operatorSchema);
    if (file === undefined) return undefined;
    const { operatorJwt, systemJwt } = file;
    return { operator: pairFromSeed(file.operatorSeed), operatorJwt, system: pairFromSeed(file.systemSeed), systemJwt };
  };
  const there = open();
  if (there !== undefined) return there;
  if (!create) throw new Plane3Error('auth.missing', { what: 'the operator', path: authFolder(root) });
  return withFileLock({ path, work: async () => open() ?? makeOperator(path) });
}

async function makeOperator(path: string): Promise<OperatorKeys> {
  const operator = newPair('operator');
  const system = newPair('account');
  const systemJwt = await encodeAccount('SYS', system, { limits: LIMITS }, { signer: operator });
  const operatorJwt = await encodeOperator('plane3', operator, { system_account: system.publicKey });
  keep(path, { version: 1, operatorSeed: operator.seed, operatorJwt, systemSeed: system.seed, systemJwt });
  return { operator, operatorJwt, system, systemJwt };
}

/** The keys of one space; made when they are missing and `create` says so. */
export async function spaceKeys(asked: { root: string; space: string; create: boolean }): Promise<SpaceKeys> {
  const { root, space, create } = asked;
  const path = spacePath(root, space);
  const there = openSpace(path);
  if (there !== undefined) return there;
  if (!create) throw new Plane3Error('auth.missing', { what: `space ${space}`, path: authFolder(root) });
  const { operator } = await operatorKeys({ root, create });
  return withFileLock({ path, work: async () => openSpace(path) ?? makeSpace(path, space, operator) });
}

function openSpace(path: string): SpaceKeys | undefined {
  const file = readJsonFile(path, spaceSchema);
  if (file === undefined) return undefined;
  const { space, accountJwt, revoked, ends = {} } = file;
  return {
    space,
    account: pairFromSeed(file.accountSeed),
    signing: pairFromSeed(file.signingSeed),
    accountJwt,
    revoked,
    ends,
  };
}

async function makeSpace(path: string, space: string, operator: SigningPair): Promise<SpaceKeys> {
  const keys = { space, account: newPair('account'), signing: newPair('account'), revoked: {} };
  return keepSpace(path, { ...keys, accountJwt: await signAccount(keys, operator) });
}

const signAccount = (keys: Omit<SpaceKeys, 'accountJwt'>, operator: SigningPair): Promise<string> =>
  encodeAccount(
    `space ${keys.space}`,
    keys.account,
    {
      limits: { ...LIMITS, ...STORE_LIMITS },
      signing_keys: [keys.signing.publicKey],
      ...(Object.keys(keys.revoked).length > 0 ? { revocations: { ...keys.revoked } } : {}),
    },
    { signer: operator },
  );

function keepSpace(path: string, keys: SpaceKeys): SpaceKeys {
  const file: SpaceFile = {
    version: 1,
    space: keys.space,
    accountSeed: keys.account.seed,
    signingSeed: keys.signing.seed,
    accountJwt: keys.accountJwt,
    revoked: { ...keys.revoked },
    ends: { ...keys.ends },
  };
  keep(path, file);
  return keys;
}

/** Spaces that this root has keys of. */
export function spacesOf(root: string): string[] {
  const found: string[] = [];
  for (const name of namesIn(authFolder(root))) {
    const file = /^space\.[0-9a-f]+\.json$/.test(name) ? openSpace(join(authFolder(root), name)) : undefined;
    if (file !== undefined) found.push(file.space);
  }
  return found.sort();
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Revokes user keys of a space: every credential of them issued until `at` is refused once the account JWT has been
 * pushed. The new JWT is on disk before `push` is called and stays there whatever it answers, so that the broker gets it
 * at its next start at the latest. One revoker at a time. Revocations of users whose credentials have ended by themselves an
 * hour ago are left out: the broker refuses those anyway, and the account JWT must fit into one message.
 *
 * @param asked.at Seconds since the epoch; a key that was revoked later keeps that.
 * @param asked.ends When the last credential of a user ends by itself, seconds; a user that is not in it is revoked for good.
 * @returns The keys with the new account JWT, and what `push` answered.
 */
export async function revokeUsers<Answer>(asked: {
  root: string;
  space: string;
  users: readonly string[];
  at: number;
  ends?: ReadonlyMap<string, number>;
  push: (accountJwt: string) => Promise<Answer>;
}): Promise<{ keys: SpaceKeys; answer: Answer }> {
  const { root, space, users, at, push, ends: told = new Map<string, number>() } = asked;
  const path = spacePath(root, space);
  const { operator } = await operatorKeys({ root, create: false });
  return withFileLock({
    path,
    work: async () => {
      const now = await spaceKeys({ root, space, create: false });
      const revoked = { ...now.revoked };
      const ends = { ...now.ends };
      for (const user of users) {
        const end = told.get(user);
        // A user that was revoked for good stays so.
        const isBounded = end !== undefined && (revoked[user] === undefined || ends[user] !== undefined);
        if (isBounded) ends[user] = Math.max(ends[user] ?? 0, end);
        else delete ends[user];
        revoked[user] = Math.max(revoked[user] ?? 0, at);
      }
      for (const [user, end] of Object.entries(ends)) {
        if (end + CLOCKS_DIFFER_S >= at) continue;
        delete revoked[user];
        delete ends[user];
      }
      const kept = { ...now, revoked, ends };
      const keys = keepSpace(path, { ...kept, accountJwt: await signAccount(kept, operator) });
      return { keys, answer: await push(keys.accountJwt) };
    },
  });
}
