/**
 * What a daemon answers managers beside the delivery work itself: which store it re-reads, who is connected, and that
 * somebody is connected no more. It refuses by name what it is not wired for.
 */
import { Plane3Error } from './domain/errors/catalogue.ts';
import { attestationText, proofText } from './domain/store-proof.ts';
import { type Credential, newPair, signText } from './services/credential.ts';
import type { Handlers } from './services/delivery/rail-work.ts';
import type { Sweeper } from './services/nats/sweep.ts';
import type { SecretStore } from './services/ports.ts';

/** The key of this run of the process, and what the seed inside the store says of it. */
export class ProcessProof {
  readonly #pair = newPair('user');
  readonly #of: { readonly space: string; readonly holder: string; readonly incarnation: string };

  constructor(of: { space: string; holder: string; incarnation: string }) {
    this.#of = of;
  }

  /** For the lease row. `credential`: the one that the daemon read from its store and serves with. */
  row(credential: Pick<Credential, 'pair'>): { proofKey: string; proofAttestation: string } {
    const proofKey = this.#pair.publicKey;
    return { proofKey, proofAttestation: signText(credential.pair, attestationText({ ...this.#of, proofKey })) };
  }

  answer(store: Pick<SecretStore, 'identity'>, challenge: string) {
    const { space, incarnation } = this.#of;
    const identity = store.identity();
    const signature = signText(this.#pair, proofText({ space, incarnation, challenge, identity }));
    return { identity, challenge, incarnation, signature };
  }
}

export function adminHandlers(of: {
  proof: ProcessProof;
  store(): SecretStore;
  sweeper(): Sweeper;
  /** The principal that this daemon itself is connected as. */
  own(): string;
}): Handlers {
  return {
    reloadStoreIdentity: async ({ args: { challenge } }) => of.proof.answer(of.store(), challenge),
    principalLiveness: async ({ args: { principal } }) => of.sweeper().liveness(principal),
    evictPrincipals: async ({ args: { principals } }) => {
      const reason = refusePrincipals(principals, of.own());
      if (reason !== undefined) throw new Plane3Error('rail.bad-args', { op: 'evictPrincipals', reason });
      return of.sweeper().evict(principals);
    },
  };
}

function refusePrincipals(principals: readonly string[], own: string): string | undefined {
  if (principals.includes(own)) return `${own} is this daemon itself`;
  const twice = principals.find((principal, at) => principals.indexOf(principal) !== at);
  return twice === undefined ? undefined : `${twice} is named twice`;
}
