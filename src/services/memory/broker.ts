/**
 * The broker of one space, in memory: its streams and buckets, and what the world outside of the daemon does to them. It
 * outlives every daemon that works on it. What is read of it goes by a `Wire`, where faults happen.
 */
import { FANOUT_CONSUMER } from '../../domain/subjects.ts';
import type { ManualClock } from './clock.ts';
import { MemoryDeliveries } from './deliveries.ts';
import { FanoutConsumer } from './fanout-consumer.ts';
import { Requests } from './requests.ts';
import { MemoryStream } from './stream.ts';

export interface MemoryBrokerSetting {
  readonly clock: ManualClock;
  readonly space: string;
  /** Posts kept for each subject of CHAT. */
  readonly history?: number;
  readonly leaseTtlMs?: number;
  readonly maxPayload?: number;
}

const HOUR = 3_600_000;

export class MemoryBroker {
  readonly space: string;
  readonly clock: ManualClock;
  readonly maxPayload: number;
  readonly chat: MemoryStream;
  readonly inbox: MemoryStream;
  readonly dlv: MemoryStream;
  readonly channels: MemoryStream;
  readonly members: MemoryStream;
  readonly acl: MemoryStream;
  readonly lanes: MemoryStream;
  readonly lease: MemoryStream;
  readonly deliveries: MemoryDeliveries;
  readonly requests = new Requests();
  /** The writer's durable; undefined after somebody deleted it. */
  fanout: FanoutConsumer | undefined;
  #isUp = true;
  readonly #listeners = new Set<(isUp: boolean) => void>();

  constructor({ clock, space, history = 10_000, leaseTtlMs = 30_000, maxPayload = 1_048_576 }: MemoryBrokerSetting) {
    this.clock = clock;
    this.space = space;
    this.maxPayload = maxPayload;
    const bucket = () => new MemoryStream({ clock, perSubject: 1 });
    this.chat = new MemoryStream({ clock, perSubject: history });
    this.inbox = new MemoryStream({ clock, duplicateWindowMs: 2 * HOUR });
    this.dlv = new MemoryStream({ clock });
    this.channels = bucket();
    this.members = bucket();
    this.acl = bucket();
    this.lanes = bucket();
    this.lease = new MemoryStream({ clock, perSubject: 1, maxAgeMs: leaseTtlMs });
    this.deliveries = new MemoryDeliveries({ clock, stream: this.dlv, space });
    this.fanout = new FanoutConsumer({ clock, stream: this.chat, after: 0 });
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Told whenever it goes away and whenever it is back. */
  listen(listener: (isUp: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Nobody is connected any more. What was stored stays. */
  stop(): void {
    this.#isUp = false;
    this.#tell();
  }

  start(): void {
    for (const stream of [this.chat, this.inbox, this.dlv]) stream.restart();
    this.#isUp = true;
    this.#tell();
  }

  /** Somebody deletes the writer's durable. */
  deleteFanout(): void {
    this.fanout?.end(`${FANOUT_CONSUMER} was deleted`);
    this.fanout = undefined;
  }

  /** What ends by age ends. Called after the clock went on. */
  tick(): void {
    this.lease.age();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener(this.#isUp);
  }
}
