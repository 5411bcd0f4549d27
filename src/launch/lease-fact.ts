/** What the row of a lease says of who holds it. */
import type { Plane } from '../services/nats/serving-probe.ts';
import { type Fact, fact } from './fact.ts';

/** A store that takes no write keeps a row that has ended too: whoever holds nothing any more would be seen in it for ever. */
export function leaseFact(name: string, lease: Plane['lease'], ttlMs: number): Fact {
  if (lease.kind === 'unknown') return fact(name, null, null, `unknown: ${lease.why}`);
  if (lease.kind === 'absent') return fact(name, false, null, 'nobody holds the lease');
  if (lease.kind === 'unreadable') return fact(name, false, lease, 'the lease row cannot be read');
  const age = `written ${Math.round(lease.ageMs / 1000)} s ago`;
  if (lease.ageMs > ttlMs) {
    return fact(name, false, lease, `ended: ${lease.holder} held it, ${age}, for ${Math.round(ttlMs / 1000)} s`);
  }
  return fact(name, lease.ready, lease, `held by ${lease.holder}, ${lease.ready ? 'ready' : 'not ready'}, ${age}`);
}
