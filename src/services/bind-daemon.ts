/** The daemon and the system over their services. The order of the start is the machine's; here is what each step does. */
import { describeError, Plane3Error } from '../domain/errors/catalogue.ts';
import { releaseLimit } from '../domain/lease.ts';
import type { Outage } from '../domain/outage.ts';
import { backOff } from '../domain/pacing.ts';
import {
  type BackstopFact,
  brokerWatchMachine,
  type ConnectionFact,
  type WindowFact,
} from '../machines/broker-watch.machine.ts';
import type { NameFact, StepFact } from '../machines/daemon.facts.ts';
import { daemonMachine } from '../machines/daemon.machine.ts';
import { type LivenessFact, systemMachine } from '../machines/system.machine.ts';
import { bindCredential, type CredentialServices } from './bind-credential.ts';
import { bindFanout, bindRails, bindReader, bindRegistry, type DeliveryServices } from './bind-delivery.ts';
import { ask, listen } from './bind-effects.ts';
import { bindLease, type LeaseServices } from './bind-lease.ts';
import { bindTimerWriter, type TimerServices } from './bind-timers.ts';
import type { Stoppable } from './ports.ts';

/** One step of the start: done, or a refusal that is thrown. */
type Step = (signal: AbortSignal) => Promise<void>;

export interface DaemonServices extends DeliveryServices {
  readonly lease: LeaseServices;
  readonly steps: {
    readonly findRoot: Step;
    readonly readCredential: Step;
    readonly findBroker: Step;
    readonly reachBroker: Step;
    readonly admitObserver: Step;
    readonly openEndpoint: Step;
    readonly armSignals: Step;
    readonly writeRecord: Step;
  };
  /** Opens a serving period; `silent` when the broker did not answer for its store. */
  openStores(): Promise<'open' | 'silent'>;
  closeStores(): void;
  leaveRecord(): void;
  closeAll(): Promise<void>;
}

export interface SystemServices extends DaemonServices {
  readonly credential: CredentialServices;
  readonly timers: Pick<TimerServices, 'clock' | 'write'>;
  hearConnection(tell: (news: ConnectionFact) => void): Stoppable;
  /** Answers everybody who asks whether the responder is bound. */
  answerLiveness(lost: (why: string) => void): Stoppable;
  /** How long the broker has been away, and how much of it this process was itself late. */
  measureOutage(of: { since: number }): Outage;
  readonly space: string;
}

const step = (work: Step) =>
  ask<StepFact, undefined>(async (_, signal) => {
    try {
      await work(signal);
      return { type: 'step.done' };
    } catch (error) {
      return { type: 'start.refused', ...describeError(error) };
    }
  });

/** A step that dials the broker by its name. */
const dialling = (work: Step, nowMs: () => number) =>
  ask<StepFact | NameFact, undefined>(async (_, signal) => {
    try {
      await work(signal);
      return { type: 'step.done' };
    } catch (error) {
      if (!(error instanceof Plane3Error && error.is('start.nameless')))
        return { type: 'start.refused', ...describeError(error) };
      const { host, reason } = error.facts;
      return {
        type: 'name.unresolved',
        host: String(host),
        reason: String(reason),
        message: error.message,
        at: nowMs(),
      };
    }
  });

export function bindDaemon(services: DaemonServices & { space: string }) {
  const { steps, journal, numbers, space, lease } = services;
  const nowMs = () => lease.clock.now().monotonicMs;
  const pauseMs = (nameless: number) => backOff(nameless, numbers.nameRetryMs, numbers.nameRetryLimitMs);
  return daemonMachine.provide({
    actors: {
      findRoot: step(steps.findRoot),
      readCredential: step(steps.readCredential),
      findBroker: step(steps.findBroker),
      reachBroker: dialling(steps.reachBroker, nowMs),
      admitObserver: step(steps.admitObserver),
      openEndpoint: dialling(steps.openEndpoint, nowMs),
      armSignals: step(steps.armSignals),
      writeRecord: step(steps.writeRecord),
      openStores: ask<StepFact | { type: 'broker.silent' }, undefined>(async () =>
        (await services.openStores()) === 'open' ? { type: 'step.done' as const } : { type: 'broker.silent' as const },
      ),
      closeAll: ask<{ type: 'all.closed' }, undefined>(async () => {
        await services.closeAll();
        return { type: 'all.closed' };
      }),
      lease: bindLease(services.lease),
      registry: bindRegistry(services),
      fanout: bindFanout(services),
      reader: bindReader(services),
      rails: bindRails(services),
    },
    actions: {
      closeStores: () => services.closeStores(),
      leaveRecord: () => services.leaveRecord(),
      tellStopping: (_, { signal }) => journal.tell('daemon.signalled', { signal, space }),
      tellFault: (_, facts) => journal.tell('daemon.fault', { stack: facts.message, ...facts }),
      tellNameless: ({ context }, { host, reason }) =>
        journal.tell('start.nameless', { host, reason, seconds: pauseMs(context.nameless) / 1000 }),
      tellWaiting: (_, facts) => journal.tell('lease.waiting', facts),
    },
    delays: {
      releaseLimit: releaseLimit(numbers),
      drainLimit: numbers.drainMs,
      dialAgain: ({ context }) => pauseMs(context.nameless),
    },
  });
}

export function bindSystem(services: SystemServices) {
  const { journal } = services;
  const measure = <Fact extends WindowFact | BackstopFact>(type: Fact['type']) =>
    ask<Fact, { since: number }>(async (of) => ({ type, ...services.measureOutage(of) }) as Fact);
  return systemMachine.provide({
    actors: {
      daemon: bindDaemon(services),
      brokerWatch: brokerWatchMachine.provide({
        actors: {
          measureForWindow: measure<WindowFact>('window.measured'),
          measureForBackstop: measure<BackstopFact>('backstop.measured'),
        },
      }),
      credential: bindCredential(services.credential),
      timerWriter: bindTimerWriter({ ...services, ...services.timers }),
      hearConnection: listen<ConnectionFact, undefined>((tell) => services.hearConnection(tell)),
      answerLiveness: listen<LivenessFact, undefined>((tell) =>
        services.answerLiveness((why) => tell({ type: 'liveness.lost', why })),
      ),
    },
    actions: {
      tellGone: (_, { type }) => journal.tell(type),
      tellStarted: () => journal.tell('daemon.started'),
      tellQuiesced: (_, facts) => journal.tell('daemon.quiesced', facts),
      tellLivenessLost: (_, facts) => journal.tell('liveness.lost', facts),
      tellTimersLost: (_, { why }) => journal.tell('timers.down', { why, nextTry: 'the next start' }),
    },
  });
}
