/** The lease row. Its own writes are what the fence is made of, so they pass no gate but the connection's. */

import { readJson, shaped } from '../../domain/message.ts';
import { isMarker, leaseRowSchema } from '../../domain/rows.ts';
import { bucketStream, buckets, keySubject, LEASE_KEY } from '../../domain/subjects.ts';
import type { LeaseRows } from '../ports.ts';
import { watchBucket } from './bucket-watch.ts';
import type { GatedBroker } from './gated-broker.ts';
import { StreamStore } from './stream-store.ts';

const encoder = new TextEncoder();

/** `broker`: one whose gate asks for nothing but a connection. */
export function natsLeaseRows(of: {
  broker: GatedBroker;
  space: string;
  /** Whose lease: the daemon's unless told. */
  whose?: 'delivery' | 'manager';
}): LeaseRows {
  const { broker, space, whose = 'delivery' } = of;
  const bucket = buckets(space)[whose];
  const subject = keySubject(bucket, LEASE_KEY);
  const store = new StreamStore(broker, bucketStream(bucket));
  /** Where there is no row but a marker of one, a create has to expect the marker. */
  const markerRevision = async (): Promise<number> => {
    const last = await store.lastAlone(subject);
    return last.kind === 'found' && isMarker(last.message.header) ? last.message.seq : 0;
  };
  return {
    async read() {
      const last = await store.lastAlone(subject);
      if (last.kind === 'absent' || last.kind === 'denied' || last.kind === 'silent') return last;
      if (last.kind === 'refused') return { kind: 'silent', why: last.code };
      const { seq, storedAt, data, header } = last.message;
      if (isMarker(header)) return { kind: 'absent' };
      const ageMs = Math.max(0, Date.now() - storedAt);
      const row = shaped(leaseRowSchema, readJson(data));
      return row === undefined
        ? { kind: 'unreadable', revision: seq, ageMs }
        : { kind: 'row', row, revision: seq, ageMs };
    },

    async write({ row, revision }) {
      const expect = revision === 0 ? await markerRevision() : revision;
      return broker.guarded({
        subject,
        data: encoder.encode(JSON.stringify(row)),
        expectLastSubjectSeq: expect,
      });
    },

    async remove({ revision }) {
      const outcome = await broker.guarded({
        subject,
        data: new Uint8Array(),
        headers: { 'KV-Operation': 'DEL' },
        expectLastSubjectSeq: revision,
      });
      return outcome.kind === 'stored' ? { kind: 'removed' } : outcome;
    },

    watch(listener) {
      return watchBucket(
        broker,
        { bucket, filter: LEASE_KEY, from: 'new' },
        {
          row: ({ data, revision, header }) => {
            if (isMarker(header)) listener.gone({ revision });
            else listener.row({ row: shaped(leaseRowSchema, readJson(data)), revision });
          },
          complete: () => listener.bound(),
          lost: (why) => listener.lost(why),
        },
      );
    },
  };
}
