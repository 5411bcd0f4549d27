/**
 * Admission of the system observer, before anything is claimed on the broker: it must be there, be good, speak of our own
 * account, and not be one half of a torn rotation. A missing evictor is allowed: eviction is then refused by name.
 */
import type { UserClaims } from './claims.ts';

export interface ObserverReading {
  readonly observer: UserClaims | undefined;
  readonly evictor: UserClaims | undefined;
  /** Public key of the account that the delivery credential belongs to. */
  readonly account: string;
  readonly nowMs: number;
}

/** Why the observer is not admitted; undefined: it is. */
export function refuseObserver({ observer, evictor, account, nowMs }: ObserverReading): string | undefined {
  if (observer === undefined) return 'observer.creds is missing';
  if (observer.exp !== undefined && observer.exp * 1000 <= nowMs) {
    return `observer.creds expired at ${new Date(observer.exp * 1000).toISOString()}`;
  }
  const scans = `$SYS.REQ.ACCOUNT.${account}.CONNZ`;
  if (observer.nats.pub?.allow?.includes(scans) !== true) {
    return `observer.creds may not look at account ${account}, which this daemon belongs to`;
  }
  if (evictor === undefined) return undefined;
  if (evictor.iss !== observer.iss) return 'observer.creds and evictor.creds are of different rotations';
  if (evictor.exp !== undefined && evictor.exp * 1000 <= nowMs) {
    return `evictor.creds expired at ${new Date(evictor.exp * 1000).toISOString()}`;
  }
  return undefined;
}
