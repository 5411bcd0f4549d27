/**
 * Which stores of an account the server has stopped. nats-server stops a stream at the first write that the disk refuses, and
 * says nothing of it to whoever publishes or asks for the stream: only its health does, and until it is started again. Nothing is
 * written to ask it.
 */
import type { NatsConnection } from '@nats-io/nats-core';
import { z } from 'zod';
import { readJson, shaped } from '../../domain/message.ts';
import { isAtLeast, TELLS_STOPPED_STORES } from '../../domain/versions.ts';
import { parseDriverError } from './driver-errors.ts';

/** `store`: name of a stream. */
export interface StoppedStore {
  readonly store: string;
  readonly why: string;
}
export type StoreHealth =
  /** Nothing is `stopped`: no write was refused since the server was started. */
  | { readonly kind: 'told'; readonly stopped: readonly StoppedStore[] }
  | { readonly kind: 'unknown'; readonly why: string };

const healthSchema = z.object({
  server: z.object({ ver: z.string(), cluster: z.string().optional() }),
  data: z.object({
    status: z.string(),
    error: z.string().optional(),
    errors: z.array(z.object({ type: z.string(), stream: z.string().optional(), error: z.string() })).optional(),
  }),
});
/** What stands before the system's own word for it. */
const WRITE_ERROR = /^.* write error: (?:\w+ \S+: )?/;

/** `connection`: of the system account, with the right of the health profile. `account`: public key. */
export async function askStoreHealth(asked: {
  connection: NatsConnection;
  account: string;
  timeoutMs: number;
}): Promise<StoreHealth> {
  const { connection, account, timeoutMs } = asked;
  try {
    const request = JSON.stringify({ account, details: true });
    const reply = await connection.request('$SYS.REQ.SERVER.PING.HEALTHZ', request, { timeout: timeoutMs });
    return readHealth(readJson(reply.data));
  } catch (error) {
    const failure = parseDriverError(error);
    return { kind: 'unknown', why: failure.kind === 'unexpected' ? failure.message : failure.kind };
  }
}

/** What the reply of a server says. */
export function readHealth(reply: unknown): StoreHealth {
  const read = shaped(healthSchema, reply);
  if (read === undefined) return { kind: 'unknown', why: 'the broker gave no answer that can be read' };
  const { server, data } = read;
  const errors = data.errors ?? [];
  const stopped = errors.flatMap(({ type, stream, error }) =>
    type === 'STREAM' && stream !== undefined ? [{ store: stream, why: error.replace(WRITE_ERROR, '') }] : [],
  );
  if (stopped.length > 0) return { kind: 'told', stopped };
  // An account without a store yet is an error to the server too.
  if (data.status !== 'ok')
    return { kind: 'unknown', why: errors[0]?.error ?? data.error ?? `the broker says "${data.status}"` };
  if (server.cluster !== undefined) {
    return { kind: 'unknown', why: 'one server of a cluster answers for itself alone' };
  }
  if (!isAtLeast(server.ver, TELLS_STOPPED_STORES)) {
    return { kind: 'unknown', why: `nats-server ${server.ver} is not known to tell; ${TELLS_STOPPED_STORES} does` };
  }
  return { kind: 'told', stopped };
}
