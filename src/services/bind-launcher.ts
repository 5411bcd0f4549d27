/** The launcher's machines over what they need of the workstation: `cotal up`, each process it keeps, the one stop. */
import { describeError, Plane3Error } from '../domain/errors/catalogue.ts';
import type { Numbers } from '../domain/numbers.ts';
import type { RecordedIdentity, RecordedProcess } from '../domain/process-record.ts';
import type { ChildName, ExitFact, ExplainFact, LookFact, ProofFact, SpawnFact } from '../machines/child.facts.ts';
import { childMachine } from '../machines/child.machine.ts';
import type { BrokerExit, BrokerFact, LockFact, Standing, StartFact, StepFact } from '../machines/launcher.facts.ts';
import { launcherMachine } from '../machines/launcher.machine.ts';
import {
  type DependantsFact,
  type FindFact,
  type ReserveFact,
  type SignalFact,
  type StopInput,
  stopMachine,
  type TurnFact,
} from '../machines/stop.machine.ts';
import { ask, listen } from './bind-effects.ts';
import type { Journal, Stoppable } from './ports.ts';

/** What a stop does to one target. Synchronous where nothing may come in between. */
export interface StopServices {
  readonly journal: Journal;
  readonly numbers: Pick<Numbers, 'stopGraceMs' | 'stopConfirmMs'>;
  reserve(target: RecordedProcess): ReserveFact;
  release(target: RecordedProcess): void;
  /** Tells once when nobody holds the reservation of the target. */
  awaitTurn(target: RecordedProcess, tell: () => void): Stoppable;
  /** What runs and needs the target, by name. */
  dependantsOf(target: RecordedProcess): string[];
  mark(target: RecordedProcess): void;
  find(target: RecordedProcess): FindFact;
  signal(process: RecordedIdentity, signal: 'SIGTERM' | 'SIGKILL'): SignalFact;
  awaitDeath(process: RecordedIdentity, tell: () => void): Stoppable;
  removeTraces(of: { target: RecordedProcess; confirmed: boolean }): void;
}

export function bindStop({ journal, numbers, ...stop }: StopServices) {
  const signal = (name: 'SIGTERM' | 'SIGKILL') =>
    ask<SignalFact, RecordedIdentity>(async (process) => stop.signal(process, name));
  return stopMachine.provide({
    actors: {
      reserve: ask<ReserveFact, StopInput>(async ({ target }) => stop.reserve(target)),
      checkDependants: ask<DependantsFact, StopInput>(async ({ target }) => {
        const names = stop.dependantsOf(target);
        return names.length === 0
          ? { type: 'dependants.none' }
          : { type: 'dependants.running', names: names.join(', ') };
      }),
      mark: ask<{ type: 'target.marked' }, StopInput>(async ({ target }) => {
        stop.mark(target);
        return { type: 'target.marked' };
      }),
      findProcess: ask<FindFact, StopInput>(async ({ target }) => stop.find(target)),
      terminate: signal('SIGTERM'),
      kill: signal('SIGKILL'),
      awaitDeath: listen<{ type: 'process.gone' }, RecordedIdentity>((tell, process) =>
        stop.awaitDeath(process, () => tell({ type: 'process.gone' })),
      ),
      removeTraces: ask<{ type: 'traces.removed' }, StopInput & { confirmed: boolean }>(async (of) => {
        stop.removeTraces(of);
        return { type: 'traces.removed' };
      }),
      release: ask<{ type: 'reservation.released' }, StopInput>(async ({ target }) => {
        stop.release(target);
        return { type: 'reservation.released' };
      }),
    },
    actions: {
      tellKilling: (_, { target, pid }) =>
        journal.tell('stop.killing', { target, pid, seconds: numbers.stopGraceMs / 1000 }),
    },
    delays: { stopGrace: numbers.stopGraceMs, stopConfirm: numbers.stopConfirmMs },
  });
}

/** For who found the stop of a target held: when to ask again, and how long a stop that is at work can take. */
const bindTurn = (stop: StopServices) => ({
  awaitTurn: listen<TurnFact, StopInput>((tell, { target }) =>
    stop.awaitTurn(target, () => tell({ type: 'turn.free' })),
  ),
  turnPatience: stop.numbers.stopGraceMs + stop.numbers.stopConfirmMs,
});

/** One process that `up` keeps. */
export interface ChildServices {
  readonly journal: Journal;
  readonly numbers: Pick<Numbers, 'launchPatienceMs'>;
  running(name: ChildName): number | undefined;
  spawn(name: ChildName, signal: AbortSignal): Promise<SpawnFact>;
  watch(of: { name: ChildName; pid: number }, tell: (exit: ExitFact) => void): Stoppable;
  prove(of: { name: ChildName; pid: number }, tell: (proof: ProofFact) => void): Stoppable;
  explain(of: {
    name: ChildName;
    pid: number;
    code: number | null;
    signal: string | null;
  }): Promise<Omit<ExplainFact, 'type'>>;
}

