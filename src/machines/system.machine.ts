/**
 * system: the root. It starts the daemon, watches the broker for it from the moment there is a connection, and ends when
 * the daemon has ended, with the daemon's reason.
 *
 *   B1  the connection's own events are the only source of news about the broker
 *   B5  an expired credential suspends the watch of the broker; what the connection does then is the credential's
 *   B6  a connection that was replaced is heard no more
 *   T4  the timer writer works while the daemon serves; its end is told and takes nothing else down
 *   U1  `serving` is a tag of this machine only while its daemon says so
 */
import { assign, raise, sendTo, setup } from 'xstate';
import {
  type BrokerWatchInput,
  type BrokerWatchReport,
  brokerWatchMachine,
  type ConnectionFact,
} from './broker-watch.machine.ts';
import type { CredentialInput, CredentialReport } from './credential.facts.ts';
import { credentialMachine } from './credential.machine.ts';
import type { DaemonEnd, DaemonInput, DaemonReport } from './daemon.facts.ts';
import { daemonMachine } from './daemon.machine.ts';
import { deafToLateFailures, fact, heard, reasonOf } from './effects.ts';
import { timerWriterMachine } from './timer-writer.machine.ts';

export type SystemEvent =
  | ConnectionFact
  | BrokerWatchReport
  | CredentialReport
  | DaemonReport
  | { type: 'connection.lost-track'; why: string }
  | LivenessFact
  | { type: 'stop.requested'; signal: string };

/** Nobody is answered whether the responder is bound. It takes nothing else down. */
export type LivenessFact = { type: 'liveness.lost'; why: string };

export interface SystemInput {
  readonly daemon: DaemonInput;
  readonly brokerWatch: BrokerWatchInput;
  readonly credential: CredentialInput;
}

export interface SystemContext extends SystemInput {
  /** Number of the resident connection of the moment. */
  readonly connection: number;
  readonly end: DaemonEnd;
  readonly message: string;
}

type Expiry = Extract<ConnectionFact, { type: 'credential.expired' }>;
type Replacement = Extract<CredentialReport, { type: 'connection.replaced' }>;
type Lapse = Extract<CredentialReport, { type: 'credential.lapsed' }>;
type DaemonNews = { type: 'broker.disconnected' } | { type: 'connection.replaced' };

const system = setup({
  types: {
    context: {} as SystemContext,
    events: {} as SystemEvent,
    input: {} as SystemInput,
    output: {} as { end: DaemonEnd; message: string },
  },
  actors: {
    daemon: daemonMachine,
    brokerWatch: brokerWatchMachine,
    credential: credentialMachine,
    timerWriter: timerWriterMachine,
    hearConnection: heard<ConnectionFact, undefined>('hearConnection'),
    answerLiveness: heard<LivenessFact, undefined>('answerLiveness'),
  },
  actions: {
    lost: raise(({ event }): SystemEvent => ({ type: 'connection.lost-track', why: reasonOf({ event }) })),
    unanswered: raise(({ event }): SystemEvent => ({ type: 'liveness.lost', why: reasonOf({ event }) })),
    keepEnd: assign((_, { end, message }: { end: DaemonEnd; message: string }) => ({ end, message })),
    keepConnection: assign((_, { connection }: { connection: number }) => ({ connection })),
    toWatch: sendTo('brokerWatch', (_, news: ConnectionFact | Replacement) => news),
    toCredential: sendTo('credential', (_, news: Expiry | { type: 'daemon.started' }) => news),
    toDaemon: sendTo('daemon', (_, news: BrokerWatchReport | Lapse | DaemonNews) => news),
    stopDaemon: sendTo('daemon', (_, { signal }: { signal: string }) => ({ type: 'stop.requested', signal }) as const),
    tellGone: (_, _facts: BrokerWatchReport) => {},
    tellStarted: (_, _facts: { type: 'daemon.started' }) => {},
    tellQuiesced: (_, _facts: { why: string }) => {},
    tellLivenessLost: (_, _facts: { why: string }) => {},
    tellTimersLost: (_, _facts: { why: string }) => {},
  },
  guards: {
    isResident: ({ context }, { connection }: { connection: number }) => connection === context.connection,
  },
});

