/** Timers from the side of whoever asks for them: the request, what became of one, and all there are. */
import type { NatsConnection } from '@nats-io/nats-core';
import { streams } from '../../domain/subjects.ts';
import {
  readTimer,
  readTimerSubject,
  type Timer,
  type TimerName,
  timerBody,
  timerSubject,
  timerSubjects,
} from '../../domain/timers.ts';
import type { Denied, Refused, Silent } from '../ports.ts';
import { publishOne } from './batch.ts';
import { GatedBroker, notStored } from './gated-broker.ts';
import { StreamStore } from './stream-store.ts';

export interface TimerSide {
  readonly connection: NatsConnection;
  readonly inboxPrefix: string;
  readonly space: string;
  readonly timeoutMs?: number;
}
const PAGE = 500;

export class Timers {
  readonly #broker: GatedBroker;
  readonly #space: string;

  constructor({ connection, inboxPrefix, space, timeoutMs = 5_000 }: TimerSide) {
    this.#broker = new GatedBroker({ connection, inboxPrefix, gate: () => undefined, timeoutMs });
    this.#space = space;
  }

  /** Asks for it: stored is not armed yet. */
  async ask(name: TimerName, timer: Timer): Promise<{ kind: 'asked'; seq: number } | Refused | Denied | Silent> {
    const message = { subject: timerSubject(this.#space, name, 'schedule'), data: timerBody(timer) };
    const { connection, timeoutMs } = this.#broker;
    const outcome = await publishOne({ connection, message, timeoutMs });
    return outcome.kind === 'stored' || outcome.kind === 'duplicate'
      ? { kind: 'asked', seq: outcome.seq }
      : notStored(outcome);
  }

  /** What has become of this generation; undefined: nothing yet. */
  async stateOf(name: TimerName, { generation }: Timer): Promise<'armed' | 'fired' | undefined> {
    const store = new StreamStore(this.#broker, streams(this.#space).timers);
    for (const [verb, state] of [
      ['armed', 'armed'],
      ['fire', 'fired'],
    ] as const) {
      const read = await store.lastAlone(timerSubject(this.#space, name, verb));
      if (read.kind === 'found' && (readTimer(read.message.data)?.generation ?? 0) >= generation) return state;
    }
    return undefined;
  }

  /** Every timer that is armed or has fired, by its subject, and how many requests nobody has taken. */
  async list(): Promise<
    | {
        kind: 'read';
        timers: { name: TimerName; state: 'armed' | 'fired'; timer: Timer | undefined }[];
        waiting: number;
      }
    | Refused
    | Denied
    | Silent
  > {
    const store = new StreamStore(this.#broker, streams(this.#space).timers);
    const timers: { name: TimerName; state: 'armed' | 'fired'; timer: Timer | undefined }[] = [];
    for (let after = 0; ; ) {
      const page = await store.page({ filter: timerSubjects(this.#space, '*'), after, limit: PAGE });
      if (page.kind !== 'read') return page;
      for (const { subject, data } of page.messages) {
        const read = readTimerSubject(this.#space, subject);
        if (read === undefined || read.verb === 'schedule') continue;
        timers.push({ name: read.name, state: read.verb === 'armed' ? 'armed' : 'fired', timer: readTimer(data) });
      }
      after = page.messages.at(-1)?.seq ?? after;
      if (page.pending === 0 || page.messages.length === 0) break;
    }
    const requests = await new StreamStore(this.#broker, streams(this.#space).timerRequests).info();
    if (requests.kind !== 'reply') return requests;
    return { kind: 'read', timers, waiting: requests.value.state.messages };
  }
}
