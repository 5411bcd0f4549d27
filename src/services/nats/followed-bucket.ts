/**
 * A bucket that is followed, and how far it was told. A watch is fed by one of the stream's replicas, which may be behind the
 * leader, or stand still for as long as no heartbeat is missed; how far the leader has come is asked of the leader
 * (docs/decisions/replicated-reads.md).
 */
import { bucketStream, keySubject } from '../../domain/subjects.ts';
import type { Silent } from '../ports.ts';
import { type SeenRow, watchBucket } from './bucket-watch.ts';
import type { GatedBroker } from './gated-broker.ts';
import { readByLeader } from './leader-reads.ts';

export interface FollowedBucket {
  /** Resolves once every row that existed at the call was told; `silent` where that is not known, or the watch was lost. */
  caughtUp(): Promise<{ kind: 'told' } | Silent>;
  stop(): void;
}

/** `lost`: it is told nothing more. Also where the leader has more than is told, and none of it comes in the time of one effect. */
export function followBucket(
  broker: GatedBroker,
  bucket: string,
  listener: { row(seen: SeenRow): void; lost(why: string): void },
): FollowedBucket {
  const stream = bucketStream(bucket);
  let told = 0;
  let waiting: { readonly revision: number; pass(): void }[] = [];
  let alarm: NodeJS.Timeout | undefined;
  const complete = Promise.withResolvers<void>();
  const over = Promise.withResolvers<Silent>();

  const watch = watchBucket(
    broker,
    { bucket, filter: '>', from: 'all' },
    {
      row: (seen) => {
        listener.row(seen);
        told = Math.max(told, seen.revision);
        for (const { revision, pass } of waiting) if (revision <= told) pass();
        waiting = waiting.filter(({ revision }) => revision > told);
        wake();
      },
      complete: complete.resolve,
      lost,
    },
  );

  /** Whoever waits, waits for no longer than one effect after the last row that came. */
  function wake(): void {
    clearTimeout(alarm);
    if (waiting.length > 0) alarm = setTimeout(() => lost('it does not come as far as its stream'), broker.timeoutMs);
  }
  function lost(why: string): void {
    end(`${bucket}: ${why}`);
    listener.lost(`${bucket}: ${why}`);
  }
  function end(why: string): void {
    // A question that is still on its way to the leader waits for no row any more, and wakes nobody later.
    told = Number.POSITIVE_INFINITY;
    waiting = [];
    wake();
    void watch.stop();
    over.resolve({ kind: 'silent', why });
  }

  async function reached(): Promise<{ kind: 'told' } | Silent> {
    const last = await readByLeader(broker, stream, { last_by_subj: keySubject(bucket, '>') });
    if (last.kind === 'silent') return last;
    if (last.kind === 'denied') return { kind: 'silent', why: `denied: ${last.subject}` };
    if (last.kind === 'refused') return { kind: 'silent', why: last.message };
    const revision = last.kind === 'absent' ? 0 : last.message.seq;
    if (revision > told) {
      await new Promise<void>((pass) => {
        waiting.push({ revision, pass });
        wake();
      });
    }
    return { kind: 'told' };
  }

  return {
    caughtUp: () => Promise.race([complete.promise.then(reached), over.promise]),
    stop: () => end('nobody follows it'),
  };
}