export function bindChild({ journal, numbers, ...child }: ChildServices, stop: StopServices) {
  type Who = { name: ChildName; pid: number };
  const { awaitTurn, turnPatience } = bindTurn(stop);
  return childMachine.provide({
    actors: {
      lookForProcess: ask<LookFact, { name: ChildName }>(async ({ name }) => {
        const pid = child.running(name);
        return pid === undefined ? { type: 'process.absent' } : { type: 'process.running', pid };
      }),
      spawnProcess: ask<SpawnFact, { name: ChildName }>(async ({ name }, signal) => {
        try {
          return await child.spawn(name, signal);
        } catch (error) {
          return { type: 'spawn.refused', reason: describeError(error).message };
        }
      }),
      watchProcess: listen<ExitFact, Who>((tell, who) => child.watch(who, tell)),
      proveServing: listen<ProofFact, Who>((tell, who) => child.prove(who, tell)),
      explainExit: ask<ExplainFact, Who & { code: number | null; signal: string | null }>(async (exit) => ({
        type: 'exit.explained',
        ...(await child.explain(exit)),
      })),
      stop: bindStop(stop),
      awaitTurn,
    },
    actions: {
      tellRestarting: ({ context }, { cause }) =>
        journal.tell(context.name === 'delivery' ? 'up.restarting' : 'up.manager-restarting', { cause }),
      tellAgain: (_, { name }) => journal.tell(name === 'delivery' ? 'up.running-again' : 'up.manager-again'),
      tellRetry: ({ context }, { reason, waitMs }) =>
        journal.tell(context.name === 'delivery' ? 'up.restart-failed' : 'up.manager-restart-failed', {
          reason,
          seconds: Math.ceil(waitMs / 1000),
        }),
    },
    // A manager waits for the daemon before it registers.
    delays: {
      turnPatience,
      patience: ({ context }) => numbers.launchPatienceMs * (context.name === 'manager' ? MANAGER_PATIENCE : 1),
    },
  });
}

const MANAGER_PATIENCE = 3;

type Step = (signal: AbortSignal) => Promise<void>;

export interface LauncherServices {
  readonly journal: Journal;
  readonly children: ChildServices;
  readonly stop: StopServices;
  readonly numbers: Pick<Numbers, 'launchPatienceMs' | 'restartWaitMs'>;
  lock(): LockFact;
  unlock(): void;
  readonly plan: Step;
  findBroker(): Promise<{ pid: number } | undefined>;
  startBroker(signal: AbortSignal): Promise<StartFact>;
  watchBroker(of: { pid: number }, tell: (exit: BrokerExit) => void): Stoppable;
  readonly provision: Step;
  readonly prepareCredentials: Step;
  readonly recordMesh: Step;
  /** What `up` says of itself once every child has told how it is. */
  tellUp(standing: Readonly<Partial<Record<ChildName, Standing>>>): void;
  /** The log of a child, for the warning about it. */
  logOf(name: ChildName): string;
}

const refused = (error: unknown) => ({
  type: 'up.refused' as const,
  ...describeError(error),
  help: error instanceof Plane3Error ? error.help : '',
});

const step = (work: Step) =>
  ask<StepFact, undefined>(async (_, signal) => {
    try {
      await work(signal);
      return { type: 'step.done' };
    } catch (error) {
      return refused(error);
    }
  });

export function bindLauncher(services: LauncherServices) {
  const { journal, children, stop, numbers } = services;
  const { awaitTurn, turnPatience } = bindTurn(stop);
  return launcherMachine.provide({
    actors: {
      lockRoot: ask<LockFact, undefined>(async () => services.lock()),
      plan: step(services.plan),
      findBroker: ask<BrokerFact, undefined>(async () => {
        try {
          const found = await services.findBroker();
          return found === undefined ? { type: 'broker.absent' } : { type: 'broker.running', ...found };
        } catch (error) {
          return refused(error);
        }
      }),
      startBroker: ask<StartFact, undefined>(async (_, signal) => {
        try {
          return await services.startBroker(signal);
        } catch (error) {
          return refused(error);
        }
      }),
      provision: step(services.provision),
      prepareCredentials: step(services.prepareCredentials),
      recordMesh: step(services.recordMesh),
      watchBroker: listen<BrokerExit, { pid: number }>((tell, of) => services.watchBroker(of, tell)),
      child: bindChild(children, stop),
      stop: bindStop(stop),
      awaitTurn,
      unlockRoot: ask<{ type: 'lock.released' }, undefined>(async () => {
        services.unlock();
        return { type: 'lock.released' };
      }),
    },
    actions: {
      tellUp: (_, { standing }) => services.tellUp(standing),
      tellUnbound: (_, { name, pid }) => journal.tell(`up.${name}-unbound`, { pid, log: services.logOf(name) }),
      tellLeft: (_, { name, pid, reason }) => journal.tell('up.child-left', { name, pid, reason }),
      tellChildStopped: (_, { name, cause }) => journal.tell('up.child-stopped', { name, cause }),
      tellBrokerExited: (_, { cause }) => journal.tell('up.broker-exited', { cause }),
      tellStopping: (_, { signal }) => journal.tell('up.signalled', { signal }),
      tellStop: (_, { target, end, pid, message }) => journal.tell('up.stopped', { target, end, pid, message }),
    },
    // The row of the one that died has to end first, then its replacement has its time.
    delays: { turnPatience, relaunchPatience: numbers.restartWaitMs + numbers.launchPatienceMs * MANAGER_PATIENCE },
  });
}
