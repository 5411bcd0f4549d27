/**
 * Who is subscribed, by the broker's own word: the connections of an account with their subscriptions, from every server
 * that is known of. Nobody can say of itself that it is there.
 */
import { AccountScan, type ScanOf, sweepNumbers } from '../../domain/sweep.ts';
import { type Observing, scanAccount, toldOfCluster } from './account-scan.ts';

export interface Subscriber {
  /** Public key of the credential that is connected. */
  readonly user: string;
  readonly subjects: readonly string[];
}

export type SubscribersRead =
  | { kind: 'read'; subscribers: Subscriber[] }
  /** A server that is known of was silent, or an answer not whole: nothing can be concluded from who is missing. */
  | { kind: 'incomplete'; why: string };

type Seen = { user: string | undefined; subjects: readonly string[] };
const subscriptions: ScanOf<Seen> = {
  subscriptions: true,
  read: ({ authorized_user: user, subscriptions_list: subjects = [] }) => ({ user, subjects }),
};

/** One scan, by the rules of the sweep. */
export async function readSubscribers(observing: Observing): Promise<SubscribersRead> {
  const { urls } = toldOfCluster(observing.connection);
  const scan = new AccountScan(sweepNumbers, { urls, expected: [] }, subscriptions);
  const result = await scanAccount(observing, scan, sweepNumbers);
  if (result.kind === 'incomplete') return { kind: 'incomplete', why: result.why };
  const found = new Map<string, Set<string>>();
  for (const { user, subjects } of result.connections) {
    if (user === undefined) continue;
    const known = found.get(user) ?? new Set<string>();
    found.set(user, known);
    for (const subject of subjects) known.add(subject);
  }
  return { kind: 'read', subscribers: [...found].map(([user, subjects]) => ({ user, subjects: [...subjects] })) };
}
