import type { ContextFrom } from 'xstate';
import { systemMachine } from '../../../src/machines/system.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type SystemStep = Step<ContextFrom<typeof systemMachine>>;

const lane = { window: 256, removalBatch: 64, retries: 10, backOffMs: 250, backOffLimitMs: 30_000 };
const connection = ['broker.disconnected', 'broker.closed', 'broker.reconnected', 'credential.expired'];
const isResident = ({ before, fact }: SystemStep) => fact.connection === before.context.connection;
const sentTo = ({ effects }: SystemStep, to: string) =>
  effects.flatMap((effect) => (effect.kind === 'send' && effect.to === to ? [effect.event] : []));
const told = ({ effects }: SystemStep, action: string) =>
  effects.some((effect) => effect.kind === 'act' && effect.action === action);

export const samples = samplesOf(systemMachine, {
  inputs: {
    only: {
      daemon: {
        lease: { holder: 'd1', incarnation: 'i1', standby: false },
        nameWaitMs: 60_000,
        reader: { laneLimit: 100, placingLimit: 10, restingLimit: 10, lane, inventory: { room: 100 } },
      },
      brokerWatch: { connection: 1, windowMs: 15_000, backstopMs: 60_000 },
      credential: { connection: 1, backstopMs: 60_000 },
    },
  },
  events: [
    { type: 'daemon.connected' },
    { type: 'daemon.serving' },
    { type: 'daemon.started' },
    { type: 'daemon.quiesced', why: 'a renewal was not answered' },
    { type: 'daemon.ended', end: 'stopped', message: 'asked to stop' },
    { type: 'daemon.ended', end: 'faulted', message: 'a fault' },
    ...[1, 2].flatMap(
      (number) =>
        [
          { type: 'broker.disconnected', connection: number, at: 100 },
          { type: 'broker.closed', connection: number, at: 100 },
          { type: 'broker.reconnected', connection: number },
          { type: 'credential.expired', connection: number, at: 100 },
        ] as const,
    ),
    { type: 'connection.replaced', connection: 2, connected: true, at: 200 },
    { type: 'connection.replaced', connection: 2, connected: false, at: 200 },
    { type: 'credential.lapsed' },
    { type: 'broker.gone' },
    { type: 'broker.past-backstop' },
    { type: 'stop.requested', signal: 'SIGTERM' },
    { type: 'liveness.lost', why: 'the subscription ended' },
  ],
  answers: { daemon: [undefined] },
  clamp: ({ end, connection: resident }) => ({ end, connection: resident }),
  happy: ['Starting', 'Watching.Binding', 'Watching.Serving', 'Ended'],
  promises: [
    {
      clause: 'B1',
      says: 'the broker is watched from when there is a connection, and what the connection says reaches the watch',
      when: (step) =>
        (step.before.is('Starting') && step.heard('daemon.connected')) ||
        (step.before.is('Watching') && step.heard(...connection) && isResident(step)),
      holds: (step) =>
        step.heard('daemon.connected')
          ? (step.after.is('Watching.Binding') &&
              step.after.running('brokerWatch') &&
              step.after.running('credential') &&
              step.after.running('hearConnection')) ||
            'nobody watches'
          : sentTo(step, 'brokerWatch')[0] === step.fact || 'it is lost',
    },
    {
      clause: 'L3',
      says: 'a connection that is lost, or closed for good, is told to the daemon as well',
      when: (step) => step.before.is('Watching') && step.heard(...connection) && isResident(step),
      holds: (step) => {
        const isOutage = step.heard('broker.disconnected', 'broker.closed');
        const news = sentTo(step, 'daemon').map(({ type }) => type);
        return JSON.stringify(news) === JSON.stringify(isOutage ? ['broker.disconnected'] : []) || 'it is told wrongly';
      },
    },
    {
      clause: 'B2',
      says: 'the verdict of the watch is told, and handed to the daemon',
      when: (step) => step.before.is('Watching') && step.heard('broker.gone', 'broker.past-backstop'),
      holds: (step) => (told(step, 'tellGone') && sentTo(step, 'daemon')[0] === step.fact) || 'the daemon lives on',
    },
    {
      clause: 'B1',
      says: 'a watch, a renewal, or a listener, that fails stops the daemon, with the reason',
      when: (step) =>
        ['brokerWatch', 'credential', 'hearConnection'].includes(String(step.from)) && step.heard('effect.failed'),
      holds: (step) => {
        const [stop] = sentTo(step, 'daemon');
        return (stop?.type === 'stop.requested' && stop.signal === step.fact.message) || 'it goes on unwatched';
      },
    },
    {
      clause: 'B5',
      says: 'an expired credential is told to the watch and to the renewal, and only to them',
      when: (step) => step.before.is('Watching') && step.heard('credential.expired') && isResident(step),
      holds: (step) =>
        (sentTo(step, 'brokerWatch')[0] === step.fact &&
          sentTo(step, 'credential')[0] === step.fact &&
          sentTo(step, 'daemon').length === 0) ||
        'somebody does not hear of it',
    },
    {
      clause: 'B6',
      says: 'what is told of a connection that is not the resident one reaches nobody',
      when: (step) => step.before.is('Watching') && step.heard(...connection) && !isResident(step),
      holds: ({ ignored }) => ignored || 'it is heard',
    },
    {
      clause: 'C7',
      says: 'a new resident connection is watched, and the daemon begins again on it',
      when: (step) => step.before.is('Watching') && step.heard('connection.replaced'),
      holds: (step) =>
        (step.after.context.connection === step.fact.connection &&
          sentTo(step, 'brokerWatch')[0] === step.fact &&
          sentTo(step, 'daemon')[0]?.type === 'connection.replaced') ||
        'the old one is held on to',
    },
    {
      clause: 'B5',
      says: 'a credential that lapsed ends the daemon',
      when: (step) => step.before.is('Watching') && step.heard('credential.lapsed'),
      holds: (step) => sentTo(step, 'daemon')[0]?.type === 'credential.lapsed' || 'it goes on',
    },
    {
      clause: 'C4',
      says: 'the complete start-up is told to the renewal, which takes reloads from then on',
      when: (step) => step.before.is('Watching.Serving') && step.heard('daemon.started'),
      holds: (step) => sentTo(step, 'credential')[0]?.type === 'daemon.started' || 'it is not told',
    },
    {
      clause: 'U1',
      says: 'serving is said while the daemon serves, and not when it is in doubt',
      when: (step) =>
        step.before.is('Watching') && (step.heard('daemon.serving', 'daemon.quiesced') || step.after.tagged('serving')),
      holds: (step) => {
        if (step.heard('daemon.serving')) return step.after.tagged('serving') || 'it is not said';
        if (step.heard('daemon.quiesced')) return !step.after.tagged('serving') || 'it is said in doubt';
        return step.before.tagged('serving') || `it is said on ${step.fact.type}`;
      },
    },
    {
      clause: 'U1',
      says: 'what the daemon says about its service is told',
      when: (step) => step.before.is('Watching.Serving') && step.heard('daemon.started', 'daemon.quiesced'),
      holds: (step) =>
        told(step, step.heard('daemon.started') ? 'tellStarted' : 'tellQuiesced') || 'nobody hears of it',
    },
    {
      clause: 'D4',
      says: 'a stop reaches the daemon whenever it comes',
      when: (step) => step.heard('stop.requested'),
      holds: (step) => {
        const [stop] = sentTo(step, 'daemon');
        return (stop?.type === 'stop.requested' && stop.signal === step.fact.signal) || 'it is lost';
      },
    },
    {
      clause: 'D3',
      says: 'the system ends when its daemon has ended, and only then, with the daemon’s reason',
      when: (step) => step.from === 'daemon' || step.after.status === 'done',
      holds: (step) => {
        if (step.from !== 'daemon' || !step.before.running('daemon'))
          return step.after.status === 'active' || 'it ends early';
        if (!step.after.is('Ended')) return 'it lives without a daemon';
        if (!step.heard('effect.failed'))
          return step.after.context.end === step.before.context.end || 'the reason is another one';
        const { end, message } = step.after.context;
        return (end === 'faulted' && message.includes(String(step.fact.message))) || 'it does not say why';
      },
    },
    {
      clause: 'D3',
      says: 'the daemon’s reason is kept',
      when: (step) => step.heard('daemon.ended'),
      holds: ({ after, fact }) =>
        (after.context.end === fact.end && after.context.message === fact.message) || 'it is forgotten',
    },
    {
      clause: 'U1',
      says: 'a liveness that nobody answers any more is told, and takes nothing else down',
      when: (step) =>
        step.before.is('Watching') &&
        (step.heard('liveness.lost') || (step.from === 'answerLiveness' && step.heard('effect.failed'))),
      holds: (step) =>
        (told(step, 'tellLivenessLost') && sentTo(step, 'daemon').length === 0 && step.after.is('Watching')) ||
        'it is passed over, or takes something down',
    },
    {
      clause: 'D1',
      says: 'the daemon is started first',
      when: ({ before }) => !before.begun,
      holds: (step) => (step.after.is('Starting') && step.started('daemon') !== undefined) || 'it is not',
    },
    {
      clause: 'T4',
      says: 'the timer writer works while the daemon serves, and only then',
      when: ({ before, after }) => before.is('Watching.Serving') || after.is('Watching.Serving'),
      holds: ({ before, after, from }) =>
        after.running('timerWriter') === (after.is('Watching.Serving') && from !== 'timerWriter') ||
        (before.is('Watching.Serving') && after.is('Watching.Serving')) ||
        'it does not',
    },
    {
      clause: 'T4',
      says: 'the end of the timer writer is told, and changes nothing else',
      when: (step) => step.from === 'timerWriter' && step.heard('effect.failed'),
      holds: (step) =>
        (told(step, 'tellTimersLost') && step.before.is('Watching.Serving') && step.after.is('Watching.Serving')) ||
        'it is not told, or takes something down',
    },
  ],
});
