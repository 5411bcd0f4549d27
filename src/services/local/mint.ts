/**
 * Mints credentials and keeps them: `<root>/.cotal/space.<key>/<name>.creds` (0600). A user of the space is signed by the
 * account's signing key, a user of the system account by that account.
 */
import { join } from 'node:path';
import { encodeUser } from '@nats-io/jwt';
import { readUserClaims } from '../../domain/claims.ts';
import { Plane3Error } from '../../domain/errors/catalogue.ts';
import { spaceKey } from '../../domain/names.ts';
import { permissionsOf } from '../../domain/permissions.ts';
import { isSystemProfile, LIFE_S, type Profile } from '../../domain/profiles.ts';
import { type Credential, credsText, newPair, readCreds, type SigningPair } from '../credential.ts';
import { cotalFolder, type OperatorKeys, type SpaceKeys } from './auth-store.ts';
import { readIfThere, SECRET_FILE, SECRET_FOLDER, writeAtomic } from './files.ts';

/** A JWT reaches the broker in one control line of at most 16 KiB, with the signature and the options beside it. */
export const JWT_LIMIT = 15_000;

export interface MintRequest {
  readonly profile: Profile;
  /** Name in the JWT, which the broker shows with the connection: a principal. */
  readonly name: string;
  /** Keeps this key, and so its inbox and its place in the ledger; a new one is made without it. */
  readonly pair?: SigningPair;
  /** Life in seconds in place of the profile's own; null for one without end. */
  readonly lifeS?: number | null;
}

/** @throws Plane3Error `credential.too-large` when the broker would not take it. */
export async function mint(
  keys: { operator: Pick<OperatorKeys, 'system'>; space?: Pick<SpaceKeys, 'account' | 'signing'> },
  { profile, name, pair = newPair('user'), lifeS }: MintRequest,
): Promise<Credential> {
  const rights = permissionsOf(profile, pair.publicKey);
  const life = lifeS === undefined ? LIFE_S[profile.profile] : (lifeS ?? undefined);
  const system = isSystemProfile(profile.profile);
  const owner = system ? keys.operator.system : keys.space?.account;
  if (owner === undefined) throw new Error(`a ${profile.profile} credential needs the keys of its space`);
  const jwt = await encodeUser(
    name,
    pair,
    owner,
    { pub: { allow: [...rights.publish], deny: [] }, sub: { allow: [...rights.subscribe], deny: [] } },
    {
      ...(system || keys.space === undefined ? {} : { signer: keys.space.signing }),
      ...(life === undefined ? {} : { exp: Math.floor(Date.now() / 1000) + life }),
    },
  );
  const claims = readUserClaims(jwt);
  if (claims === undefined) throw new Error('the minted JWT cannot be read back');
  if (jwt.length > JWT_LIMIT) {
    throw new Plane3Error('credential.too-large', { name, bytes: jwt.length, limit: JWT_LIMIT });
  }
  return { publicKey: pair.publicKey, jwt, claims, pair };
}

/** Where the credential of this name lies. `name`: a profile, or `agents/` and the principal of an agent. */
export const credsPath = (root: string, space: string, name: string): string =>
  join(cotalFolder(root), `space.${spaceKey(space)}`, `${name}.creds`);

export const keepCreds = (path: string, credential: Credential): void =>
  writeAtomic(path, credsText(credential), SECRET_FILE, SECRET_FOLDER);

/** The credential in a file, or undefined when there is none. */
export function openCreds(path: string): Credential | undefined {
  const text = readIfThere(path);
  return text === undefined ? undefined : readCreds(text, path);
}
