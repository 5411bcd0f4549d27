/**
 * Listening on subjects of a connection. Whatever ends it (a denied subscription, a connection that is closed or closes)
 * is told once, never thrown, and never after a stop.
 */
import type { Msg } from '@nats-io/nats-core';
import type { GatedBroker } from './gated-broker.ts';

export interface Listener {
  readonly subjects: readonly string[];
  readonly queue?: string;
  message(message: Msg): void;
  lost(why: string): void;
}

export function listen(broker: GatedBroker, { subjects, queue, message, lost }: Listener): { stop(): void } {
  let over = false;
  const subscriptions: { unsubscribe(): void }[] = [];
  const stop = () => {
    over = true;
    for (const subscription of subscriptions) subscription.unsubscribe();
  };
  const lose = (why: string) => {
    if (over) return;
    stop();
    lost(why);
  };
  const callback = (error: Error | null, heard: Msg) => {
    if (over) return;
    if (error === null) message(heard);
    else lose(error.message);
  };
  try {
    for (const subject of subjects) {
      const subscription = broker.connection.subscribe(subject, {
        callback,
        ...(queue === undefined ? {} : { queue }),
      });
      subscriptions.push(subscription);
      void subscription.closed.then((error) => error instanceof Error && lose(error.message));
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    queueMicrotask(() => lose(why));
  }
  return { stop };
}

/** Resolves once the broker has what was sent before: it has answered a ping that was sent after it. */
export const settled = async (broker: GatedBroker): Promise<{ kind: 'settled' } | { kind: 'lost'; why: string }> => {
  try {
    await broker.connection.flush();
    return { kind: 'settled' };
  } catch (error) {
    return { kind: 'lost', why: error instanceof Error ? error.message : String(error) };
  }
};
