/**
 * launcher: one `cotal up`, from the lock on its root to the reason it ended.
 *
 *   U1  it says healthy only when every child was seen to serve and has not ended since, and says so of nothing else
 *   U4  whatever happens while it stops, the stop in flight is waited for: ours to its end, somebody else's as long as one takes
 *   U5  a signal and a broker that exits run the shared stop: delivery, manager, broker, one after the other
 *   U6  a broker and children that run already are adopted; what is missing is started
 *
 * What `up` keeps is data: `children`, in the order of their start. In open mode there are none. A detached `up` ends when
 * each of them has said how it is, and leaves them running; a foreground one stays with them. A launch that failed stops
 * what this very run had started, and nothing else.
 */
import type { ChildName } from './child.facts.ts';
import { deafToLateFailures, ends, fact, failuresOf } from './effects.ts';
import type { LauncherContext, LauncherEnd, Standing } from './launcher.facts.ts';
import { launcher } from './launcher.setup.ts';
import type { StopInput } from './stop.machine.ts';

const step = <const S extends string>(id: S, target: string) =>
  ({ invoke: { id, src: id, ...ends }, on: { 'step.done': target } }) as const;
const ended = (end: LauncherEnd, message: string) => ({ type: 'keepEnd', params: { end, message } }) as const;
const endedBy = (end: LauncherEnd) =>
  ({
    type: 'keepEnd',
    params: ({ event }: { event: { message: string } }) => ({ end, message: event.message }),
  }) as const;
const stands = (standing: Standing) =>
  ({
    type: 'keepStanding',
    params: ({ event }: { event: { name: ChildName } }) => ({ name: event.name, standing }),
  }) as const;
const brokerIsOurs = { type: 'keepOurs', params: { what: 'broker' } } as const;
const left = [stands('unbound'), { type: 'tellLeft', params: fact }] as const;
const signalled = { type: 'tellStopping', params: fact } as const;
const stopped = { type: 'tellStop', params: fact } as const;
const target = ({ context }: { context: LauncherContext }): StopInput => ({ target: context.targets[0] ?? 'broker' });
const stopTarget = { id: 'stop', src: 'stop', input: target, ...ends } as const;
const stopEnds = [
  {
    guard: { type: 'isLeft', params: fact },
    target: 'Next',
    actions: [stopped, { type: 'keepFailedStop', params: fact }, 'dropTarget'],
  },
  { target: 'Next', actions: [stopped, 'dropTarget'] },
] as const;

