/**
 * The broker behind a gate: every publish, request and reply of the daemon's work goes through here, and asks the gate
 * immediately before it is sent (D5). A closed gate, silence and a lost connection are one outcome: `silent`.
 */
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { z } from 'zod';
import { readJson, shaped } from '../../domain/message.ts';
import type { Gate } from '../fence.ts';
import type { Conflict, Denied, Refused, Silent, Stored } from '../ports.ts';
import {
  type BatchOutcome,
  type EachOutcome,
  type NotStored,
  type Outgoing,
  publishBatch,
  publishEach,
} from './batch.ts';
import { parseDriverError } from './driver-errors.ts';
import { isLeaderless } from './leaderless.ts';

const errorSchema = z.looseObject({ error: z.looseObject({ err_code: z.number(), description: z.string() }) });

/** Requests that one period has under way at a time: more would only wait in the broker, until they count as unanswered. */
const AT_ONCE = 32;

export class GatedBroker {
  #running = 0;
  readonly #turns: (() => void)[] = [];

  readonly connection: NatsConnection;
  readonly timeoutMs: number;
  readonly #gate: Gate;

  readonly inboxPrefix: string;

  constructor(of: { connection: NatsConnection; gate: Gate; timeoutMs: number; inboxPrefix: string }) {
    const { connection, gate, timeoutMs, inboxPrefix } = of;
    this.connection = connection;
    this.inboxPrefix = inboxPrefix;
    this.#gate = gate;
    this.timeoutMs = timeoutMs;
  }

  /** Undefined while effects may be sent. */
  shut(): Silent | undefined {
    const why = this.#gate();
    return why === undefined ? undefined : { kind: 'silent', why };
  }

  get maxPayload(): number {
    return this.connection.info?.max_payload ?? 1_048_576;
  }

  /** Sends without waiting for anything; answers whether it was sent. */
  publish(subject: string, data?: Uint8Array | string): boolean {
    if (this.shut() !== undefined || this.connection.isClosed()) return false;
    this.connection.publish(subject, data);
    return true;
  }

  async batch(messages: readonly Outgoing[]): Promise<BatchOutcome | Silent> {
    return this.shut() ?? publishBatch({ connection: this.connection, messages, timeoutMs: this.timeoutMs });
  }

  async each(messages: readonly Outgoing[]): Promise<EachOutcome[] | Silent> {
    return this.shut() ?? publishEach({ connection: this.connection, messages, timeoutMs: this.timeoutMs });
  }

  /** One write by compare-and-set. Refused for any other reason: nobody knows what stands there, which is silence. */
  async guarded(
    message: Outgoing & { readonly expectLastSubjectSeq: number },
  ): Promise<Stored | Conflict | Denied | Silent> {
    const outcomes = await this.each([message]);
    if (!Array.isArray(outcomes)) return outcomes;
    const [outcome] = outcomes;
    if (outcome === undefined) return { kind: 'silent', why: 'no outcome' };
    if (outcome.kind === 'stored' || outcome.kind === 'duplicate') return { kind: 'stored', revision: outcome.seq };
    if (outcome.kind === 'conflict') return outcome;
    const why = notStored(outcome);
    return why.kind === 'refused' ? { kind: 'silent', why: why.code } : why;
  }

  /** Does the work when it is its turn; its time runs from then. */
  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= AT_ONCE) await new Promise<void>((turn) => this.#turns.push(turn));
    else this.#running++;
    try {
      return await work();
    } finally {
      const next = this.#turns.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  /** A request; the reply's message. */
  async request(subject: string, body?: object): Promise<{ kind: 'reply'; message: Msg } | Refused | Denied | Silent> {
    const shut = this.shut();
    if (shut !== undefined) return shut;
    try {
      const data = body === undefined ? undefined : JSON.stringify(body);
      return { kind: 'reply', message: await this.connection.request(subject, data, { timeout: this.timeoutMs }) };
    } catch (error) {
      return failureOf(error);
    }
  }

  /** A request of the JetStream API; the reply in the schema's shape, or the broker's refusal. What is no leader's word is silence. */
  async api<T>(
    subject: string,
    body: object,
    schema: z.ZodType<T>,
  ): Promise<{ kind: 'reply'; value: T } | Refused | Denied | Silent> {
    const reply = await this.inTurn(() => this.request(`$JS.API.${subject}`, body));
    if (reply.kind !== 'reply') return reply;
    const json = readJson(reply.message.data);
    const refused = shaped(errorSchema, json);
    if (refused !== undefined) {
      return { kind: 'refused', code: String(refused.error.err_code), message: refused.error.description };
    }
    if (subject.includes('.INFO.') && isLeaderless(json)) return { kind: 'silent', why: 'no leader' };
    const value = shaped(schema, json);
    return value === undefined
      ? { kind: 'refused', code: 'unreadable', message: `the reply to ${subject} has another shape` }
      : { kind: 'reply', value };
  }
}

/** What an error of the client means here. Surprises are thrown on. */
export function failureOf(error: unknown): Refused | Denied | Silent {
  const failure = parseDriverError(error);
  switch (failure.kind) {
    case 'denied':
      return failure;
    case 'refused':
      return { kind: 'refused', code: String(failure.code), message: failure.message };
    case 'unexpected':
      throw error;
    default:
      return { kind: 'silent', why: failure.kind };
  }
}

/** The outcome of a publish that was not stored, in the words of the ports. */
export function notStored(outcome: NotStored): Refused | Denied | Silent {
  switch (outcome.kind) {
    case 'denied':
      return outcome;
    case 'unanswered':
      return { kind: 'silent', why: outcome.why };
    case 'refused':
      return { kind: 'refused', code: String(outcome.code), message: outcome.message };
    case 'conflict':
      return { kind: 'refused', code: 'conflict', message: 'another write came first' };
  }
}

/** What is neither an answer nor silence, where the two are one. */
export const silence = (outcome: Refused | Denied | Silent): Silent =>
  outcome.kind === 'silent' ? outcome : { kind: 'silent', why: outcome.kind === 'refused' ? outcome.code : 'denied' };
