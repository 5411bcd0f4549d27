/**
 * The timer writer's work: pulls requests, arms each by compare-and-set as a schedule of the broker, and settles it (T2, T3).
 * The broker fires; nothing here does. On a connection of its own, whose end is the end of this piece of work (T1, T4).
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { inboxPrefix } from '../../domain/permissions.ts';
import { streams, timerConsumer } from '../../domain/subjects.ts';
import {
  judgeTimer,
  planTimer,
  readTimer,
  scheduleOf,
  type Timer,
  type TimerName,
  timerBody,
  timerSubject,
} from '../../domain/timers.ts';
import type { Gate } from '../fence.ts';
import type { Journal, Refused, Silent, Stoppable } from '../ports.ts';
import type { Tally } from '../tally.ts';
import type { EachOutcome, Outgoing } from './batch.ts';
import { connectOnce, type Dial } from './connect.ts';
import { parseDriverError } from './driver-errors.ts';
import { GatedBroker } from './gated-broker.ts';
import { type PullEnd, startPull } from './pull.ts';
import { StreamStore } from './stream-store.ts';

export interface TimerWriting {
  readonly space: string;
  /** Asked at every start. @throws when nothing may be dialled with. */
  dial(): Dial;
  readonly gate: Gate;
  readonly timeoutMs: number;
  readonly journal: Journal;
  readonly tally: Tally;
}
export type TimerNews = { type: 'writer.running' } | { type: 'writer.lost'; why: string };

/** Requests taken at a time. */
const BATCH = 256;
/** A pull that finds nothing waits this long for a request. */
const WAIT_MS = 5_000;
/** While the gate is shut it is asked again this often. */
const SHUT_MS = 250;
/** Other writers that one arming may meet. */
const ATTEMPTS = 5;
/** Longest that the last words of a connection may take. */
const LAST_WORDS_MS = 500;
/** The broker's numbers for a schedule, or a target of one, that it cannot use: the request's own fault. */
const UNUSABLE: readonly number[] = [10189, 10190];

/** Something that ends this piece of work: the next one goes on. */
class Lost extends Error {}

export function writeTimers(asked: TimerWriting, tell: (news: TimerNews) => void): Stoppable {
  const stopping = new AbortController();
  const work = new TimerWork(asked, stopping.signal);
  work
    .run(() => tell({ type: 'writer.running' }))
    .catch((error: unknown) => {
      if (!stopping.signal.aborted) tell({ type: 'writer.lost', why: whyOf(error) });
    });
  return {
    stop: async () => {
      stopping.abort();
      await work.close();
    },
  };
}

interface Request {
  readonly message: Msg;
  readonly name: TimerName;
  readonly timer: Timer;
}
type Settlement = '+ACK' | '+TERM' | '-NAK';

class TimerWork {
  readonly #asked: TimerWriting;
  readonly #stopped: AbortSignal;
  readonly #inHand = new Set<Msg>();
  #connection: NatsConnection | undefined;

  constructor(asked: TimerWriting, stopped: AbortSignal) {
    this.#asked = asked;
    this.#stopped = stopped;
  }

