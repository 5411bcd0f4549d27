/** The rails' responder: both subjects in queue groups of the rail's name. A reply goes only under the request's own subtree. */
import { readJson } from '../../domain/message.ts';
import { encodeReply } from '../../domain/rail.ts';
import { isReplyOf, RAILS, railSubjects, readRequester } from '../../domain/subjects.ts';
import type { Journal, Rails } from '../ports.ts';
import type { Tally } from '../tally.ts';
import type { GatedBroker } from './gated-broker.ts';

export function natsRails(of: { broker: GatedBroker; space: string; journal: Journal; tally: Tally }): Rails {
  const { broker, space, journal, tally } = of;
  return {
    serve(listener) {
      let stopped = false;
      const subscriptions = RAILS.map((rail) =>
        broker.connection.subscribe(railSubjects(space, rail), {
          queue: rail,
          callback: (error, message) => {
            if (stopped) return;
            if (error !== null) return listener.lost(error.message);
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
                if (stopped) return;
                broker.publish(reply, encodeReply(op, answer, broker.maxPayload));
              },
            });
          },
        }),
      );
      for (const subscription of subscriptions) {
        void subscription.closed.then((error) => !stopped && error instanceof Error && listener.lost(error.message));
      }
      broker.connection.flush().then(
        () => !stopped && listener.bound(),
        (error: Error) => !stopped && listener.lost(error.message),
      );
      return {
        stop: async () => {
          stopped = true;
          for (const subscription of subscriptions) subscription.unsubscribe();
        },
      };
    },
  };
}
