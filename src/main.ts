/**
 * The delivery daemon, put together: configuration, services, the root system, the exit code. The only place that does.
 */
import { randomBytes } from 'node:crypto';
import { type Actor, createActor, type InspectionEvent } from 'xstate';
import { adminHandlers, ProcessProof } from './admin-ops.ts';
import { readNumbers } from './domain/config.ts';
import { KnownServers } from './domain/known-servers.ts';
import { releaseLimit } from './domain/lease.ts';
import { parseSpace } from './domain/names.ts';
import type { Exhibit } from './inspector/metrics.ts';
import type { DaemonEnd } from './machines/daemon.facts.ts';
import type { systemMachine } from './machines/system.machine.ts';
import { Renewal } from './renewal.ts';
import { bindSystem } from './services/bind-daemon.ts';
import type { Unsettled } from './services/delivery/fanout-work.ts';
import { ServingPeriod } from './services/delivery/period.ts';
import type { Handlers } from './services/delivery/rail-work.ts';
import { Fence, PeriodGate } from './services/fence.ts';
import { StallRecorder, systemClock } from './services/local/clock.ts';
import { processRecord } from './services/local/process-record.ts';
import { natsDeliveryPorts } from './services/nats/delivery-ports.ts';
import { GatedBroker } from './services/nats/gated-broker.ts';
import { natsLeaseRows } from './services/nats/lease-rows.ts';
import { answerLiveness, type ResponderState } from './services/nats/liveness.ts';
import { type Owed, readOwed } from './services/nats/owed.ts';
import { Sweeper } from './services/nats/sweep.ts';
import { writeTimers } from './services/nats/timer-writer.ts';
import type { Clock, Journal, SecretStore, Stoppable } from './services/ports.ts';
import { Tally } from './services/tally.ts';
import { Start } from './start.ts';
import { HOLDER, systemInput } from './system-input.ts';

export interface DaemonOptions {
  readonly space: string;
  readonly root?: string;
  readonly server?: string;
  readonly tls?: { readonly caFile?: string };
  /** Credentials from here instead of the workstation's files: then no root is needed and no registry is asked. */
  readonly store?: SecretStore;
  /** A loser of the lease waits for it instead of ending. */
  readonly standby?: boolean;
  readonly journal: Journal;
  /** Name of this run of the daemon on the lease row; a random one unless its launcher gave it one to know it by. */
  readonly incarnation?: string;
  /** Credential to serve with, in place of the store's own. */
  readonly creds?: string;
  /** Entries a member may be owed; the store's own quota unless told. */
  readonly quota?: number;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
  /** Operations of other parts on the rails. */
  readonly handlers?: Handlers;
  /** Listens for SIGTERM, SIGINT and SIGHUP of this process; true unless told. */
  readonly signals?: boolean;
  /** Is told of everything that happens to an actor of the daemon. */
  readonly inspect?: (event: InspectionEvent) => void;
}

export interface Ended {
  readonly end: DaemonEnd;
  readonly message: string;
  /** 0: asked to stop. 1: anything else. */
  readonly code: 0 | 1;
}

export interface DeliveryDaemon {
  readonly actor: Actor<typeof systemMachine>;
  readonly tally: Tally;
  readonly incarnation: string;
  /** What metrics and health are gathered from. */
  readonly exhibit: Exhibit;
  /** Starts it. Resolves when it has ended, however it did. */
  run(): Promise<Ended>;
  /** Asks it to stop, as a signal would. */
  stop(reason?: string): void;
}

