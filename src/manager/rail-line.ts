/**
 * The line to the rail for managers: one connection that is dialled when it is needed and kept while it lives. What is asked
 * within a signal is not sent once that is aborted: a dial under way does not even present its credential any more.
 */
import { type NatsConnection, nuid } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { readJson, shaped } from '../domain/message.ts';
import { adminOps, replySchema } from '../domain/rail.ts';
import { railSubject, replyPrefix } from '../domain/subjects.ts';
import type { Attempt, RailFact } from '../machines/rail-wait.machine.ts';
import { authenticatorOf, connectOptions, type Dial } from '../services/nats/connect.ts';
import { parseDriverError } from '../services/nats/driver-errors.ts';
import { speaks } from '../services/nats/speaks.ts';
import type { Clock } from '../services/ports.ts';

/** Name of the rail, for messages. */
export const ADMIN_RAIL = 'ctl.delivery-admin';

export interface RailLineOptions {
  readonly space: string;
  /** `owner.actor` of whoever asks; the credential of the dial must be allowed to ask as it. */
  readonly principal: string;
  /** How the broker is reached; asked anew at every dial, so that a renewed credential is presented. */
  dial(): Dial;
  readonly clock: Clock;
}

export class RailLine {
  readonly #options: RailLineOptions;
  #open: Promise<NatsConnection> | undefined;

  constructor(options: RailLineOptions) {
    this.#options = options;
  }

  /** One attempt: it ends within its own bound and the whole wait's, whatever the broker does. */
  async ask({ op, args, since, waitMs, attemptMs }: Attempt, signal: AbortSignal): Promise<RailFact> {
    const now = () => this.#options.clock.now().monotonicMs;
    const began = since ?? now();
    const ends = Math.min(began + waitMs, now() + attemptMs);
    const silent = (why: string): RailFact => ({
      type: 'rail.silent',
      why,
      since: began,
      leftMs: began + waitMs - now(),
    });
    if (ends <= now()) return silent('');
    try {
      if (!(await this.#isOpen())) {
        const spoken = await speaks(this.#options.dial().url, ends - now(), signal);
        if ('why' in spoken) return silent(spoken.why);
      }
      const connection = await this.#connected(ends - now(), signal);
      const timeout = Math.floor(ends - now());
      if (signal.aborted || timeout <= 0) return silent('');
      return await this.#request(connection, { op, args, timeout, signal });
    } catch (error) {
      const failure = parseDriverError(error);
      switch (failure.kind) {
        case 'denied':
          return { type: 'rail.denied', subject: failure.subject, operation: failure.operation };
        case 'unauthorized':
        case 'expired':
          return { type: 'rail.denied', subject: 'the credential', operation: 'connecting' };
        case 'refused':
          return { type: 'rail.refused', code: String(failure.code), message: failure.message };
        case 'no-responders':
          return silent('no responder is bound');
        case 'timeout':
          return silent('it timed out');
        case 'unexpected':
          return silent(failure.message);
        default:
          return silent('the broker cannot be reached');
      }
    }
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.then((connection) => connection.close()).catch(() => {});
  }

  async #isOpen(): Promise<boolean> {
    const kept = await this.#open?.catch(() => undefined);
    return kept !== undefined && !kept.isClosed();
  }

  async #connected(timeoutMs: number, signal: AbortSignal): Promise<NatsConnection> {
    if (this.#open !== undefined && (await this.#isOpen())) return this.#open;
    const dial = this.#options.dial();
    const { credential } = dial;
    const current = () => {
      signal.throwIfAborted();
      if (credential === undefined) throw new Error('no credential');
      return credential;
    };
    const opening = connect({
      ...connectOptions({ ...dial, timeoutMs: Math.max(1, Math.floor(timeoutMs)) }),
      ...(credential === undefined ? {} : { authenticator: authenticatorOf(current) }),
      reconnect: false,
      ignoreAuthErrorAbort: false,
    });
    this.#open = opening;
    opening.then(
      (connection) => {
        if (signal.aborted) void connection.close();
      },
      () => {
        if (this.#open === opening) this.#open = undefined;
      },
    );
    return opening;
  }

  async #request(
    connection: NatsConnection,
    of: { op: string; args: unknown; timeout: number; signal: AbortSignal },
  ): Promise<RailFact> {
    const { space, principal } = this.#options;
    const subject = railSubject(space, 'delivery-admin', principal);
    const from = { id: principal, name: principal.slice(principal.indexOf('.') + 1) };
    const body = JSON.stringify({ op: of.op, args: of.args, from });
    // A line whose wait was given up is closed, so that not even an unsubscription follows.
    const drop = () => void this.close();
    of.signal.addEventListener('abort', drop, { once: true });
    try {
      const message = await connection.request(subject, body, {
        timeout: of.timeout,
        noMux: true,
        reply: `${replyPrefix(subject)}${nuid.next()}`,
      });
      return readReply(of.op, readJson(message.data));
    } finally {
      of.signal.removeEventListener('abort', drop);
    }
  }
}

/** What a reply says. One of another shape is unreadable, whatever it claims. */
export function readReply(op: string, json: unknown): RailFact {
  const reply = shaped(replySchema, json);
  if (reply === undefined) return { type: 'rail.unreadable' };
  if (!reply.ok) {
    return reply.error === undefined
      ? { type: 'rail.unreadable' }
      : { type: 'rail.refused', code: reply.error.code, message: reply.error.message };
  }
  const schemas: Readonly<Record<string, { data: import('zod').ZodType }>> = adminOps;
  const schema = schemas[op];
  if (schema === undefined) return { type: 'rail.answered', data: reply.data };
  const data = shaped<unknown>(schema.data, reply.data);
  return data === undefined ? { type: 'rail.unreadable' } : { type: 'rail.answered', data };
}
