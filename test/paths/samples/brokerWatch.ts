import { brokerWatchMachine } from '../../../src/machines/broker-watch.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';

const windowAt = (elapsedMs: number, stalledMs: number) => ({ type: 'window.measured', elapsedMs, stalledMs }) as const;
const backstopAt = (elapsedMs: number, stalledMs: number) =>
  ({ type: 'backstop.measured', elapsedMs, stalledMs }) as const;
/** Window 15 s, backstop 60 s: what is gone, what is a stall of ours, what is past the backstop in spite of it. */
export const samples = samplesOf(brokerWatchMachine, {
  inputs: { usual: { connection: 1, windowMs: 15_000, backstopMs: 60_000 } },
  events: [
    { type: 'broker.disconnected', connection: 1, at: 100 },
    { type: 'broker.disconnected', connection: 2, at: 100 },
    { type: 'broker.closed', connection: 1, at: 100 },
    { type: 'broker.closed', connection: 2, at: 100 },
    { type: 'broker.reconnected', connection: 1 },
    { type: 'broker.reconnected', connection: 2 },
    { type: 'credential.expired', connection: 1, at: 100 },
    { type: 'credential.expired', connection: 2, at: 100 },
    { type: 'connection.replaced', connection: 2, connected: true, at: 100 },
    { type: 'connection.replaced', connection: 2, connected: false, at: 100 },
  ],
  answers: {
    measureForWindow: [windowAt(14_999, 0), windowAt(15_000, 0), windowAt(20_000, 6_000)],
    measureForBackstop: [backstopAt(59_999, 0), backstopAt(60_000, 59_000)],
  },
  clamp: ({ connection }) => ({ connection }),
  goals: ['Connected'],
  bounded: {
    Connected: 'the connection, whose events end it',
    Suspended: 'the credential, which ends in renewal or past its own backstop',
  },
  happy: ['Connected'],
  promises: [
    {
      clause: 'B1',
      says: 'it begins connected',
      when: ({ before }) => !before.begun,
      holds: ({ after }) => after.is('Connected') || 'it begins elsewhere',
    },
    {
      clause: 'B2',
      says: 'gone is said when the outage less our own stalls has reached the window, and only then',
      when: (step) => step.heard('window.measured'),
      holds: ({ fact, after, reported, before }) => {
        const isGone = fact.elapsedMs - fact.stalledMs >= before.context.windowMs;
        return (
          (after.is('Gone') === isGone && (reported('broker.gone') !== undefined) === isGone) || 'it is said wrongly'
        );
      },
    },
    {
      clause: 'B2',
      says: 'what is left of the window is waited for before it is measured again',
      when: (step) => step.heard('window.measured') && !step.after.is('Gone'),
      holds: ({ fact, before, after, armed }) =>
        (armed('window') &&
          after.context.windowWaitMs === before.context.windowMs - (fact.elapsedMs - fact.stalledMs)) ||
        'it is not',
    },
    {
      clause: 'B3',
      says: 'past the backstop is said by the clock alone, however long we were stalled',
      when: (step) => step.heard('backstop.measured'),
      holds: ({ fact, after, reported, before }) => {
        const isPast = fact.elapsedMs >= before.context.backstopMs;
        const told = reported('broker.past-backstop') !== undefined;
        return (after.is('PastBackstop') === isPast && told === isPast) || 'it is said wrongly';
      },
    },
    {
      clause: 'B3',
      says: 'what is left of the backstop is waited for before it is measured again',
      when: (step) => step.heard('backstop.measured') && !step.after.is('PastBackstop'),
      holds: ({ fact, before, after, armed }) =>
        (armed('backstop') && after.context.backstopWaitMs === before.context.backstopMs - fact.elapsedMs) ||
        'it is not',
    },
    {
      clause: 'B3',
      says: 'neither verdict is given without a measurement',
      when: ({ after }) => after.status === 'done',
      holds: (step) => step.heard('window.measured', 'backstop.measured') || `it is given on ${step.fact.type}`,
    },
    {
      clause: 'B2',
      says: 'a clock that elapsed is followed by a measurement of the outage since its disconnect',
      when: (step) => step.elapsed === 'window' || step.elapsed === 'backstop',
      holds: (step) => {
        const asked = step.started(step.elapsed === 'window' ? 'measureForWindow' : 'measureForBackstop');
        return asked?.since === step.before.context.since || 'it is not measured';
      },
    },
    {
      clause: 'B2',
      says: 'a measurement that fails is made again, and the other clock does not notice',
      when: (step) => step.before.is('Disconnected') && step.heard('effect.failed'),
      holds: ({ from, armed, stopped }) => {
        const [mine, other] = from === 'measureForWindow' ? ['window', 'Backstop'] : ['backstop', 'Window'];
        return (armed(mine ?? '') && !stopped(`measureFor${other}`)) || 'a clock has stopped';
      },
    },
    {
      clause: 'B4',
      says: 'a reconnect of the resident connection stops both clocks',
      when: ({ before, fact }) =>
        before.is('Disconnected') &&
        fact.type === 'broker.reconnected' &&
        fact.connection === before.context.connection,
      holds: ({ after }) =>
        (after.is('Connected') && !after.running('measureForWindow') && !after.running('measureForBackstop')) ||
        'a clock runs on',
    },
    {
      clause: 'B5',
      says: 'an expired credential suspends the watch, and a reconnect alone does not resume it',
      when: ({ before, fact }) =>
        (fact.type === 'credential.expired' && fact.connection === before.context.connection) ||
        (before.is('Suspended') && fact.type !== 'connection.replaced'),
      holds: ({ after }) => after.is('Suspended') || 'it counts against the broker',
    },
    {
      clause: 'B6',
      says: 'events of a connection that was replaced change nothing',
      when: ({ before, fact }) =>
        before.begun &&
        fact.type !== 'connection.replaced' &&
        'connection' in fact &&
        fact.connection !== before.context.connection,
      holds: ({ ignored }) => ignored || 'they are heard',
    },
    {
      clause: 'C7',
      says: 'a new resident connection is watched from its beginning: connected, or with its clock started',
      when: ({ fact }) => fact.type === 'connection.replaced',
      holds: ({ after, fact, armed }) => {
        if (after.context.connection !== fact.connection) return 'the old one is watched';
        if (fact.connected) return after.is('Connected') || 'it is not taken for connected';
        const clock = after.is('Disconnected') && armed('window') && armed('backstop');
        return (clock && after.context.since === fact.at) || 'its clock does not run';
      },
    },
    {
      clause: 'B8',
      says: 'a disconnect, and a close for good, starts both clocks whole, from when it happened',
      when: ({ before, fact }) =>
        before.is('Connected') &&
        ['broker.disconnected', 'broker.closed'].includes(fact.type) &&
        fact.connection === before.context.connection,
      holds: ({ after, fact, armed }) => {
        const { since, windowWaitMs, backstopWaitMs, windowMs, backstopMs } = after.context;
        const whole = since === fact.at && windowWaitMs === windowMs && backstopWaitMs === backstopMs;
        return (
          (after.is('Disconnected') && armed('window') && armed('backstop') && whole) || 'the clocks are not started'
        );
      },
    },
    {
      clause: 'B4',
      says: 'the verdict on one clock does not wait for the other, and nothing else ends an outage',
      when: ({ before, after }) => before.is('Disconnected') && !after.is('Disconnected'),
      holds: ({ fact }) =>
        [
          'window.measured',
          'backstop.measured',
          'broker.reconnected',
          'credential.expired',
          'connection.replaced',
        ].includes(fact.type) || `it ends on ${fact.type}`,
    },
  ],
});
