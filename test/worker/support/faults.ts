/**
 * The decisions as the servers under test take them. The four planted faults: the faults of the field, put back into the
 * decisions that fix them, each of which must turn a named acceptance line red. And silence without waiting for it.
 */
import { judgeArrival } from '../../../src/domain/provider/arrival.ts';
import { type Policy, policy } from '../../../src/provider/registry/policy.ts';

export type FaultName =
  | 'alarm-refreshes-from-open'
  | 'unbound-falls-back-to-default'
  | 'readiness-hooks-missing'
  | 'send-true-on-stale-socket';

const faults: Record<FaultName, Partial<Policy>> = {
  /** An open socket counts as a sign of life. */
  'alarm-refreshes-from-open': {
    lastSign: (attached, now) => (attached.socket.isOpen ? now : attached.lastSeen),
  },
  /** Frames of an unbound socket are taken, for the provider `default`. */
  'unbound-falls-back-to-default': {
    arrival: (_attached, data, { frameBytes }) => judgeArrival({ data, bound: true, frameBytes }),
    speaksFor: (attached) => attached.provider ?? { name: 'default', instance: 'legacy' },
  },
  /** Every identity is live on every bound socket. */
  'readiness-hooks-missing': {
    readiness: (_ready, _attached, _agent) => ({
      phase: 'Live',
      base: 0,
      sent: Number.MAX_SAFE_INTEGER - 1,
      dirty: false,
    }),
  },
  /** What is written to a socket counts, however long its peer has been silent. */
  'send-true-on-stale-socket': {
    gate: (attached) => (attached.isBound && attached.socket.isOpen ? undefined : 'not_open'),
  },
};

/**
 * Connections to which nothing may be written any more, as nothing was heard of them for longer than any bound, whatever the
 * clock says: so a line has that where it wants it, and not where the machine stands still. The reaper does not know of it, or
 * it could come first. Random ids; kept beside the objects, for an object forgets.
 */
export const silent = new Set<string>();
const SILENT_MS = 86_400_000;

export function faulty(name: FaultName | undefined): Policy {
  const decisions = { ...policy, ...(name === undefined ? {} : faults[name]) };
  return {
    ...decisions,
    gate: (attached, now, limits) =>
      decisions.gate(attached, silent.has(attached.connection) ? now + SILENT_MS : now, limits),
  };
}
