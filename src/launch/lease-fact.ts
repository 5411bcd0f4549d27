/** What the row of a lease says of who holds it. */
import type { Plane } from '../services/nats/serving-probe.ts';
import { type Fact, fact } from './fact.ts';

/**
 * A row that is older than its life is no word for its holder, nor against it: a store that takes no write keeps one that has
 * ended, and one that holds may look so by another clock, or by other numbers than this machine's.
 */
export function leaseFact(name: string, lease: Plane['lease'], ttlMs: number): Fact {
  if (lease.kind === 'unknown') return fact(name, null, null, `unknown: ${lease.why}`);
  if (lease.kind === 'absent') return fact(name, false, null, 'nobody holds the lease');
  if (lease.kind === 'unreadable') return fact(name, false, lease, 'the lease row cannot be read');
  const age = `written ${Math.round(lease.ageMs / 1000)} s ago`;
  if (lease.ageMs > ttlMs) {
    const life = `it lives ${Math.round(ttlMs / 1000)} s`;
    return fact(name, null, lease, `unknown: the row of ${lease.holder} was ${age}, and ${life}`);
  }
  return fact(name, lease.ready, lease, `held by ${lease.holder}, ${lease.ready ? 'ready' : 'not ready'}, ${age}`);
}
