import { type NatsConnection, PermissionViolationError } from '@nats-io/nats-core';
import { until } from './until.ts';

/** A subject that no profile may publish to: its refusal comes after those of everything that was sent before it. */
const LAST = 'not.for.anyone';

/** Publishes an empty message to each subject and returns those that the broker refused. */
export async function deniedPublishes(connection: NatsConnection, subjects: readonly string[]): Promise<Set<string>> {
  const denied = new Set<string>();
  const listening = (async () => {
    for await (const status of connection.status()) {
      if (status.type !== 'error' || !(status.error instanceof PermissionViolationError)) continue;
      if (status.error.operation === 'publish') denied.add(status.error.subject);
      if (status.error.subject === LAST) return;
    }
  })();
  for (const subject of [...subjects, LAST]) connection.publish(subject);
  await listening;
  denied.delete(LAST);
  return denied;
}

/** Subscribes to each subject and returns those that the broker refused; the subscriptions are given back. */
export async function deniedSubscriptions(
  connection: NatsConnection,
  subjects: readonly string[],
): Promise<Set<string>> {
  const denied = new Set<string>();
  const refused = (subject: string) => (error: Error | null) => {
    if (error instanceof PermissionViolationError) denied.add(subject);
  };
  const subscriptions = subjects.map((subject) => connection.subscribe(subject, { callback: refused(subject) }));
  const last = connection.subscribe(LAST, { callback: refused(LAST) });
  await until(() => denied.has(LAST), 'the refusal of the last subscription');
  for (const subscription of [...subscriptions, last]) subscription.unsubscribe();
  await connection.flush();
  denied.delete(LAST);
  return denied;
}

/** A concrete subject under a line of an allow list. */
export const under = (line: string): string => line.replaceAll('*', 'any').replace(/>$/, 'some.thing');