  async run(running: () => void): Promise<void> {
    const dial = this.#asked.dial();
    const connection = await connectOnce({ ...dial, name: `${dial.name}-timers` });
    this.#connection = connection;
    try {
      const broker = new GatedBroker({
        connection,
        gate: this.#asked.gate,
        timeoutMs: this.#asked.timeoutMs,
        inboxPrefix: dial.credential === undefined ? '_INBOX' : inboxPrefix(dial.credential.publicKey),
      });
      const over = connection.closed().then((error) => {
        throw new Lost(error === undefined ? 'the connection was closed' : whyOf(error));
      });
      await Promise.race([over, this.#pump(broker, running)]);
    } finally {
      await this.close();
    }
  }

  async #pump(broker: GatedBroker, running: () => void): Promise<never> {
    let told = false;
    for (;;) {
      this.#stopped.throwIfAborted();
      if (broker.shut() !== undefined) {
        await pause(SHUT_MS, undefined, { signal: this.#stopped });
        continue;
      }
      const taken = await this.#take(broker, told ? { batch: 1, waitMs: WAIT_MS } : { batch: BATCH, waitMs: 0 });
      if (!told) running();
      told = true;
      const more = taken.length === 0 ? [] : await this.#take(broker, { batch: BATCH - 1, waitMs: 0 });
      await this.#settleAll(broker, [...taken, ...more]);
    }
  }

  async #take(broker: GatedBroker, of: { batch: number; waitMs: number }): Promise<Msg[]> {
    const { space } = this.#asked;
    const messages: Msg[] = [];
    const end = await new Promise<PullEnd>((resolve) => {
      startPull({
        broker,
        stream: streams(space).timerRequests,
        durable: timerConsumer(space),
        ...of,
        message: (message) => {
          this.#inHand.add(message);
          messages.push(message);
        },
        end: resolve,
      });
    });
    if (end === 'gone') throw new Lost(`the consumer ${timerConsumer(space)} is gone`);
    if (end === 'lost') throw new Lost('the pull was lost');
    return messages;
  }

  async #settleAll(broker: GatedBroker, messages: readonly Msg[]): Promise<void> {
    const { space } = this.#asked;
    let open: Request[] = [];
    for (const message of messages) {
      const headers = message.headers?.keys() ?? [];
      const judged = judgeTimer({ space, subject: message.subject, headers, data: message.data });
      if (judged.kind === 'refused') this.#refuse(broker, message, judged.reason);
      else open.push({ message, name: judged.name, timer: judged.timer });
    }
    for (let attempt = 1; open.length > 0 && attempt <= ATTEMPTS; attempt++) open = await this.#arm(broker, open);
    for (const { message } of open) this.#settle(broker, message, '-NAK');
  }

  /** Arms what is to be armed; answers with those that another write came before. Of one timer the last one comes last. */
  async #arm(broker: GatedBroker, requests: readonly Request[]): Promise<Request[]> {
    const { space } = this.#asked;
    const later: Request[] = [];
    const now = new Map<string, Request>();
    for (const request of requests) {
      const subject = timerSubject(space, request.name, 'armed');
      if (now.has(subject)) later.push(request);
      else now.set(subject, request);
    }
    const store = new StreamStore(broker, streams(space).timers);
    const planned = await Promise.all([...now.values()].map((request) => this.#plan(store, request)));
    const outgoing: { request: Request; message: Outgoing }[] = [];
    for (const { request, plan } of planned) {
      if (plan.kind === 'refused') this.#refuse(broker, request.message, plan.reason);
      else if (plan.kind === 'arm') outgoing.push({ request, message: this.#armed(request, plan.expect) });
      else {
        this.#asked.tally.add('timers.settled', plan.why);
        this.#settle(broker, request.message, '+ACK');
      }
    }
    const outcomes = await this.#store(
      broker,
      outgoing.map(({ message }) => message),
    );
    const beaten = outgoing.filter(({ request }, n) => !this.#isOver(broker, request, outcomes[n]));
    return [...beaten.map(({ request }) => request), ...later];
  }

  /** All in one batch, which costs little more than one of them; singly where one of them stands in the way of the others. */
  async #store(broker: GatedBroker, messages: readonly Outgoing[]): Promise<EachOutcome[]> {
    if (messages.length > 1) {
      const whole = await broker.batch(messages);
      if (whole.kind === 'stored') return messages.map(() => ({ kind: 'stored', seq: whole.lastSeq }));
      if (whole.kind === 'silent') throw new Lost(whole.why);
    }
    const each = await broker.each(messages);
    if ('kind' in each) throw new Lost(each.why);
    return each;
  }

  #armed({ name, timer }: Request, expect: number): Outgoing {
    const { space } = this.#asked;
    return {
      subject: timerSubject(space, name, 'armed'),
      data: timerBody(timer),
      headers: { 'Nats-Schedule': scheduleOf(timer), 'Nats-Schedule-Target': timerSubject(space, name, 'fire') },
      expectLastSubjectSeq: expect,
    };
  }

  /** False: another write came first. */
  #isOver(broker: GatedBroker, { message }: Request, outcome: EachOutcome | undefined): boolean {
    switch (outcome?.kind) {
      case 'stored':
        this.#asked.tally.add('timers.armed');
        this.#settle(broker, message, '+ACK');
        return true;
      case 'conflict':
        return false;
      case 'refused':
        if (!UNUSABLE.includes(outcome.code)) throw new Lost(`the broker does not arm: ${outcome.message}`);
        this.#refuse(broker, message, outcome.message);
        return true;
      case 'denied':
        throw new Lost(`${outcome.operation} on ${outcome.subject} was denied`);
      default:
        throw new Lost(outcome?.kind === 'unanswered' ? outcome.why : 'an arming was not answered');
    }
  }

  async #plan(store: StreamStore, request: Request) {
    const { space } = this.#asked;
    const last = async (verb: 'armed' | 'fire') => {
      const read = await store.last(timerSubject(space, request.name, verb));
      if (read.kind === 'found') return { seq: read.message.seq, timer: readTimer(read.message.data) };
      if (read.kind === 'absent') return undefined;
      throw new Lost(read.kind === 'denied' ? `${read.operation} on ${read.subject} was denied` : wordsOf(read));
    };
    // In this order, and each for the whole batch at once: what fires after the first look is seen by the second.
    const armed = await last('armed');
    const fired = (await last('fire'))?.timer;
    return { request, plan: planTimer(request.timer, { armed, fired }) };
  }

  #refuse(broker: GatedBroker, message: Msg, reason: string): void {
    this.#asked.tally.add('timers.refused');
    this.#asked.journal.tell('timer.refused', { subject: message.subject, reason });
    this.#settle(broker, message, '+TERM');
  }

  #settle(broker: GatedBroker, message: Msg, how: Settlement): void {
    if (message.reply !== undefined && broker.publish(message.reply, how)) this.#inHand.delete(message);
  }

  /** What is still in hand goes back, so that whoever writes next has it at once. */
  async close(): Promise<void> {
    const connection = this.#connection;
    if (connection === undefined || connection.isClosed()) return;
    for (const { reply } of this.#inHand) if (reply !== undefined) connection.publish(reply, '-NAK');
    this.#inHand.clear();
    await Promise.race([connection.flush().catch(() => {}), pause(LAST_WORDS_MS, undefined, { ref: false })]);
    await connection.close();
  }
}

const wordsOf = (outcome: Refused | Silent): string => (outcome.kind === 'silent' ? outcome.why : outcome.message);

function whyOf(error: unknown): string {
  if (error instanceof Lost) return error.message;
  const failure = parseDriverError(error);
  return failure.kind === 'unexpected' ? failure.message : failure.kind;
}