/** Ends whose reason has no operator line of its own yet. */
const REFUSALS: ReadonlySet<DaemonEnd> = new Set(['refused', 'lease-refused', 'lease-denied', 'lease-taken']);
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** @throws Plane3Error for a space or a setting of the environment outside its grammar; nothing is started. */
export function createDaemon(options: DaemonOptions): DeliveryDaemon {
  const space = parseSpace(options.space);
  const numbers = readNumbers(options.env ?? process.env);
  const clock = options.clock ?? systemClock;
  const { journal } = options;
  const tally = new Tally();
  const fence = new Fence({ clock, fenceMs: numbers.leaseFenceMs });
  const incarnation = options.incarnation ?? randomBytes(12).toString('hex');
  const stalls = new StallRecorder(clock);
  const servers = new KnownServers(() => clock.now().monotonicMs);
  const start = new Start({ ...options, space, numbers, clock });
  const renewal = new Renewal({ start, space, numbers, clock, journal });
  const quota = options.quota ?? numbers.quota;
  const proof = new ProcessProof({ space, holder: HOLDER, incarnation });
  const handlers: Handlers = {
    ...adminHandlers({
      proof,
      store: () => start.store,
      own: () => start.keeper.current.claims.name,
      sweeper: () =>
        new Sweeper({
          source: start.sweepSource,
          tally,
          gate,
          servers,
        }),
    }),
    ...renewal.handlers(() => actor.system.get('credential')),
    ...options.handlers,
  };
  let period: { serving: ServingPeriod; gate: PeriodGate } | undefined;
  let unsettled: Unsettled | undefined;
  let disarm: () => void = () => {};

  const gate = () => (period === undefined ? 'no serving period is open' : period.gate.why());
  const responder = (): ResponderState =>
    period === undefined || !actor.getSnapshot().hasTag('serving') ? 'unbound' : fence.holds() ? 'bound' : 'stale';
  const owed = async (): Promise<Owed | undefined> => {
    if (period === undefined) return undefined;
    const { connection, inboxPrefix } = start.residence.current;
    const broker = new GatedBroker({ connection, inboxPrefix, gate, timeoutMs: numbers.effectTimeoutMs });
    return readOwed({ broker, space, wallMs: clock.now().wallMs });
  };

  const record = () =>
    start.root === undefined ? undefined : processRecord({ root: start.root, what: 'delivery', space });

  /** One that was frozen past its lease would write over the record of whoever has it by now. */
  const writeRecord = (): boolean => {
    record()?.write(() => fence.holds());
    return fence.holds();
  };

  const openStores = async (): Promise<'open' | 'silent'> => {
    closeStores();
    if (!writeRecord()) return 'silent';
    const resident = start.residence.current;
    const gate = new PeriodGate({ fence, isConnected: () => resident.isUp() });
    const serving = new ServingPeriod({
      ports: natsDeliveryPorts({
        resident,
        gate: gate.why,
        space,
        incarnation,
        timeoutMs: numbers.effectTimeoutMs,
        journal,
        tally,
      }),
      setting: {
        space,
        writerIdentity: `${HOLDER}/${incarnation}`,
        window: numbers.windowSize,
        batchSize: numbers.batchSize,
        inventoryFrom: numbers.inventoryFrom,
        quota,
        clock,
        journal,
        tally,
        handlers,
      },
      tell: (news) => actor.system.get('daemon')?.send(news),
      ...(unsettled === undefined ? {} : { unsettled }),
    });
    period = { serving, gate };
    const opened = await serving.open();
    return opened.kind === 'open' ? 'open' : 'silent';
  };
  const closeStores = (): void => {
    if (period === undefined) return;
    period.gate.close('this serving period has ended');
    unsettled = period.serving.close();
    period = undefined;
  };

  const actor = createActor(
    bindSystem({
      space,
      numbers,
      journal,
      tally,
      period: () => {
        if (period === undefined) throw new Error('no serving period is open');
        return period.serving;
      },
      lease: {
        clock,
        fence,
        numbers: { ...numbers, releaseMs: releaseLimit(numbers) },
        proof: () => proof.row(start.keeper.current),
        rows: () => {
          const { connection, inboxPrefix } = start.residence.current;
          const gate = () => (start.residence.isUp() ? undefined : 'the connection is down');
          return natsLeaseRows({
            space,
            broker: new GatedBroker({ connection, inboxPrefix, gate, timeoutMs: numbers.effectTimeoutMs }),
          });
        },
      },
      steps: {
        findRoot: async () => {
          await start.findRoot();
          record()?.begin();
        },
        readCredential: () => start.readCredential(),
        findBroker: () => start.findBroker(),
        reachBroker: () => start.reachBroker(),
        admitObserver: () => start.admitObserver(),
        openEndpoint: () => start.openEndpoint(),
        armSignals: async () => {
          disarm =
            options.signals === false ? () => {} : arm((signal) => actor.send({ type: 'stop.requested', signal }));
        },
        writeRecord: async () => void writeRecord(),
      },
      openStores,
      closeStores,
      leaveRecord: () => record()?.leave(),
      closeAll: async () => {
        stalls.stop();
        await start.close();
      },
      credential: renewal.services,
      timers: {
        clock,
        write: (tell) =>
          writeTimers(
            { space, dial: () => start.dial(), gate, timeoutMs: numbers.effectTimeoutMs, journal, tally },
            tell,
          ),
      },
      hearConnection: (tell) => start.residence.hear(tell),
      answerLiveness: (lost): Stoppable =>
        start.residence.accompany(({ connection }) =>
          answerLiveness({
            connection,
            space,
            instance: incarnation,
            responder,
            lost,
          }),
        ),
      measureOutage: ({ since }) => ({
        elapsedMs: clock.now().monotonicMs - since,
        stalledMs: stalls.stalledSince(since),
      }),
    }),
    {
      input: systemInput({ incarnation, standby: options.standby === true, numbers }),
      ...(options.inspect === undefined ? {} : { inspect: options.inspect }),
    },
  );

  return {
    actor,
    tally,
    incarnation,
    exhibit: {
      counts: () => tally.all(),
      ready: () => responder() === 'bound',
      alive: () => actor.getSnapshot().status === 'active',
      stalledMs: () => stalls.totalMs,
      owed,
    },
    stop: (reason = 'stop') => {
      if (actor.getSnapshot().status === 'active') actor.send({ type: 'stop.requested', signal: reason });
    },
    run: () =>
      new Promise((resolve, reject) => {
        actor.subscribe({
          error: reject,
          complete: () => {
            disarm();
            record()?.remove();
            const { end, message } = actor.getSnapshot().output ?? { end: 'faulted' as const, message: 'no output' };
            if (REFUSALS.has(end)) journal.tell('daemon.refused', { message });
            journal.tell('daemon.ended', { end, message });
            resolve({ end, message, code: end === 'stopped' ? 0 : 1 });
          },
        });
        actor.start();
      }),
  };
}

function arm(stop: (signal: string) => void): () => void {
  const listeners = SIGNALS.map((signal) => [signal, () => stop(signal)] as const);
  for (const [signal, listener] of listeners) process.on(signal, listener);
  return () => {
    for (const [signal, listener] of listeners) process.off(signal, listener);
  };
}
