/** The standing credentials of a mesh, as `up` keeps them: made where they are missing, past their use, or torn. */
import { type FoundCredential, whyStale, whyTorn } from '../domain/credential-plan.ts';
import { describeError } from '../domain/errors/catalogue.ts';
import { readCreds, type SigningPair } from '../services/credential.ts';
import type { OperatorKeys, SpaceKeys } from '../services/local/auth-store.ts';
import { readIfThere } from '../services/local/files.ts';
import { credsPath, keepCreds, mint } from '../services/local/mint.ts';
import type { Journal } from '../services/ports.ts';

export interface CredentialKeeper {
  readonly root: string;
  readonly keys: { readonly operator: OperatorKeys; readonly space: SpaceKeys };
  readonly journal: Journal;
}

/** A daemon is started with at least this much of its credential's life left. */
const DELIVERY_LEAST = 0.5;
/** The pair is renewed early enough that no start meets it expired. */
const PAIR_LEAST = 0.25;

/** Makes what has to be made; answers with the names of what was made. */
export async function keepCredentials({ root, keys, journal }: CredentialKeeper): Promise<string[]> {
  const { space } = keys.space;
  const account = keys.space.account.publicKey;
  const nowMs = Date.now();
  const found = (name: string) => findCredential(credsPath(root, space, name));
  const made: string[] = [];

  const delivery = found('delivery');
  const whyDelivery = whyStale(delivery.found, { account, nowMs, least: DELIVERY_LEAST });
  if (whyDelivery !== undefined) {
    const pair = whyDelivery === 'of another account' ? undefined : delivery.pair;
    keepCreds(
      credsPath(root, space, 'delivery'),
      await mint(keys, {
        profile: { profile: 'delivery', space },
        name: 'local.delivery',
        ...(pair === undefined ? {} : { pair }),
      }),
    );
    made.push('delivery');
    journal.tell('up.minted', { name: 'delivery', reason: whyDelivery });
  }

  const [observer, evictor] = [found('observer').found, found('evictor').found];
  const system = keys.operator.system.publicKey;
  const whyPair = whyTorn({ observer, evictor }, { account, system, nowMs, least: PAIR_LEAST });
  if (whyPair !== undefined) {
    // Both are signed before either is written, so that a failure leaves the old pair whole.
    const pair = [
      await mint(keys, { profile: { profile: 'observer', account }, name: 'local.observer' }),
      await mint(keys, { profile: { profile: 'evictor' }, name: 'local.evictor' }),
    ] as const;
    keepCreds(credsPath(root, space, 'evictor'), pair[1]);
    keepCreds(credsPath(root, space, 'observer'), pair[0]);
    made.push('observer', 'evictor');
    journal.tell('up.minted', { name: 'observer, evictor', reason: whyPair });
  }
  return made;
}

/** A credential file with the pair that it holds, which a renewal keeps. */
export function findCredential(path: string): { found: FoundCredential; pair?: SigningPair } {
  const text = readIfThere(path);
  if (text === undefined) return { found: { kind: 'missing' } };
  try {
    const { claims, pair } = readCreds(text, path);
    return { found: { kind: 'found', claims }, pair };
  } catch (error) {
    return { found: { kind: 'unreadable', why: describeError(error).message } };
  }
}
