/** The lease row in memory: compare-and-set, its end by age, and the watch. */
import { readJson, shaped } from '../../domain/message.ts';
import { isMarker, leaseRowSchema } from '../../domain/rows.ts';
import { buckets, keySubject, LEASE_KEY } from '../../domain/subjects.ts';
import type { LeaseRows } from '../ports.ts';
import { encodeRow } from './rows.ts';
import type { Wire } from './wire.ts';

export function memoryLeaseRows(wire: Wire): LeaseRows {
  const { broker } = wire;
  const { lease, clock } = broker;
  const subject = keySubject(buckets(broker.space).delivery, LEASE_KEY);
  /** The row, without a marker in its place. */
  const current = () => {
    lease.age();
    const kept = lease.last(subject);
    return kept === undefined || isMarker(kept.header) ? undefined : kept;
  };
  return {
    async read() {
      const outcome = await wire.ask('leaseRows.read', () => {
        const kept = current();
        if (kept === undefined) return { kind: 'absent' as const };
        const ageMs = Math.max(0, clock.now().wallMs - kept.storedAt);
        const row = shaped(leaseRowSchema, readJson(kept.data));
        return row === undefined
          ? { kind: 'unreadable' as const, revision: kept.seq, ageMs }
          : { kind: 'row' as const, row, revision: kept.seq, ageMs };
      });
      return outcome.kind === 'refused' ? { kind: 'silent', why: outcome.code } : outcome;
    },

    async write({ row, revision }) {
      const outcome = await wire.ask('leaseRows.write', () => {
        const kept = current();
        // A create may take the place of a marker.
        const expected = revision === 0 && kept === undefined ? (lease.last(subject)?.seq ?? 0) : revision;
        return lease.publish({ subject, data: encodeRow(row), expectLastSubjectSeq: expected });
      });
      if (outcome.kind === 'refused') return { kind: 'silent', why: outcome.code };
      if (outcome.kind === 'stored' || outcome.kind === 'duplicate') return { kind: 'stored', revision: outcome.seq };
      return outcome;
    },

    async remove({ revision }) {
      const outcome = await wire.ask('leaseRows.remove', () => {
        lease.age();
        const headers = { 'KV-Operation': 'DEL' };
        return lease.publish({ subject, data: new Uint8Array(), headers, expectLastSubjectSeq: revision });
      });
      if (outcome.kind === 'refused') return { kind: 'silent', why: outcome.code };
      return outcome.kind === 'stored' || outcome.kind === 'duplicate' ? { kind: 'removed' } : outcome;
    },

    watch(listener) {
      let stopped = false;
      const arrives = wire.newsOf('leaseRows.watch');
      const fault = wire.faults.take('leaseRows.watch');
      const deaf = [
        lease.listen((kept) =>
          arrives(() => {
            if (stopped) return;
            if (isMarker(kept.header)) listener.gone({ revision: kept.seq });
            else listener.row({ row: shaped(leaseRowSchema, readJson(kept.data)), revision: kept.seq });
          }),
        ),
        broker.listen((isUp) => isUp || lose('the watch was lost')),
      ];
      const stop = () => {
        stopped = true;
        for (const each of deaf) each();
      };
      const lose = (why: string) => {
        if (stopped) return;
        stop();
        listener.lost(why);
      };
      arrives(() => {
        if (broker.isUp && fault === undefined) listener.bound();
        else lose(fault?.kind ?? 'disconnected');
      });
      return { stop: async () => stop() };
    },
  };
}
