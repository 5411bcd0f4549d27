import type { ContextFrom } from 'xstate';
import type { brokerWatchMachine } from '../../../src/machines/broker-watch.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type WatchStep = Step<ContextFrom<typeof brokerWatchMachine>>;
const isOurs = ({ before, fact }: WatchStep) => fact.connection === before.context.connection;
const isOver = ({ after }: WatchStep) => after.is('Gone') || after.is('PastBackstop');
const leftOf = ({ fact }: WatchStep) => fact.elapsedMs - fact.stalledMs;

export const promises: readonly PathPromise<ContextFrom<typeof brokerWatchMachine>>[] = [
  {
    clause: 'B1',
    says: 'nothing is ever asked of the broker: the only effects are measures of our own time',
    when: ({ effects }) => effects.some(({ kind }) => kind === 'start'),
    holds: ({ effects }) =>
      effects.every((effect) => effect.kind !== 'start' || /^measureFor(Window|Backstop)$/.test(effect.id)) ||
      'something else was started',
  },
  {
    clause: 'B2',
    says: 'it is gone exactly when the time away, less our own stalls, has reached the window',
    when: (step) => step.heard('window.measured'),
    holds: (step) => {
      const gone = leftOf(step) >= step.before.context.windowMs;
      return (
        (step.after.is('Gone') === gone && (step.reported('broker.gone') !== undefined) === gone) ||
        'the window says otherwise'
      );
    },
  },
  {
    clause: 'B2',
    says: 'where it is not, what is left of the window is waited for',
    when: (step) => step.heard('window.measured') && !isOver(step),
    holds: (step) =>
      (step.armed('window') && step.after.context.windowWaitMs === step.before.context.windowMs - leftOf(step)) ||
      'another time is waited for',
  },
  {
    clause: 'B3',
    says: 'it is past the backstop by the clock alone, whatever stalled',
    when: (step) => step.heard('backstop.measured'),
    holds: (step) => {
      const past = step.fact.elapsedMs >= step.before.context.backstopMs;
      return (
        (step.after.is('PastBackstop') === past && (step.reported('broker.past-backstop') !== undefined) === past) ||
        'the backstop says otherwise'
      );
    },
  },
  {
    clause: 'B3',
    says: 'where it is not, what is left of the backstop is waited for',
    when: (step) => step.heard('backstop.measured') && !isOver(step),
    holds: (step) =>
      (step.armed('backstop') &&
        step.after.context.backstopWaitMs === step.before.context.backstopMs - step.fact.elapsedMs) ||
      'another time is waited for',
  },
  {
    clause: 'B2',
    says: 'a time that is up is measured before anything is concluded',
    when: (step) => step.elapsed !== undefined && !step.ignored,
    holds: (step) => {
      const measure = step.elapsed === 'window' ? 'measureForWindow' : 'measureForBackstop';
      return step.started(measure)?.since === step.before.context.since || 'it is not measured';
    },
  },
  {
    clause: 'B2',
    says: 'only a measure ends the watch',
    when: isOver,
    holds: ({ before, from }) => (before.is('Disconnected') && from !== undefined ? true : 'it ended by itself'),
  },
  {
    clause: 'B2',
    says: 'a measure that fails is waited for again',
    when: (step) => step.before.is('Disconnected') && step.heard('effect.failed'),
    holds: (step) => step.armed(step.from === 'measureForWindow' ? 'window' : 'backstop') || 'nobody measures any more',
  },
  {
    clause: 'B4',
    says: 'a disconnect starts both clocks, from its own time',
    when: (step) => step.before.is('Connected') && step.heard('broker.disconnected', 'broker.closed') && isOurs(step),
    holds: ({ after, fact, armed }) =>
      (after.is('Disconnected') && after.context.since === fact.at && armed('window') && armed('backstop')) ||
      'the clocks do not run',
  },
  {
    clause: 'B4',
    says: 'a second disconnect in an outage starts no clock anew',
    when: (step) => step.before.is('Disconnected') && step.heard('broker.disconnected', 'broker.closed'),
    holds: ({ ignored }) => ignored || 'the outage began again',
  },
  {
    clause: 'B4',
    says: 'a reconnect stops the clock',
    when: (step) => step.before.is('Disconnected') && step.heard('broker.reconnected') && isOurs(step),
    holds: ({ after }) => after.is('Connected') || 'it runs on',
  },
  {
    clause: 'B5',
    says: 'an expired credential stops the clock: from then on only a new connection is news',
    when: (step) => step.heard('credential.expired') && isOurs(step) && step.before.status === 'active',
    holds: ({ after }) => after.is('Suspended') || 'the clock runs on',
  },
  {
    clause: 'B5',
    says: 'a reconnect, a disconnect or a close never ends the suspension',
    when: (step) =>
      step.before.is('Suspended') && step.heard('broker.reconnected', 'broker.disconnected', 'broker.closed'),
    holds: ({ ignored }) => ignored || 'it is over',
  },
  {
    clause: 'B6',
    says: 'news of a connection that was replaced changes nothing',
    when: (step) =>
      step.heard('broker.disconnected', 'broker.reconnected', 'broker.closed', 'credential.expired') && !isOurs(step),
    holds: ({ ignored }) => ignored || 'it is believed',
  },
  {
    clause: 'B6',
    says: 'a new connection is the one that counts; where its dial has not succeeded, both clocks run from then',
    when: (step) => step.heard('connection.replaced') && step.before.status === 'active',
    holds: ({ after, fact, armed }) => {
      if (after.context.connection !== fact.connection) return 'the old one still counts';
      if (fact.connected) return after.is('Connected') || 'it is not connected';
      const runs = after.is('Disconnected') && armed('window') && armed('backstop') && after.context.since === fact.at;
      return runs || 'no clock runs';
    },
  },
  {
    clause: 'B8',
    says: 'while it is away, each clock is either armed or being measured: never a silent zombie',
    when: ({ after }) => after.is('Disconnected'),
    holds: ({ after }) =>
      (after.is('Disconnected.window.Measuring') === after.running('measureForWindow') &&
        after.is('Disconnected.backstop.Measuring') === after.running('measureForBackstop')) ||
      'a clock stands still',
  },
  {
    clause: 'B8',
    says: 'each clock that is waited for was armed',
    when: ({ before, after }) =>
      (after.is('Disconnected.window.Waiting') && !before.is('Disconnected.window.Waiting')) ||
      (after.is('Disconnected.backstop.Waiting') && !before.is('Disconnected.backstop.Waiting')),
    holds: (step) =>
      ((step.before.is('Disconnected.window.Waiting') ||
        !step.after.is('Disconnected.window.Waiting') ||
        step.armed('window')) &&
        (step.before.is('Disconnected.backstop.Waiting') ||
          !step.after.is('Disconnected.backstop.Waiting') ||
          step.armed('backstop'))) ||
      'a clock does not run',
  },
  {
    clause: 'B1',
    says: 'it begins connected: it is started when there is a connection',
    when: ({ before }) => !before.begun,
    holds: ({ after }) => after.is('Connected') || 'it begins with an outage',
  },
  {
    clause: 'healthy',
    says: 'it is healthy exactly while it is connected',
    when: ({ after }) => after.status === 'active',
    holds: ({ after }) => after.tagged('healthy') === after.is('Connected') || 'the tag lies',
  },
];
