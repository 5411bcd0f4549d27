/** The posts of the space in memory: CHAT and the writer's durable on it. */
import { chatOfChannel } from '../../domain/subjects.ts';
import type { DeliveredPost, Posts, StoredPost } from '../ports.ts';
import { FanoutConsumer } from './fanout-consumer.ts';
import type { Kept } from './stream.ts';
import type { Wire } from './wire.ts';

const PAGE = 256;

export function memoryPosts(wire: Wire): Posts {
  const { broker } = wire;
  const { chat, clock, space } = broker;
  return {
    frontier: () => wire.look('posts.frontier', () => ({ kind: 'frontier', seq: chat.lastSeq })),

    async place() {
      const place = await wire.look('posts.place', () => broker.fanout?.place());
      if (place === undefined) return { kind: 'silent', why: 'refused' };
      return 'kind' in place ? place : { kind: 'place', ...place };
    },

    open: ({ floor }) =>
      wire.ask('posts.open', () => {
        const made = broker.fanout === undefined;
        broker.fanout ??= new FanoutConsumer({ clock, stream: chat, after: floor });
        return { kind: 'opened' as const, ...broker.fanout.place(), made };
      }),

    settle({ posts }) {
      if (wire.shut() !== undefined) return;
      for (const { receipt } of posts) {
        if (receipt === '') throw new Error('a post without a receipt cannot be settled');
        void wire.look('posts.settle', () => broker.fanout?.ack(Number(receipt)));
      }
    },

    pull(listener) {
      let stopped = false;
      const arrives = wire.newsOf('posts.pull');
      const fault = wire.faults.take('posts.pull');
      const lost = (why: string) => {
        if (stopped) return;
        stop();
        listener.lost(why);
      };
      const { fanout } = broker;
      const take = () => {
        for (;;) {
          const kept = stopped || !broker.isUp || fault !== undefined ? undefined : fanout?.next();
          if (kept === undefined) return;
          arrives(() => !stopped && listener.post(asPost(kept)));
        }
      };
      const deaf = [
        chat.listen(take),
        broker.listen((isUp) => isUp || lost('heartbeats missed')),
        clock.onAdvance(take),
      ];
      const stop = () => {
        stopped = true;
        for (const each of deaf) each();
      };
      fanout?.onEnd((why) => arrives(() => lost(why)));
      if (fault !== undefined) arrives(() => lost(fault.kind));
      else if (fanout === undefined) arrives(() => lost('consumer_not_found'));
      else if (!broker.isUp) arrives(() => lost('disconnected'));
      else take();
      return { stop: async () => stop() };
    },

    between: ({ after, upTo }) =>
      wire.look('posts.between', () => {
        const { kept } = chat.page({ filter: '>', after, limit: Number.POSITIVE_INFINITY });
        return { kind: 'read', posts: kept.filter(({ seq }) => seq <= upTo).map(asPost) };
      }),

    async range({ channel, after, upTo }, take) {
      const filter = chatOfChannel(space, channel);
      for (let at = after; at < upTo; ) {
        const page = await wire.look('posts.range', () => chat.page({ filter, after: at, limit: PAGE }));
        if ('kind' in page) return page;
        const posts = page.kept.filter(({ seq }) => seq <= upTo).map(asPost);
        if (posts.length > 0 && !(await take(posts))) return { kind: 'silent', why: 'the reading was given up' };
        const last = page.kept.at(-1)?.seq;
        if (last === undefined || page.pending === 0) break;
        at = last;
      }
      return wire.look('posts.range', () => ({ kind: 'read', first: firstComplete(wire, filter) }));
    },

    last: ({ channel, limit }) =>
      wire.look('posts.last', () => {
        const all = chat.page({
          filter: chatOfChannel(space, channel),
          after: 0,
          limit: Number.POSITIVE_INFINITY,
        }).kept;
        return { kind: 'read', posts: all.slice(-limit).map(asPost), complete: all.length <= limit };
      }),

    fullSubjects: () =>
      wire.look('posts.fullSubjects', () => {
        const full = [...chat.subjects('>')].filter(([, count]) => chat.perSubject > 0 && count >= chat.perSubject);
        return { kind: 'read', subjects: full.map(([subject]) => subject) };
      }),
  };
}

const asPost = ({ seq, subject, data }: Kept): StoredPost & DeliveredPost => ({
  seq,
  subject,
  data,
  receipt: String(seq),
});

/** Above the first message of every subject that stands at its limit nothing can be missing. */
function firstComplete({ broker: { chat } }: Wire, filter: string): number {
  let first = 0;
  for (const [subject, count] of chat.subjects(filter)) {
    if (chat.perSubject <= 0 || count < chat.perSubject) continue;
    first = Math.max(first, chat.page({ filter: subject, after: 0, limit: 1 }).kept[0]?.seq ?? 0);
  }
  return first;
}
