/** One scan of an account over the broker: who is connected, by the word of every server that is known of. */
import { createInbox, type NatsConnection } from '@nats-io/nats-core';
import type { ToldOfCluster } from '../../domain/known-servers.ts';
import { readJson } from '../../domain/message.ts';
import type { AccountScan, ScanResult, SweepNumbers } from '../../domain/sweep.ts';

/** A connection with the observer's rights for an account. */
export interface Observing {
  readonly connection: NatsConnection;
  readonly inboxPrefix: string;
  /** Public key of the account. */
  readonly account: string;
}

const NO_RESPONDERS = 503;

/** What the broker has told this connection of its cluster. */
export function toldOfCluster(connection: NatsConnection): ToldOfCluster {
  const { server_id: serverId = '', connect_urls: urls } = connection.info ?? {};
  return { address: connection.getServer(), serverId, urls };
}

export async function scanAccount<T>(
  observing: Observing,
  scan: AccountScan<T>,
  numbers: Pick<SweepNumbers, 'settleMs' | 'capMs'>,
): Promise<ScanResult<T>> {
  do await askPage(observing, scan, numbers);
  while (scan.turn());
  return scan.result();
}

/** Asks every server for one page, until those that are known to owe it have answered, or the time is up. */
function askPage<T>(
  { connection, inboxPrefix, account }: Observing,
  scan: AccountScan<T>,
  { settleMs, capMs }: Pick<SweepNumbers, 'settleMs' | 'capMs'>,
): Promise<void> {
  return new Promise((resolve) => {
    let settle: NodeJS.Timeout | undefined;
    let over = false;
    const end = () => {
      over = true;
      clearTimeout(settle);
      clearTimeout(cap);
      subscription.unsubscribe();
      resolve();
    };
    const lose = (why: string) => {
      if (over) return;
      scan.fail(why);
      end();
    };
    const cap = setTimeout(end, capMs);
    const subscription = connection.subscribe(createInbox(inboxPrefix), {
      callback: (error, message) => {
        if (error !== null) return lose(error.message);
        if (message.headers?.code === NO_RESPONDERS) return lose('no server answered');
        scan.take(readJson(message.data));
        if (scan.isSettled) return end();
        clearTimeout(settle);
        // Servers that were never heard of are waited for a little; one that is known, or owes a page, until the cap.
        if (scan.question().offset === 0 && scan.silence === undefined) settle = setTimeout(end, settleMs);
      },
    });
    void connection.closed().then(() => lose('the connection of the observer was lost'));
    connection.publish(`$SYS.REQ.ACCOUNT.${account}.CONNZ`, JSON.stringify(scan.question()), {
      reply: subscription.getSubject(),
    });
  });
}