const surprise = ({ event }: { event: { error: unknown } }) => ({
  end: 'faulted' as const,
  message: String(event.error),
});
const resident = { type: 'isResident', params: fact } as const;
const outage = {
  guard: resident,
  actions: [
    { type: 'toWatch', params: fact },
    { type: 'toDaemon', params: { type: 'broker.disconnected' } },
  ],
} as const;
const gone = {
  actions: [
    { type: 'tellGone', params: fact },
    { type: 'toDaemon', params: fact },
  ],
} as const;

export const systemMachine = system.createMachine({
  id: 'system',
  context: ({ input }) => ({ ...input, connection: input.credential.connection, end: 'stopped', message: '' }),
  invoke: {
    id: 'daemon',
    systemId: 'daemon',
    src: 'daemon',
    input: ({ context }) => context.daemon,
    onDone: '.Ended',
    onError: { target: '.Ended', actions: { type: 'keepEnd', params: surprise } },
  },
  initial: 'Starting',
  on: {
    ...deafToLateFailures,
    'stop.requested': { actions: { type: 'stopDaemon', params: fact } },
    'daemon.ended': { actions: { type: 'keepEnd', params: fact } },
  },
  states: {
    Starting: { on: { 'daemon.connected': 'Watching' } },
    /** From here on the broker is watched, through the resident connection and nothing else. */
    Watching: {
      invoke: [
        {
          id: 'brokerWatch',
          src: 'brokerWatch',
          input: ({ context }) => context.brokerWatch,
          onError: { actions: 'lost' },
        },
        {
          id: 'credential',
          systemId: 'credential',
          src: 'credential',
          input: ({ context }) => context.credential,
          onError: { actions: 'lost' },
        },
        { id: 'hearConnection', src: 'hearConnection', onError: { actions: 'lost' } },
        {
          id: 'answerLiveness',
          src: 'answerLiveness',
          onError: { actions: 'unanswered' },
        },
      ],
      initial: 'Binding',
      states: {
        Binding: { on: { 'daemon.serving': 'Serving' } },
        Serving: {
          tags: 'serving',
          invoke: {
            id: 'timerWriter',
            systemId: 'timer-writer',
            src: 'timerWriter',
            onError: { actions: { type: 'tellTimersLost', params: ({ event }) => ({ why: reasonOf({ event }) }) } },
          },
          on: {
            'daemon.started': {
              actions: [
                { type: 'tellStarted', params: fact },
                { type: 'toCredential', params: fact },
              ],
            },
            'daemon.quiesced': { target: 'Binding', actions: { type: 'tellQuiesced', params: fact } },
          },
        },
      },
      on: {
        'broker.disconnected': outage,
        'broker.closed': outage,
        'broker.reconnected': { guard: resident, actions: { type: 'toWatch', params: fact } },
        'credential.expired': {
          guard: resident,
          actions: [
            { type: 'toWatch', params: fact },
            { type: 'toCredential', params: fact },
          ],
        },
        /** The daemon has everything on the old connection: it begins again on the new one. */
        'connection.replaced': {
          actions: [
            { type: 'keepConnection', params: fact },
            { type: 'toWatch', params: fact },
            { type: 'toDaemon', params: { type: 'connection.replaced' } },
          ],
        },
        'credential.lapsed': { actions: { type: 'toDaemon', params: fact } },
        'broker.gone': gone,
        'broker.past-backstop': gone,
        'liveness.lost': { actions: { type: 'tellLivenessLost', params: fact } },
        'connection.lost-track': {
          actions: { type: 'stopDaemon', params: ({ event }) => ({ signal: event.why }) },
        },
      },
    },
    Ended: { type: 'final' },
  },
  output: ({ context }) => ({ end: context.end, message: context.message }),
});
