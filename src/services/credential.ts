/**
 * Credentials and the keys behind them, for everyone who mints, keeps or presents one.
 *
 * Key pairs sign with the platform's own Ed25519. The libraries' pure JavaScript takes 15 to 50 ms a signature and as
 * long for every public key; this takes a tenth of a millisecond. A pair is what `@nats-io/jwt` takes as a key.
 */
import { createHash, createPrivateKey, createPublicKey, randomBytes, sign, verify } from 'node:crypto';
import type { KeyPair } from '@nats-io/nkeys';
import { readUserClaims, type UserClaims } from '../domain/claims.ts';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { type KeyKind, publicKeyText, readPublicKey, readSeed, seedText } from '../domain/nkeys.ts';

/** Head of a PKCS #8 document that holds one raw Ed25519 seed. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

export interface SigningPair extends KeyPair {
  /** Seed as text (SO…, SA…, SU…): a secret. */
  readonly seed: string;
  readonly publicKey: string;
}

export const newPair = (kind: KeyKind): SigningPair => pairOf(kind, randomBytes(32));

/** @throws Plane3Error `credential.bad-seed` for a text that is not a seed; the text is not repeated. */
export function pairFromSeed(text: string): SigningPair {
  const read = readSeed(text);
  if (read === undefined) throw new Plane3Error('credential.bad-seed', {});
  return pairOf(read.kind, read.seed);
}

function pairOf(kind: KeyKind, raw: Uint8Array): SigningPair {
  const secret = createPrivateKey({ key: Buffer.concat([PKCS8, raw]), format: 'der', type: 'pkcs8' });
  const open = createPublicKey(secret);
  const publicKey = publicKeyText(kind, open.export({ format: 'der', type: 'spki' }).subarray(-32));
  const seed = seedText(kind, raw);
  const no = (): never => {
    throw new Error('a signing key neither seals nor opens, and is not cleared');
  };
  return {
    seed,
    publicKey,
    getPublicKey: () => publicKey,
    getSeed: () => new TextEncoder().encode(seed),
    getPrivateKey: () => new TextEncoder().encode(seed),
    sign: (input) => new Uint8Array(sign(null, input, secret)),
    verify: (input, signature) => verify(null, input, open, signature),
    clear: no,
    seal: no,
    open: no,
  };
}

/** Head of an SPKI document that holds one raw Ed25519 public key. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

/** Signs a text; base64url. */
export const signText = (pair: Pick<SigningPair, 'sign'>, text: string): string =>
  Buffer.from(pair.sign(new TextEncoder().encode(text))).toString('base64url');

/** True when `signature` (base64url) is the text's, by this user key. What is not well-formed is not signed. */
export function isSignedBy(userKey: string, text: string, signature: string): boolean {
  const raw = readPublicKey('user', userKey);
  const bytes = Buffer.from(signature, 'base64url');
  if (raw === undefined || bytes.length !== 64) return false;
  const key = createPublicKey({ key: Buffer.concat([SPKI, raw]), format: 'der', type: 'spki' });
  return verify(null, Buffer.from(text), key, bytes);
}

/** A credential: who it is, what the broker shall know of it, and the key that proves it. */
export interface Credential {
  /** Public nkey of the user: the connection id that keys its inbox. */
  readonly publicKey: string;
  readonly jwt: string;
  readonly claims: UserClaims;
  readonly pair: SigningPair;
}

const SECTION = /-----BEGIN ([A-Z ]+)-----\s*([A-Za-z0-9._-]+)\s*-+END \1-+/g;

/** The text of a creds file. */
export const credsText = ({ jwt, pair }: Pick<Credential, 'jwt' | 'pair'>): string =>
  [
    '-----BEGIN NATS USER JWT-----',
    jwt,
    '------END NATS USER JWT------',
    '',
    '-----BEGIN USER NKEY SEED-----',
    pair.seed,
    '------END USER NKEY SEED------',
    '',
  ].join('\n');

/**
 * Reads the text of a creds file.
 * @param path Where the text is from, for the error.
 * @throws Plane3Error `credential.unreadable` naming the path and what is wrong; the text is not repeated.
 */
export function readCreds(text: string, path: string): Credential {
  const no = (reason: string): never => {
    throw new Plane3Error('credential.unreadable', { path, reason });
  };
  const sections = new Map([...text.matchAll(SECTION)].map((match) => [match[1], match[2] ?? '']));
  const jwt = sections.get('NATS USER JWT') ?? no('it has no user JWT');
  const seed = sections.get('USER NKEY SEED') ?? no('it has no key seed');
  const claims = readUserClaims(jwt) ?? no('its JWT is not a user JWT');
  if (readSeed(seed)?.kind !== 'user') no('its key is not a user key');
  const pair = pairFromSeed(seed);
  if (claims.sub !== pair.publicKey) no('its JWT belongs to another key');
  return { publicKey: pair.publicKey, jwt, claims, pair };
}

/** Fingerprint of a credential: SHA-256 of its JWT, lower-case hex. */
export const fingerprintOf = (jwt: string): string => createHash('sha256').update(jwt).digest('hex');
