/** The rails in memory: the same rules for a reply's subject and its size. */
import { readJson } from '../../domain/message.ts';
import { encodeReply } from '../../domain/rail.ts';
import { isReplyOf, readRequester } from '../../domain/subjects.ts';
import type { Journal, Rails } from '../ports.ts';
import type { Tally } from '../tally.ts';
import type { RawRequest } from './requests.ts';
import type { Wire } from './wire.ts';

export function memoryRails({ wire, journal, tally }: { wire: Wire; journal: Journal; tally: Tally }): Rails {
  const { broker } = wire;
  return {
    serve(listener) {
      let stopped = false;
      const arrives = wire.newsOf('rails.serve');
      const fault = wire.faults.take('rails.serve');
      const hear = ({ rail, subject, reply, data, answer }: RawRequest) => {
        const principal = readRequester(subject);
        if (principal === undefined || !isReplyOf(subject, reply)) {
          tally.add('rails.dropped', rail);
          journal.tell('rail.dropped', { rail, subject });
          return;
        }
        tally.add('rails.requests', rail);
        let answered = false;
        listener.request({
          rail,
          principal,
          body: readJson(data),
          reply: (op, content) => {
            if (answered) throw new Error('a request is answered once');
            answered = true;
            if (stopped || wire.shut() !== undefined) return;
            const bytes = encodeReply(op, content, broker.maxPayload);
            arrives(() => answer(bytes));
          },
        });
      };
      let deaf = () => {};
      const stop = () => {
        stopped = true;
        deaf();
      };
      arrives(() => {
        if (stopped) return;
        if (!broker.isUp || fault !== undefined) {
          stop();
          return listener.lost(fault?.kind ?? 'disconnected');
        }
        deaf = broker.requests.respond((request) => arrives(() => !stopped && hear(request)));
        listener.bound();
      });
      return { stop: async () => stop() };
    },
  };
}
