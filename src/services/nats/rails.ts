/** The rails' responder: both subjects in queue groups of the rail's name. A reply goes only under the request's own subtree. */
import type { Msg } from '@nats-io/nats-core';
import { readJson } from '../../domain/message.ts';
import { encodeReply } from '../../domain/rail.ts';
import { isReplyOf, RAILS, type RailName, railSubjects, readRequester } from '../../domain/subjects.ts';
import type { Journal, Rails } from '../ports.ts';
import type { Tally } from '../tally.ts';
import type { GatedBroker } from './gated-broker.ts';
import { listen, settled } from './listening.ts';

export function natsRails(of: { broker: GatedBroker; space: string; journal: Journal; tally: Tally }): Rails {
  const { broker, space, journal, tally } = of;
  return {
    serve(listener) {
      let over = false;
      const lose = (why: string) => {
        if (over) return;
        stop();
        listener.lost(why);
      };
      const hear = (rail: RailName, message: Msg) => {
        const principal = readRequester(message.subject);
        if (principal === undefined || !isReplyOf(message.subject, message.reply)) {
          tally.add('rails.dropped', rail);
          journal.tell('rail.dropped', { rail, subject: message.subject });
          return;
        }
        const { reply } = message;
        tally.add('rails.requests', rail);
        let answered = false;
        listener.request({
          rail,
          principal,
          body: readJson(message.data),
          reply: (op, answer) => {
            if (answered) throw new Error('a request is answered once');
            answered = true;
            if (!over) broker.publish(reply, encodeReply(op, answer, broker.maxPayload));
          },
        });
      };
      const listening = RAILS.map((rail) =>
        listen(broker, {
          subjects: [railSubjects(space, rail)],
          queue: rail,
          lost: lose,
          message: (message) => hear(rail, message),
        }),
      );
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
