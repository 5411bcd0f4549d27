/**
 * Refused publishes of a connection. The broker drops a publish that is not allowed and says so beside the stream of
 * replies; a publish without a reply subject has no other sign of it.
 */
import { type NatsConnection, PermissionViolationError } from '@nats-io/nats-core';

const KEPT = 64;
const seen = new WeakMap<NatsConnection, PermissionViolationError[]>();

/** Begins to watch a connection; a second call for the same one changes nothing. */
export function watchDenials(connection: NatsConnection): void {
  if (seen.has(connection)) return;
  const denials: PermissionViolationError[] = [];
  seen.set(connection, denials);
  void (async () => {
    for await (const status of connection.status()) {
      if (status.type !== 'error' || !(status.error instanceof PermissionViolationError)) continue;
      if (status.error.operation !== 'publish') continue;
      denials.push(status.error);
      if (denials.length > KEPT) denials.shift();
    }
  })();
}

/** Takes the first refusal of a publish to one of these subjects, among the latest of this connection. */
export function takeDenial(connection: NatsConnection, subjects: ReadonlySet<string>): string | undefined {
  const denials = seen.get(connection) ?? [];
  const at = denials.findIndex((denial) => subjects.has(denial.subject));
  return at < 0 ? undefined : denials.splice(at, 1)[0]?.subject;
}
