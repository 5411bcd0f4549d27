/** One delivery daemon over the memory broker: the machines and the work as they are, put together as in src/main.ts. */
import { type Actor, createActor } from 'xstate';
import { releaseLimit } from '../../../src/domain/lease.ts';
import { numbers as defaults, type Numbers } from '../../../src/domain/numbers.ts';
import type { ConnectionFact } from '../../../src/machines/broker-watch.machine.ts';
import type { systemMachine } from '../../../src/machines/system.machine.ts';
import type { TimerWriterFact } from '../../../src/machines/timer-writer.machine.ts';
import { bindSystem } from '../../../src/services/bind-daemon.ts';
import type { Unsettled } from '../../../src/services/delivery/fanout-work.ts';
import { ServingPeriod } from '../../../src/services/delivery/period.ts';
import { Fence, PeriodGate } from '../../../src/services/fence.ts';
import type { MemoryBroker } from '../../../src/services/memory/broker.ts';
import { memoryDeliveryPorts } from '../../../src/services/memory/delivery-ports.ts';
import type { Faults } from '../../../src/services/memory/faults.ts';
import { MemoryJournal } from '../../../src/services/memory/journal.ts';
import { memoryLeaseRows } from '../../../src/services/memory/lease-rows.ts';
import { type Pace, Wire } from '../../../src/services/memory/wire.ts';
import { Tally } from '../../../src/services/tally.ts';
import { systemInput } from '../../../src/system-input.ts';
import type { WorldTime } from './time.ts';

export interface MemoryDaemonOptions {
  readonly broker: MemoryBroker;
  readonly time: WorldTime;
  readonly incarnation: string;
  readonly faults?: Faults;
  readonly pace?: Pace;
  readonly numbers?: Partial<Numbers>;
  readonly standby?: boolean;
}

/** Nobody asks for a timer in this world. */
function writesTimers(tell: (fact: TimerWriterFact) => void) {
  tell({ type: 'writer.running' });
  return { stop: async () => {} };
}

export class MemoryDaemon {
  readonly journal = new MemoryJournal();
  readonly tally = new Tally();
  readonly actor: Actor<typeof systemMachine>;
  readonly #options: MemoryDaemonOptions;
  readonly #fence: Fence;
  readonly #numbers: Numbers;
  #period: { serving: ServingPeriod; gate: PeriodGate } | undefined;
  #unsettled: Unsettled | undefined;
  #dead = false;

