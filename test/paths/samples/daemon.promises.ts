/** What the daemon promises on every edge. Longer than 300 lines: one list, read beside the chart. */
import type { ContextFrom } from 'xstate';
import type { daemonMachine } from '../../../src/machines/daemon.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type DaemonStep = Step<ContextFrom<typeof daemonMachine>>;

/** The order of the start: what runs when the one before it is done. */
const order = [
  'findRoot',
  'readCredential',
  'findBroker',
  'reachBroker',
  'admitObserver',
  'openEndpoint',
  'armSignals',
  'lease',
];
const serving = ['registry', 'fanout', 'reader'];
const ends: Readonly<Record<string, string>> = {
  stopped: 'Stopped',
  'broker-gone': 'BrokerGone',
  'credential-lapsed': 'CredentialLapsed',
  faulted: 'Faulted',
};
/** The writer is open and the reader hears, with this very news. */
const stands = (step: DaemonStep) =>
  (step.before.is('Leased.Serving.Looping.Deaf') && step.heard('confirmations.bound')) ||
  (step.before.is('Leased.Serving.Looping.Hearing') && step.heard('fanout.opened'));
const told = ({ effects }: DaemonStep, action: string) =>
  effects.some((effect) => effect.kind === 'act' && effect.action === action);
const sent = ({ effects }: DaemonStep, to: string, type: string) =>
  effects.find((effect) => effect.kind === 'send' && effect.to === to && effect.event.type === type);
/** Why a daemon that is told this ends, when it is not ending already. */
const reasons: Readonly<Record<string, string>> = {
  'stop.requested': 'stopped',
  'broker.gone': 'broker-gone',
  'broker.past-backstop': 'broker-gone',
  'credential.lapsed': 'credential-lapsed',
  'effect.failed': 'faulted',
  'start.refused': 'refused',
  'name.unresolved': 'refused',
  'lease.refused': 'lease-refused',
  'lease.denied': 'lease-denied',
  'lease.taken': 'lease-taken',
};
const isEnding = ({ before }: DaemonStep) =>
  before.is('Leased.Draining') || before.is('Closing') || before.status !== 'active' || !before.begun;
/** A name without an address within the time that there is for it. */
const isWaitedFor = (step: DaemonStep) =>
  step.heard('name.unresolved') &&
  Number(step.fact.at) - (step.before.context.namelessSince ?? Number(step.fact.at)) < step.before.context.nameWaitMs;
/** The lease has ended with this very news. */
const isLeaseOver = (step: DaemonStep) =>
  step.heard('lease.refused', 'lease.denied', 'lease.taken') || (step.from === 'lease' && step.heard('effect.failed'));
const isReason = (step: DaemonStep) => {
  if (isWaitedFor(step)) return false;
  if (isEnding(step) || !(step.fact.type in reasons) || !step.heard(step.fact.type)) return false;
  return !step.fact.type.startsWith('lease.') || step.before.is('Leased');
};

