/** The handed-off copies on DLV, and the news that a member confirmed or terminated one. */
import { z } from 'zod';
import { copyHeaders } from '../../domain/copy.ts';
import { heldCopy } from '../../domain/held.ts';
import { readJson, shaped } from '../../domain/message.ts';
import {
  barrierSubject,
  copiesOf,
  copySubject,
  deliveryConsumer,
  everybodys,
  readDeliveryConsumer,
  streams,
} from '../../domain/subjects.ts';
import type { Copies, HeldCopy } from '../ports.ts';
import { Chain } from './chain.ts';
import { CONSUMER_NOT_FOUND } from './driver-errors.ts';
import { countsOf, pageOfAll, removeSubjects } from './entries.ts';
import { type GatedBroker, silence } from './gated-broker.ts';
import { listen, settled } from './listening.ts';
import { Press } from './press.ts';
import { StreamStore } from './stream-store.ts';

/** Copies read at a time; a member has at most a window of them, and whatever was forged. */
const PAGE = 256;
const placeSchema = z.looseObject({
  ack_floor: z.looseObject({ stream_seq: z.int() }),
  delivered: z.looseObject({ stream_seq: z.int() }),
  num_pending: z.int(),
  num_ack_pending: z.int(),
});
const eventSchema = z.looseObject({ stream: z.string(), consumer: z.string(), stream_seq: z.int().min(1) });

export function natsCopies({
  broker,
  space,
  incarnation,
}: {
  broker: GatedBroker;
  space: string;
  incarnation: string;
}): Copies {
  const stream = streams(space).dlv;
  const store = new StreamStore(broker, stream);
  const chain = new Chain({ broker, stream, subject: barrierSubject(space) });
  const press = new Press(chain);
  return {
    storeAll: ({ member, copies }) =>
      press.store(
        copies.map(({ entrySeq, channel, data }) => ({
          subject: copySubject(space, member, channel),
          data,
          headers: copyHeaders({ member, entrySeq, incarnation }),
        })),
      ),
    barrier: () => chain.barrier(),
    async held({ member }) {
      const copies: HeldCopy[] = [];
      for (let after = 0; ; ) {
        const page = await store.page({ filter: copiesOf(space, member), after, limit: PAGE });
        if (page.kind !== 'read') return page;
        copies.push(...page.messages.map((message) => heldCopy(space, member, message)));
        after = page.messages.at(-1)?.seq ?? after;
        if (page.pending === 0 || page.messages.length === 0) return { kind: 'read', copies };
      }
    },
    pageOfAll: (of) =>
      pageOfAll(store, everybodys(space, 'dlv'), of, (member, message) => heldCopy(space, member, message)),
    remove: ({ seqs }) => store.remove(seqs),
    purge: ({ member, channel, upTo }) =>
      store.purge({
        filter: channel === undefined ? copiesOf(space, member) : copySubject(space, member, channel),
        upTo,
      }),
    async place({ member }) {
      const durable = deliveryConsumer(member);
      const info = await broker.api(`CONSUMER.INFO.${stream}.${durable}`, {}, placeSchema);
      if (info.kind === 'refused' && info.code === String(CONSUMER_NOT_FOUND)) return { kind: 'absent' };
      if (info.kind !== 'reply') return silence(info);
      const { ack_floor, delivered, num_pending, num_ack_pending } = info.value;
      const floor = num_ack_pending === 0 ? delivered.stream_seq : ack_floor.stream_seq;
      return { kind: 'read', floor, pending: num_pending, unconfirmed: num_ack_pending };
    },
    counts: ({ member }) => countsOf(store, space, 'dlv', member),
    removeForeign: ({ subjects, upTo }) => removeSubjects(store, subjects, upTo),
    hearSettled(listener) {
      let over = false;
      const lose = (why: string) => {
        if (over) return;
        stop();
        listener.lost(why);
      };
      const hear = (event: string, how: 'confirmed' | 'terminated') =>
        listen(broker, {
          subjects: [`$JS.EVENT.${event}.${stream}.>`],
          lost: lose,
          message: (message) => {
            const read = shaped(eventSchema, readJson(message.data));
            const member = read === undefined ? undefined : readDeliveryConsumer(read.consumer);
            if (read?.stream === stream && member !== undefined)
              listener.settled({ member, seq: read.stream_seq, how });
          },
        });
      const listening = [
        hear('METRIC.CONSUMER.ACK', 'confirmed'),
        hear('ADVISORY.CONSUMER.MSG_TERMINATED', 'terminated'),
      ];
      const stop = () => {
        over = true;
        for (const each of listening) each.stop();
      };
      void settled(broker).then((asked) => {
        if (asked.kind === 'lost') lose(asked.why);
        else if (!over) listener.bound();
      });
      return { stop: async () => stop() };
    },
  };
}