  constructor(options: MemoryDaemonOptions) {
    this.#options = options;
    const { broker, time, incarnation, standby = true } = options;
    const { clock } = time;
    this.#numbers = { ...defaults, ...options.numbers };
    const numbers = this.#numbers;
    this.#fence = new Fence({ clock, fenceMs: numbers.leaseFenceMs });
    const wire = { broker, gate: () => this.#why(), ...this.#shared() };
    const nothing = async () => {};
    this.actor = createActor(
      bindSystem({
        space: broker.space,
        numbers,
        journal: this.journal,
        tally: this.tally,
        period: () => {
          if (this.#period === undefined) throw new Error('no serving period is open');
          return this.#period.serving;
        },
        lease: {
          clock,
          fence: this.#fence,
          numbers: { ...numbers, releaseMs: releaseLimit(numbers) },
          proof: () => ({ proofKey: '', proofAttestation: '' }),
          rows: () => memoryLeaseRows(new Wire(wire)),
        },
        steps: {
          findRoot: nothing,
          readCredential: nothing,
          findBroker: nothing,
          reachBroker: nothing,
          admitObserver: nothing,
          openEndpoint: nothing,
          armSignals: nothing,
          writeRecord: nothing,
        },
        openStores: () => this.#openStores(),
        closeStores: () => this.#closeStores(),
        leaveRecord: () => {},
        closeAll: nothing,
        credential: {
          journal: this.journal,
          numbers,
          nextLook: () => ({ isDue: false, waitMs: 600_000 }),
          look: async () => ({ kind: 'unusable', why: 'there is none' }),
          prove: async () => ({ kind: 'unproved', fingerprint: '', why: 'there is none' }),
          adopt: () => {},
          dialNext: async () => ({ kind: 'unreachable', connection: 2, at: 0, why: 'there is none' }),
          moveIn: () => {},
          elapsedSince: (since) => clock.now().monotonicMs - since,
          answer: () => {},
          silence: () => {},
        },
        timers: { clock: time.clock, write: writesTimers },
        hearConnection: (tell) => this.#hearConnection(tell),
        answerLiveness: () => ({ stop: nothing }),
        measureOutage: ({ since }) => ({ elapsedMs: clock.now().monotonicMs - since, stalledMs: 0 }),
      }),
      {
        clock: time.forActors,
        input: systemInput({ incarnation, standby, numbers }),
      },
    );
  }

  /** Resolves with how it ended, when it has. */
  start(ended: (end: string) => void = () => {}): void {
    this.actor.subscribe({
      error: (error) => ended(`error: ${String(error)}`),
      complete: () => ended(this.actor.getSnapshot().output?.end ?? 'unknown'),
    });
    this.actor.start();
  }

  get isServing(): boolean {
    return this.actor.getSnapshot().hasTag('serving');
  }
  get serving(): ServingPeriod | undefined {
    return this.#period?.serving;
  }

  /** Whether an effect of it would be sent now. */
  get mayAct(): boolean {
    return !this.#dead && this.#period !== undefined && this.#period.gate.why() === undefined;
  }

  stop(): void {
    this.actor.send({ type: 'stop.requested', signal: 'SIGTERM' });
  }

  /** SIGKILL: from here on nothing of it does anything. */
  kill(): void {
    this.#dead = true;
    this.actor.stop();
  }

  #shared() {
    const { faults, pace } = this.#options;
    return { ...(faults === undefined ? {} : { faults }), ...(pace === undefined ? {} : { pace }) };
  }
  #why(): string | undefined {
    return this.#dead ? 'dead' : undefined;
  }

  async #openStores(): Promise<'open' | 'silent'> {
    this.#closeStores();
    const { broker, time, incarnation } = this.#options;
    const gate = new PeriodGate({ fence: this.#fence, isConnected: () => broker.isUp });
    const { journal, tally } = this;
    const serving = new ServingPeriod({
      ports: memoryDeliveryPorts({
        broker,
        incarnation,
        journal,
        tally,
        gate: () => this.#why() ?? gate.why(),
        ...this.#shared(),
      }),
      setting: {
        space: broker.space,
        writerIdentity: `local.delivery/${incarnation}`,
        window: this.#numbers.windowSize,
        batchSize: this.#numbers.batchSize,
        inventoryFrom: this.#numbers.inventoryFrom,
        quota: this.#numbers.quota,
        clock: time.clock,
        journal,
        tally,
        handlers: {},
      },
      tell: (news) => this.actor.system.get('daemon')?.send(news),
      ...(this.#unsettled === undefined ? {} : { unsettled: this.#unsettled }),
    });
    this.#period = { serving, gate };
    const opened = await serving.open();
    return opened.kind === 'open' ? 'open' : 'silent';
  }

  #closeStores(): void {
    if (this.#period === undefined) return;
    this.#period.gate.close('this serving period has ended');
    this.#unsettled = this.#period.serving.close();
    this.#period = undefined;
  }

  #hearConnection(tell: (news: ConnectionFact) => void) {
    const { broker, time } = this.#options;
    const stop = broker.listen((isUp) => {
      if (isUp) tell({ type: 'broker.reconnected', connection: 1 });
      else tell({ type: 'broker.disconnected', connection: 1, at: time.clock.now().monotonicMs });
    });
    return { stop: async () => void stop() };
  }
}
