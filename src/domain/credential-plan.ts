/**
 * Which standing credentials `up` makes anew, and why. Observer and evictor are one rotation: they are made together or not
 * at all. An evictor that is missing beside a good observer is a posture (deny new, evict nobody) and is left alone.
 */
import { accountOf, type UserClaims } from './claims.ts';

/** A credential as it lies there: `unreadable` with why. */
export type FoundCredential =
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly why: string }
  | { readonly kind: 'found'; readonly claims: UserClaims };

/** Why it has to be made anew; undefined: it is good. `least`: how much of its life must be left, 0 to 1. */
export function whyStale(
  found: FoundCredential,
  asked: { account: string; nowMs: number; least: number },
): string | undefined {
  if (found.kind !== 'found') return found.kind === 'missing' ? 'missing' : found.why;
  const { claims } = found;
  if (accountOf(claims) !== asked.account) return 'of another account';
  const { exp, iat } = claims;
  if (exp === undefined) return undefined;
  const left = exp * 1000 - asked.nowMs;
  if (left <= 0) return `expired at ${new Date(exp * 1000).toISOString()}`;
  return left < (exp - iat) * 1000 * asked.least ? `expires at ${new Date(exp * 1000).toISOString()}` : undefined;
}

/** Why observer and evictor have to be made anew, both; undefined: they are good. */
export function whyTorn(
  pair: { observer: FoundCredential; evictor: FoundCredential },
  asked: { account: string; system: string; nowMs: number; least: number },
): string | undefined {
  const { observer, evictor } = pair;
  const system = { ...asked, account: asked.system };
  const stale = whyStale(observer, system);
  if (stale !== undefined) return `observer.creds: ${stale}`;
  if (observer.kind === 'found' && observer.claims.nats.pub?.allow?.includes(scanSubject(asked.account)) !== true) {
    return 'observer.creds: of another account';
  }
  if (evictor.kind === 'missing') return undefined;
  const late = whyStale(evictor, system);
  return late === undefined ? undefined : `evictor.creds: ${late}`;
}

/** What an observer may ask, and so which account it observes. */
const scanSubject = (account: string): string => `$SYS.REQ.ACCOUNT.${account}.CONNZ`;