export const launcherMachine = launcher.createMachine({
  id: 'launcher',
  context: ({ input }) => ({
    ...input,
    brokerPid: 0,
    standing: {},
    ours: [],
    targets: [],
    end: 'launched',
    message: '',
    help: '',
  }),
  initial: 'Preparing',
  on: { ...deafToLateFailures },
  states: {
    Preparing: {
      initial: 'Locking',
      states: {
        Locking: {
          invoke: { id: 'lockRoot', src: 'lockRoot', ...ends },
          on: {
            'lock.taken': 'Planning',
            'lock.held': {
              target: '#launcher.Ended',
              actions: {
                type: 'keepEnd',
                params: ({ event: { pid } }) => ({
                  end: 'refused',
                  message: `another "cotal up" (process ${pid}) is at work on this root`,
                  help: 'Nothing was changed. Use that one, or stop it first with "cotal down".',
                }),
              },
            },
          },
        },
        Planning: step('plan', 'FindingBroker'),
        FindingBroker: {
          invoke: { id: 'findBroker', src: 'findBroker', ...ends },
          on: {
            'broker.running': { target: 'Provisioning', actions: { type: 'keepBroker', params: fact } },
            'broker.absent': { target: 'StartingBroker', actions: brokerIsOurs },
          },
        },
        StartingBroker: {
          invoke: { id: 'startBroker', src: 'startBroker', ...ends },
          on: {
            'broker.started': { target: 'Provisioning', actions: { type: 'keepBroker', params: fact } },
            /** Somebody else's start was quicker: it is adopted. */
            'broker.running': {
              target: 'Provisioning',
              actions: [
                { type: 'keepBroker', params: fact },
                { type: 'forgetOurs', params: { what: 'broker' } },
              ],
            },
          },
        },
        Provisioning: step('provision', 'Crediting'),
        Crediting: step('prepareCredentials', 'Recording'),
        Recording: step('recordMesh', '#launcher.Running'),
      },
      on: {
        'up.refused': {
          target: 'Stopping',
          actions: [
            { type: 'keepEnd', params: ({ event: { message, help } }) => ({ end: 'refused', message, help }) },
            'stopOurs',
          ],
        },
        'effect.failed': { target: 'Stopping', actions: [endedBy('failed'), 'stopOurs'] },
        'stop.requested': {
          target: 'Stopping',
          actions: [signalled, ended('stopped', 'asked to stop'), 'stopOurs'],
        },
      },
    },

    Running: {
      entry: 'startChildren',
      exit: 'leaveChildren',
      invoke: {
        id: 'watchBroker',
        src: 'watchBroker',
        input: ({ context }) => ({ pid: context.brokerPid }),
        onError: { actions: 'faulted' },
      },
      initial: 'Launching',
      states: {
        Launching: {
          always: { guard: 'hasAllTold', target: 'Settled' },
          initial: 'Waiting',
          states: {
            Waiting: { on: { 'child.lost': { target: 'Relaunching', actions: stands('lost') } } },
            /** One that served has ended before the others had told: its replacement is waited for, but not for ever. */
            Relaunching: { after: { relaunchPatience: 'Late' } },
            Late: { always: { guard: 'hasEachTold', target: '#launcher.Running.Settled' } },
          },
        },
        Settled: {
          entry: { type: 'tellUp', params: ({ context }) => ({ standing: context.standing }) },
          always: [
            { guard: 'isForeground', target: 'Up' },
            {
              guard: 'isAllServing',
              target: '#launcher.Unlocking',
              actions: ended('launched', 'everything serves'),
            },
            { target: '#launcher.Unlocking', actions: ended('unbound', 'something runs without serving') },
          ],
        },
        Up: {
          initial: 'Judging',
          states: {
            Judging: { always: [{ guard: 'isAllServing', target: 'Healthy' }, { target: 'Impaired' }] },
            Healthy: { tags: 'healthy' },
            Impaired: {},
          },
          on: {
            'child.serving': { target: '.Judging', actions: stands('serving') },
            'child.lost': { target: '.Judging', actions: stands('lost') },
            'child.left': { target: '.Judging', actions: left },
            'child.unbound': {
              target: '.Judging',
              actions: [stands('unbound'), { type: 'tellUnbound', params: fact }],
            },
            'child.stopped': {
              target: '.Judging',
              actions: [stands('stopped'), { type: 'tellChildStopped', params: fact }],
            },
          },
        },
      },
      on: {
        ...failuresOf('child'),
        'child.spawned': {
          actions: { type: 'keepOurs', params: ({ event }) => ({ what: event.name }) },
        },
        'child.serving': { actions: stands('serving') },
        'child.lost': { actions: stands('lost') },
        'child.left': { actions: left },
        'child.unbound': { actions: [stands('unbound'), { type: 'tellUnbound', params: fact }] },
        'child.stopped': { actions: [stands('stopped'), { type: 'tellChildStopped', params: fact }] },
        'child.failed': {
          target: 'Stopping',
          actions: [
            { type: 'forgetOurs', params: ({ event }) => ({ what: event.name }) },
            {
              type: 'keepEnd',
              params: ({ event: { name, reason } }) => ({
                end: 'failed',
                message: `${name} does not serve: ${reason}`,
              }),
            },
            'stopOurs',
          ],
        },
        'effect.failed': { target: 'Stopping', actions: [endedBy('failed'), 'stopOurs'] },
        'broker.exited': [
          {
            guard: { type: 'isWanted', params: fact },
            target: 'Stopping',
            actions: [
              { type: 'tellBrokerExited', params: fact },
              ended('stopped', 'the broker was stopped'),
              'stopAll',
            ],
          },
          {
            target: 'Stopping',
            actions: [
              { type: 'tellBrokerExited', params: fact },
              {
                type: 'keepEnd',
                params: ({ event }) => ({ end: 'broker-exited', message: `nats-server exited (${event.cause})` }),
              },
              'stopAll',
            ],
          },
        ],
        'stop.requested': [
          {
            guard: 'isForeground',
            target: 'Stopping',
            actions: [signalled, ended('stopped', 'asked to stop'), 'stopAll'],
          },
          { target: 'Stopping', actions: [signalled, ended('stopped', 'asked to stop'), 'stopOurs'] },
        ],
      },
    },

    /** What happens meanwhile changes nothing: a second signal, and a broker that ends by itself. */
    Stopping: {
      initial: 'Next',
      states: {
        Next: { always: [{ guard: 'isAllStopped', target: '#launcher.Unlocking' }, { target: 'Asking' }] },
        Asking: {
          invoke: stopTarget,
          on: { 'stop.ended': [{ guard: { type: 'isUnderWay', params: fact }, target: 'Resting' }, ...stopEnds] },
        },
        /** Somebody else's stop of it ends within the bounds of a stop, or its holder is not at work: suspended, for one. */
        Resting: {
          invoke: { id: 'awaitTurn', src: 'awaitTurn', input: target, onError: { actions: 'faulted' } },
          after: { turnPatience: 'AskingLast' },
          on: { 'turn.free': 'Asking' },
        },
        AskingLast: { invoke: stopTarget, on: { 'stop.ended': stopEnds } },
      },
      on: { 'effect.failed': { target: '.Next', actions: [endedBy('failed'), 'dropTarget'] } },
    },

    Unlocking: {
      invoke: { id: 'unlockRoot', src: 'unlockRoot', ...ends },
      on: { 'lock.released': 'Ended', 'effect.failed': 'Ended' },
    },

    Ended: { type: 'final' },
  },
  output: ({ context: { end, message, help } }) => ({ end, message, help }),
});
