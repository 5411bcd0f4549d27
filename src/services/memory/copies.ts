/** The handed-off copies in memory, and the news of what their members did with them. */
import { copyHeaders } from '../../domain/copy.ts';
import { heldCopy } from '../../domain/held.ts';
import { copiesOf, copySubject } from '../../domain/subjects.ts';
import type { Copies } from '../ports.ts';
import { counts, type MemberStore, pageOfAll, purge, removeForeign, removeSeqs, storeAll } from './member-store.ts';
import type { Wire } from './wire.ts';

export function memoryCopies({ wire, incarnation }: { wire: Wire; incarnation: string }): Copies {
  const { broker } = wire;
  const { dlv, space, deliveries } = broker;
  const store: MemberStore = { wire, stream: dlv, port: 'copies', family: 'dlv' };
  return {
    storeAll: ({ member, copies }) =>
      storeAll(
        store,
        copies.map(({ entrySeq, channel, data }) => ({
          subject: copySubject(space, member, channel),
          data,
          headers: copyHeaders({ member, entrySeq, incarnation }),
        })),
      ),
    // Nothing is under way here: what is sent is stored at once.
    barrier: () => wire.ask('copies.barrier', () => ({ kind: 'stands' as const })),
    held: ({ member }) =>
      wire.look('copies.held', () => {
        const { kept } = dlv.page({ filter: copiesOf(space, member), after: 0, limit: Number.POSITIVE_INFINITY });
        return { kind: 'read', copies: kept.map((each) => heldCopy(space, member, each)) };
      }),
    place: ({ member }) => wire.look('copies.place', () => deliveries.place(member)),
    pageOfAll: (of) => pageOfAll(store, of, (member, each) => heldCopy(space, member, each)),
    remove: ({ seqs }) => removeSeqs(store, seqs),
    purge: (of) => purge(store, of),
    counts: (of) => counts(store, of),
    removeForeign: (of) => removeForeign(store, of),
    hearSettled(listener) {
      let stopped = false;
      const arrives = wire.newsOf('copies.hearSettled');
      const fault = wire.faults.take('copies.hearSettled');
      // News of the time when nobody was connected is gone.
      const deaf = deliveries.listen((news) => broker.isUp && arrives(() => !stopped && listener.settled(news)));
      const stop = () => {
        stopped = true;
        deaf();
      };
      arrives(() => {
        if (stopped) return;
        if (broker.isUp && fault === undefined) return listener.bound();
        stop();
        listener.lost(fault?.kind ?? 'disconnected');
      });
      return { stop: async () => stop() };
    },
  };
}
