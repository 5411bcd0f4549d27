/**
 * The SecretStore proof: whoever re-signs credentials must write into the very store that the lease holder re-reads. The
 * holder answers a challenge with the identity of its store, signed by a key of its process. The lease row carries that
 * key, attested by a seed inside the store: so a store with the same name and other content is not the same store.
 */
import { z } from 'zod';

export const storeIdentitySchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('fs'), root: z.string().min(1) }),
  z.strictObject({ kind: z.literal('injected'), coordinate: z.string().min(1) }),
]);
export type StoreIdentity = z.infer<typeof storeIdentitySchema>;

/** For a person: which store this is. */
export const storeName = (identity: StoreIdentity): string =>
  identity.kind === 'fs' ? identity.root : `injected ${identity.coordinate}`;

const isSame = (one: StoreIdentity, other: StoreIdentity): boolean =>
  storeName(one) === storeName(other) && one.kind === other.kind;

/** What the seed inside the store signs: that this key speaks for this run of this holder. */
export const attestationText = (of: { space: string; holder: string; incarnation: string; proofKey: string }): string =>
  JSON.stringify(['plane3.attestation.1', of.space, of.holder, of.incarnation, of.proofKey]);

/** What the process key signs: which store its process re-reads. */
export const proofText = (of: {
  space: string;
  incarnation: string;
  challenge: string;
  identity: StoreIdentity;
}): string =>
  JSON.stringify(['plane3.store.1', of.space, of.incarnation, of.challenge, of.identity.kind, storeName(of.identity)]);

export type ProofVerdict =
  | { readonly kind: 'matched'; readonly incarnation: string }
  /** Another store, proved: its name, or what in it differs. */
  | { readonly kind: 'mismatched'; readonly ours: string; readonly theirs: string }
  /** It cannot be told: this fails closed. */
  | { readonly kind: 'undetermined'; readonly reason: string };

/** What the verifier found out; the signatures are checked where keys are. */
export interface ProofReading {
  readonly challenge: string;
  readonly ours: StoreIdentity;
  readonly answer: { readonly identity: StoreIdentity; readonly challenge: string; readonly incarnation: string };
  /** The lease row as it was read after the answer came. */
  readonly row: { readonly holder: string; readonly incarnation: string };
  /** The answer is signed by the key of the row. */
  readonly isSigned: boolean;
  /** The key of the row is attested by the seed that our own store has. */
  readonly isAttested: boolean;
}

export function judgeProof(read: ProofReading): ProofVerdict {
  const { answer, row, ours } = read;
  const no = (reason: string): ProofVerdict => ({ kind: 'undetermined', reason });
  if (answer.challenge !== read.challenge) return no('the answer is to another challenge');
  if (answer.incarnation !== row.incarnation) {
    return no(`answered by ${answer.incarnation}, but the lease is held by ${row.holder}, ${row.incarnation}`);
  }
  if (!read.isSigned) return no('the answer is not signed by the key of the lease row');
  if (!isSame(answer.identity, ours)) {
    return { kind: 'mismatched', ours: storeName(ours), theirs: storeName(answer.identity) };
  }
  if (!read.isAttested) {
    const theirs = `${storeName(ours)} with another delivery credential in it`;
    return { kind: 'mismatched', ours: storeName(ours), theirs };
  }
  return { kind: 'matched', incarnation: answer.incarnation };
}