export const promises: readonly PathPromise<ContextFrom<typeof daemonMachine>>[] = [
  {
    clause: 'D1',
    says: 'the start begins with the root, and each step begins when the one before it is done',
    when: (step) =>
      order.some((id) => step.started(id) !== undefined) || (step.before.is('Starting') && step.heard('step.done')),
    holds: (step) => {
      const n = order.findIndex((id) => step.started(id) !== undefined);
      if (step.elapsed === 'dialAgain') return order[n] === 'reachBroker' || 'another step begins again';
      const before = order[n - 1];
      return n === 0
        ? !step.before.begun || 'it begins anew'
        : (step.heard('step.done') && step.from === before) || `${order[n]} begins out of order`;
    },
  },
  {
    clause: 'D1',
    says: 'the connection is reported when it was opened, and only then',
    when: (step) =>
      step.reported('daemon.connected') !== undefined || (step.from === 'openEndpoint' && step.heard('step.done')),
    holds: (step) =>
      (step.from === 'openEndpoint' && step.heard('step.done') && step.reported('daemon.connected') !== undefined) ||
      `it is reported on ${step.fact.type}`,
  },
  {
    clause: 'D1',
    says: 'the record is written once the lease is held, and again after a doubt; the stores are opened after it',
    when: (step) =>
      step.started('writeRecord') !== undefined ||
      (step.heard('lease.held') && (step.before.is('Leased.Claiming') || step.before.is('Leased.Quiesced'))) ||
      (step.from === 'writeRecord' && step.heard('step.done')),
    holds: (step) =>
      (step.from === 'writeRecord' && step.heard('step.done')
        ? step.started('openStores') !== undefined
        : step.heard('lease.held') && step.started('writeRecord') !== undefined) || 'the order is another one',
  },
  {
    clause: 'D1',
    says: 'the loops stand when the stores are open; a broker that is silent is asked again',
    when: (step) => step.from === 'openStores' && step.heard('step.done', 'broker.silent'),
    holds: (step) =>
      (step.heard('step.done')
        ? serving.every((id) => step.started(id) !== undefined)
        : step.after.is('Leased.Preparing.Resting') && step.armed('askAgain')) || 'it does otherwise',
  },
  {
    clause: 'D1',
    says: 'the pause ends with the question',
    when: (step) => step.elapsed === 'askAgain',
    holds: (step) => step.started('openStores') !== undefined || 'nobody asks',
  },
  {
    clause: 'D6',
    says: 'a name without an address is told, and after a pause the broker is dialled again, within the time for it since the first one',
    when: (step) => step.before.is('Starting') && step.heard('name.unresolved') && isWaitedFor(step),
    holds: (step) => {
      const { nameless, namelessSince } = step.after.context;
      const counts = nameless === step.before.context.nameless + 1;
      const since = namelessSince === (step.before.context.namelessSince ?? step.fact.at);
      const waits = step.after.is('Starting.AwaitingName') && step.armed('dialAgain');
      return (counts && since && waits && told(step, 'tellNameless')) || 'it is not waited for';
    },
  },
  {
    clause: 'D6',
    says: 'the pause ends with the dial',
    when: (step) => step.elapsed === 'dialAgain' && step.before.is('Starting.AwaitingName'),
    holds: (step) => step.started('reachBroker') !== undefined || 'nobody dials',
  },
  {
    clause: 'K1',
    says: 'the rails are bound when the writer stands and the reader hears, and ready is declared after the rails',
    when: (step) =>
      step.started('rails') !== undefined ||
      sent(step, 'lease', 'service.ready') !== undefined ||
      stands(step) ||
      (step.before.is('Leased.Serving.Railed.Binding') && step.heard('rails.bound')),
    holds: (step) => {
      const declares = step.before.is('Leased.Serving.Railed.Binding') && step.heard('rails.bound');
      const isBound = (step.started('rails') !== undefined) === stands(step);
      return (
        (isBound && (sent(step, 'lease', 'service.ready') !== undefined) === declares) || 'the order is another one'
      );
    },
  },
  {
    clause: 'K1',
    says: 'the rails stop before anything else of the service does',
    when: (step) => step.stopped('rails'),
    holds: ({ effects }) => {
      const stops = effects.flatMap((effect) => (effect.kind === 'stop' ? [effect.id] : []));
      return (
        serving.every((id) => !stops.includes(id) || stops.indexOf('rails') < stops.indexOf(id)) || 'they stop later'
      );
    },
  },
  {
    clause: 'L1',
    says: 'serving is reported when the row says ready, started when the row is watched, and both only then',
    when: (step) =>
      step.reported('daemon.serving') !== undefined ||
      step.reported('daemon.started') !== undefined ||
      (step.before.is('Leased.Serving.Railed.Declaring') && step.heard('lease.ready')) ||
      (step.before.is('Leased.Serving.Railed.Ready') && step.heard('lease.watched')),
    holds: (step) => {
      const ready = step.before.is('Leased.Serving.Railed.Declaring') && step.heard('lease.ready');
      const watched = step.before.is('Leased.Serving.Railed.Ready') && step.heard('lease.watched');
      const isServing =
        (step.reported('daemon.serving') !== undefined) === ready && (!ready || step.after.tagged('serving'));
      const isStarted =
        (step.reported('daemon.started') !== undefined) === watched && (!watched || step.after.tagged('started'));
      return (isServing && isStarted) || 'it is reported wrongly';
    },
  },
  {
    clause: 'L3',
    says: 'a doubt stops every effect, and is reported with its reason',
    when: (step) => step.heard('lease.doubted') && step.before.is('Leased') && !isEnding(step),
    holds: (step) => {
      const running = [...serving, 'rails', 'openStores', 'writeRecord'].filter((id) => step.after.running(id));
      const why = step.reported('daemon.quiesced')?.why === step.fact.why;
      return (step.after.is('Leased.Quiesced') && running.length === 0 && why) || `it goes on: ${running.join()}`;
    },
  },
  {
    clause: 'L3',
    says: 'what is served has its stores closed when it ends, whatever the reason',
    when: ({ before, after }) => before.is('Leased.Serving') && !after.is('Leased.Serving'),
    holds: (step) => told(step, 'closeStores') || 'late effects could land',
  },
  {
    clause: 'L3',
    says: 'a connection that was lost or replaced is doubted by the lease first',
    when: (step) =>
      step.heard('broker.disconnected', 'connection.replaced') && step.before.is('Leased') && !isEnding(step),
    holds: (step) => sent(step, 'lease', 'doubt.raised') !== undefined || 'it is not told',
  },
  {
    clause: 'D2',
    says: 'a reason to end before the lease ends the start, and nothing is given back, because there is nothing',
    when: (step) => step.before.is('Starting') && (isReason(step) || step.after.is('Closing')),
    holds: (step) => (step.after.is('Closing') && !told(step, 'leaveRecord')) || 'it leaves a trace',
  },
  {
    clause: 'D3',
    says: 'every reason to end is kept, and what was refused or faulted says why',
    when: isReason,
    holds: ({ after, fact }) => {
      if (after.context.end !== reasons[fact.type]) return `it ends as ${after.context.end}`;
      const names = fact.message ?? fact.holder ?? fact.subject ?? '';
      return after.context.message.includes(String(names)) && after.context.message !== ''
        ? true
        : 'it does not say why';
    },
  },
  {
    clause: 'D3',
    says: 'a fault is told, and the lease is given back, unless it has ended before; the record was given up before it',
    when: (step) => isReason(step) && step.before.is('Leased') && !isLeaseOver(step),
    holds: (step) => {
      const isTold = !step.heard('effect.failed') || told(step, 'tellFault');
      const left = step.effects.findIndex((effect) => effect.kind === 'act' && effect.action === 'leaveRecord');
      const asked = step.effects.findIndex(
        (effect) => effect.kind === 'send' && effect.event.type === 'stop.requested',
      );
      const isOrdered = left !== -1 && left < asked;
      return (isTold && isOrdered && step.armed('releaseLimit')) || 'something stays behind';
    },
  },
  {
    clause: 'D3',
    says: 'before the lease a fault is told, too',
    when: (step) => step.before.is('Starting') && step.heard('effect.failed'),
    holds: (step) => (told(step, 'tellFault') && step.after.is('Closing')) || 'the start hangs',
  },
  {
    clause: 'D4',
    says: 'a stop has its line before anything else happens',
    when: (step) => isReason(step) && step.heard('stop.requested'),
    holds: (step) => {
      const line = step.effects.findIndex((effect) => effect.kind === 'act' && effect.action === 'tellStopping');
      const next = step.effects.findIndex(({ kind }) => kind === 'start');
      return (line !== -1 && (next === -1 || line < next)) || 'it ends without a line';
    },
  },
  {
    clause: 'D4',
    says: 'a lease that is over is sent nothing any more, and its daemon closes',
    when: (step) => isReason(step) && step.before.is('Leased') && isLeaseOver(step),
    holds: (step) => {
      const isTold = !step.heard('effect.failed') || told(step, 'tellFault');
      const isSilent = step.effects.every((effect) => effect.kind !== 'send' || effect.to !== 'lease');
      return (isTold && isSilent && step.after.is('Closing')) || 'it is asked for what it has not';
    },
  },
  {
    clause: 'D4',
    says: 'everything is closed when the lease is over, and when the time is up',
    when: (step) =>
      step.before.is('Leased.Draining') &&
      (step.elapsed === 'releaseLimit' || step.heard('lease.released') || isLeaseOver(step)),
    holds: (step) => (step.after.is('Closing') && step.started('closeAll') !== undefined) || 'it drains for ever',
  },
  {
    clause: 'D4',
    says: 'the lease runs until it is over',
    when: ({ before, after }) => after.is('Leased') && (!before.is('Leased') || before.running('lease')),
    holds: ({ after, from }) => after.running('lease') || from === 'lease' || 'nobody holds it',
  },
  {
    clause: 'D4',
    says: 'the end is reported once, with its reason, and is bounded',
    when: (step) =>
      step.after.status === 'done' || step.reported('daemon.ended') !== undefined || step.before.is('Closing'),
    holds: (step) => {
      const isOver = step.heard('all.closed', 'effect.failed') || step.elapsed === 'drainLimit';
      const report = step.reported('daemon.ended');
      if (!isOver) return (report === undefined && step.after.status === 'active') || 'it ends too early';
      const { end, message } = step.before.context;
      const state = ends[end] ?? 'Refused';
      return (report?.end === end && report.message === message && step.after.is(state)) || 'the reason is another one';
    },
  },
  {
    clause: 'D4',
    says: 'closing is bounded',
    when: ({ before, after }) => after.is('Closing') && !before.is('Closing'),
    holds: (step) => (step.armed('drainLimit') && step.started('closeAll') !== undefined) || 'it may take for ever',
  },
  {
    clause: 'R1',
    says: 'news for the reader and the registry reach them as long as they are there',
    when: (step) =>
      step.before.is('Leased.Serving') &&
      step.heard('members.owed', 'rows.changed', 'review.asked', 'membership.asked'),
    holds: (step) => {
      const to = step.fact.type === 'membership.asked' ? 'registry' : 'reader';
      const news = sent(step, to, step.fact.type);
      return (news?.kind === 'send' && news.event === step.fact) || 'they are lost';
    },
  },
  {
    clause: 'M1',
    says: 'stores that cannot be followed any more are a doubt: the service ends with the ready of its row, and begins anew',
    when: (step) =>
      (step.before.is('Leased.Serving') || step.before.is('Leased.Preparing')) && step.heard('stores.lost'),
    holds: (step) => {
      const doubt = sent(step, 'lease', 'doubt.raised');
      return (doubt?.kind === 'send' && doubt.event.why === step.fact.why) || 'it routes by old news';
    },
  },
  {
    clause: 'R9',
    says: 'a reader that hears no confirmations any more is a doubt once it was counted on, and is waited for before',
    when: (step) => step.before.is('Leased.Serving') && step.heard('confirmations.lost'),
    holds: (step) => {
      const doubt = sent(step, 'lease', 'doubt.raised');
      if (step.before.is('Leased.Serving.Looping')) return doubt === undefined || 'it begins anew over and over';
      return (doubt?.kind === 'send' && doubt.event.why === step.fact.why) || 'it is ready and hears nothing';
    },
  },
  {
    clause: 'R9',
    says: 'what stands already is remembered until it is lost',
    when: (step) =>
      step.before.is('Leased.Serving.Looping') &&
      step.heard('fanout.opened', 'confirmations.bound', 'confirmations.lost') &&
      !stands(step),
    holds: ({ before, after, fact }) => {
      const opened = fact.type === 'fanout.opened' || before.is('Leased.Serving.Looping.Deaf');
      const hears =
        fact.type === 'confirmations.bound' ||
        (before.is('Leased.Serving.Looping.Hearing') && fact.type !== 'confirmations.lost');
      const state = opened ? 'Deaf' : hears ? 'Hearing' : 'Neither';
      return after.is(`Leased.Serving.Looping.${state}`) || 'it is forgotten';
    },
  },
  {
    clause: 'standby',
    says: 'a daemon that waits for the lease says for whom',
    when: (step) => step.before.is('Leased.Claiming') && step.heard('lease.waiting'),
    holds: (step) => told(step, 'tellWaiting') || 'it waits in silence',
  },
];
