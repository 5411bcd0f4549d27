/**
 * Who is subscribed, by the broker's own word: the connections of an account with their subscriptions, from every server
 * that answers. Nobody can say of itself that it is there.
 */
import { createInbox, type NatsConnection } from '@nats-io/nats-core';
import { z } from 'zod';
import { readJson, shaped } from '../../domain/message.ts';

export interface Subscriber {
  /** Public key of the credential that is connected. */
  readonly user: string;
  readonly subjects: readonly string[];
}

export type SubscribersRead =
  | { kind: 'read'; subscribers: Subscriber[] }
  /** Nobody answered, or an answer was not whole: nothing can be concluded from who is missing. */
  | { kind: 'incomplete'; why: string };

const PAGE = 1024;
const MOST_PAGES = 64;
const SETTLE_MS = 250;
const CAP_MS = 2_000;

const pageSchema = z.object({
  server: z.looseObject({ id: z.string() }),
  data: z.object({
    total: z.number(),
    connections: z
      .array(
        z.object({
          authorized_user: z.string().optional(),
          subscriptions_list: z.array(z.string()).optional(),
        }),
      )
      .nullish(),
  }),
});
type Page = z.infer<typeof pageSchema>;

/**
 * @param of.connection With the observer's rights for this account.
 * @param of.account Public key of the account.
 */
export async function readSubscribers(of: {
  connection: NatsConnection;
  inboxPrefix: string;
  account: string;
}): Promise<SubscribersRead> {
  const found = new Map<string, Set<string>>();
  for (let page = 0; page < MOST_PAGES; page++) {
    const answers = await ask(of, page * PAGE);
    if (answers === undefined) return { kind: 'incomplete', why: 'an answer of the broker cannot be read' };
    if (answers.length === 0) return { kind: 'incomplete', why: 'no server answered' };
    for (const { data } of answers) {
      for (const { authorized_user: user, subscriptions_list: subjects = [] } of data.connections ?? []) {
        if (user === undefined) continue;
        const known = found.get(user) ?? new Set<string>();
        found.set(user, known);
        for (const subject of subjects) known.add(subject);
      }
    }
    if (answers.every(({ data }) => data.total <= (page + 1) * PAGE)) {
      return {
        kind: 'read',
        subscribers: [...found].map(([user, subjects]) => ({ user, subjects: [...subjects] })),
      };
    }
  }
  return { kind: 'incomplete', why: `more than ${MOST_PAGES} pages of connections` };
}

/** One page of every server; undefined when one of them cannot be read. */
function ask(
  of: { connection: NatsConnection; inboxPrefix: string; account: string },
  offset: number,
): Promise<Page[] | undefined> {
  const { connection, inboxPrefix, account } = of;
  return new Promise((resolve) => {
    const answers: Page[] = [];
    let settle: NodeJS.Timeout | undefined;
    const end = (pages: Page[] | undefined) => {
      clearTimeout(settle);
      clearTimeout(cap);
      subscription.unsubscribe();
      resolve(pages);
    };
    const cap = setTimeout(() => end(answers), CAP_MS);
    const subscription = connection.subscribe(createInbox(inboxPrefix), {
      callback: (error, message) => {
        if (error !== null || message.headers?.code === 503) return end(answers);
        const page = shaped(pageSchema, readJson(message.data));
        if (page === undefined) return end(undefined);
        answers.push(page);
        clearTimeout(settle);
        settle = setTimeout(() => end(answers), SETTLE_MS);
      },
    });
    const query = { auth: true, subscriptions: true, offset, limit: PAGE };
    connection.publish(`$SYS.REQ.ACCOUNT.${account}.CONNZ`, JSON.stringify(query), {
      reply: subscription.getSubject(),
    });
  });
}
