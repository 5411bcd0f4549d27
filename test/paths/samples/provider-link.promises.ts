/**
 * What the provider link promises on every edge. Longer than 300 lines: one list, read beside the chart.
 */
import type { ContextFrom } from 'xstate';
import type { providerLinkMachine } from '../../../src/machines/provider-link.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type LinkStep = Step<ContextFrom<typeof providerLinkMachine>>;

const told = ({ effects }: LinkStep, action: string) =>
  effects.flatMap((effect) => (effect.kind === 'act' && effect.action === action ? [effect.params] : []))[0] as
    | Readonly<Record<string, unknown>>
    | undefined;
const did = ({ effects }: LinkStep, action: string) =>
  effects.some((effect) => effect.kind === 'act' && effect.action === action);
const asks = ({ effects }: LinkStep) => effects.some(({ kind }) => kind === 'start' || kind === 'arm');
const failing = (step: LinkStep) => step.before.is('Attempt') && step.after.is('BackingOff');
const isUnregistered = ({ before }: LinkStep) => before.is('Attempt.Unregistered');
const isReady = ({ before }: LinkStep) => before.is('Attempt.Ready');

export const promises: readonly PathPromise<ContextFrom<typeof providerLinkMachine>>[] = [
  {
    clause: 'H1',
    says: 'connected is said by an accepted register on an open socket, and by nothing else',
    when: ({ before, after }) => after.tagged('serving') && !before.tagged('serving'),
    holds: (step) =>
      (step.heard('register.accepted') &&
        isUnregistered(step) &&
        step.after.is('Attempt.Ready') &&
        step.after.running('holdSocket') &&
        did(step, 'tellReady')) ||
      `connected by ${step.fact.type}`,
  },
  {
    clause: 'H1',
    says: 'an accepted register is taken',
    when: (step) => isUnregistered(step) && step.heard('register.accepted'),
    holds: ({ after }) => after.is('Attempt.Ready') || 'it is not',
  },
  {
    clause: 'H1',
    says: 'an open socket alone is no connection, and its register is asked for at once',
    when: (step) => step.before.is('Attempt.Disconnected') && step.heard('transport.opened'),
    holds: ({ after, started, armed }) =>
      (after.is('Attempt.Unregistered.TransportConnected') &&
        !after.tagged('serving') &&
        after.tagged('transport') &&
        started('writeRegister') !== undefined &&
        armed('registerWithin')) ||
      'it counts for more',
  },
  {
    clause: 'H2',
    says: 'before Ready no heartbeat and no inventory is asked for',
    when: (step) => step.started('sendHeartbeat') !== undefined || step.started('syncInventory') !== undefined,
    holds: ({ after }) => after.is('Attempt.Ready') || 'it is',
  },
  {
    clause: 'H2',
    says: 'a socket is registered on once',
    when: (step) => step.started('writeRegister') !== undefined,
    holds: (step) => step.heard('transport.opened') || 'it is asked for again',
  },
  {
    clause: 'H2',
    says: 'a register that was written is waited for, within the same deadline',
    when: (step) => step.heard('register.written'),
    holds: ({ after, armed }) =>
      (after.is('Attempt.Unregistered.Registering') && !armed('registerWithin')) || 'the wait begins anew',
  },
  {
    clause: 'H3',
    says: 'a deliver before Ready ends the attempt',
    when: (step) => isUnregistered(step) && step.heard('deliver.uncertified'),
    holds: (step) => (failing(step) && step.after.context.failure?.code === 'early_deliver') || 'it goes on',
  },
  {
    clause: 'H3',
    says: 'later, one without a cursor is told of and changes nothing',
    when: (step) => isReady(step) && step.heard('deliver.uncertified'),
    holds: (step) =>
      (step.after.is('Attempt.Ready') && told(step, 'tellUncertified')?.agentId === step.fact.agentId) ||
      'it is passed over',
  },
  {
    clause: 'H4',
    says: 'the socket lives as long as its attempt',
    when: ({ after }) => after.begun,
    holds: ({ after }) => after.running('holdSocket') === after.is('Attempt') || 'it does not',
  },
  {
    clause: 'H4',
    says: 'an attempt begins with a new socket',
    when: (step) => step.after.is('Attempt') && !(step.before.begun && step.before.is('Attempt')),
    holds: (step) =>
      (step.after.is('Attempt.Disconnected') &&
        step.started('holdSocket') !== undefined &&
        step.armed('connectWithin')) ||
      'it does not',
  },
  {
    clause: 'H4',
    says: 'a dial ends the wait, and nothing else does',
    when: (step) => step.before.begun && step.before.is('BackingOff') && step.after.is('Attempt'),
    holds: (step) => step.elapsed === 'retryAfter' || `dialled by ${step.fact.type}`,
  },
  {
    clause: 'H5',
    says: 'every failure closes the attempt, is told with its code, and counts',
    when: failing,
    holds: (step) => {
      const facts = told(step, 'tellFailed') ?? told(step, 'tellRejected');
      const { failure, failures } = step.after.context;
      return (
        (facts?.code === failure?.code &&
          facts?.message === failure?.message &&
          failure?.message !== '' &&
          failures === step.before.context.failures + 1 &&
          step.started('planRetry') !== undefined) ||
        'it is not'
      );
    },
  },
  {
    clause: 'H5',
    says: 'what goes wrong with an attempt ends it, by the name it has',
    when: (step) =>
      step.before.begun && step.before.is('Attempt') && step.heard('transport.closed', 'write.failed', 'effect.failed'),
    holds: (step) => {
      const code = { 'transport.closed': 'transport_closed', 'write.failed': 'write_failed' }[step.fact.type];
      return (
        (failing(step) && step.after.context.failure?.code === (code ?? 'effect_failed')) ||
        'it goes on, or is misnamed'
      );
    },
  },
  {
    clause: 'H5',
    says: 'the words of a close, of a write and of a surprise are kept',
    when: (step) => failing(step) && step.heard('transport.closed', 'write.failed', 'effect.failed'),
    holds: ({ fact, after }) => {
      const said = String(after.context.failure?.message);
      const want =
        fact.type === 'transport.closed'
          ? [String(fact.code), String(fact.reason)]
          : [String(fact.message), String(fact.effect ?? '')];
      return (want.every((word) => said.includes(word)) && said === said.trim()) || `only: ${said}`;
    },
  },
  {
    clause: 'H5',
    says: 'a refused register is told apart, with its guidance, and is never final',
    when: (step) => isUnregistered(step) && step.heard('register.refused'),
    holds: (step) =>
      (failing(step) &&
        told(step, 'tellRejected')?.code === step.fact.code &&
        told(step, 'tellRejected')?.guidanceMs === step.fact.guidanceMs) ||
      'it is not',
  },
  {
    clause: 'H5',
    says: 'a dial that failed is tried again under its code',
    when: (step) => step.before.begun && step.before.is('Attempt.Disconnected') && step.heard('dial.failed'),
    holds: (step) => (failing(step) && step.after.context.failure?.code === step.fact.code) || 'it is not',
  },
  {
    clause: 'H5',
    says: 'the time for the socket and the time for the register are bounded',
    when: (step) => step.elapsed === 'connectWithin' || step.elapsed === 'registerWithin',
    holds: (step) =>
      (failing(step) &&
        step.after.context.failure?.code ===
          (step.elapsed === 'connectWithin' ? 'connect_timeout' : 'register_timeout')) ||
      'it is not',
  },
  {
    clause: 'H6',
    says: 'the wait is planned from the failures in a row and from what was asked for with the last one',
    when: (step) => step.started('planRetry') !== undefined,
    holds: (step) => {
      const input = step.started('planRetry');
      const asked = step.heard('register.refused') ? step.fact.guidanceMs : null;
      return (
        (input?.failures === step.before.context.failures + 1 && input.guidanceMs === asked && failing(step)) ||
        'it is planned from something else'
      );
    },
  },
  {
    clause: 'H6',
    says: 'it is as long as it was planned',
    when: (step) => step.heard('retry.planned'),
    holds: (step) => {
      const timer = step.effects.find((effect) => effect.kind === 'arm');
      return (
        (step.after.is('BackingOff.Waiting') &&
          timer?.kind === 'arm' &&
          timer.ms === step.fact.waitMs &&
          step.armed('retryAfter')) ||
        'it is not'
      );
    },
  },
  {
    clause: 'H6',
    says: 'a wait that cannot be planned is a wait all the same',
    when: (step) => step.before.begun && step.before.is('BackingOff.Planning') && step.heard('effect.failed'),
    holds: (step) =>
      (step.after.is('BackingOff.Waiting') && step.armed('retryAfter')) || 'it spins or it rests for ever',
  },
  {
    clause: 'H6',
    says: 'the failures are forgotten by an inventory reply that leaves no gap, and by nothing else',
    when: ({ before, after }) => before.begun && after.context.failures < before.context.failures,
    holds: (step) =>
      (step.heard('inventory.replied') && step.fact.gaps === 0 && step.after.context.failures === 0) ||
      `forgotten by ${step.fact.type}`,
  },
  {
    clause: 'H6',
    says: 'an inventory reply that leaves no gap forgets them',
    when: (step) => isReady(step) && step.heard('inventory.replied') && step.fact.gaps === 0,
    holds: ({ after }) =>
      (after.context.failures === 0 &&
        after.context.guidanceMs === null &&
        after.is('Attempt.Ready.inventory.Resting')) ||
      'it does not',
  },
  {
    clause: 'H7',
    says: 'the patience with a silent peer ends the session',
    when: (step) => step.elapsed === 'deadAfter',
    holds: (step) => (failing(step) && step.after.context.failure?.code === 'no_reply') || 'it goes on',
  },
  {
    clause: 'H7',
    says: 'the patience begins with Ready and anew with every reply, and with nothing else',
    when: (step) => step.armed('deadAfter'),
    holds: (step) => step.heard('register.accepted', 'reply.came') || `anew by ${step.fact.type}`,
  },
  {
    clause: 'H7',
    says: 'a reply is a sign of life',
    when: (step) => isReady(step) && step.heard('reply.came'),
    holds: (step) => step.armed('deadAfter') || 'it is not',
  },
  {
    clause: 'H8',
    says: 'heartbeat, inventory and patience begin at once',
    when: (step) => step.after.is('Attempt.Ready') && !isReady(step),
    holds: (step) =>
      (step.started('sendHeartbeat') !== undefined &&
        step.started('syncInventory') !== undefined &&
        step.armed('deadAfter')) ||
      'something waits',
  },
  {
    clause: 'H8',
    says: 'each goes on at its pace',
    when: (step) => ['heartbeatEvery', 'inventoryEvery', 'inventoryAgain'].includes(step.elapsed ?? ''),
    holds: (step) =>
      step.started(step.elapsed === 'heartbeatEvery' ? 'sendHeartbeat' : 'syncInventory') !== undefined || 'it stops',
  },
  {
    clause: 'H8',
    says: 'after each the next one is due',
    when: (step) =>
      step.after.is('Attempt.Ready') && step.from !== undefined && step.heard('heartbeat.written', 'inventory.replied'),
    holds: (step) => step.armed(step.heard('heartbeat.written') ? 'heartbeatEvery' : 'inventoryEvery') || 'none is',
  },
  {
    clause: 'H8',
    says: 'an inventory that was refused is told of and asked again soon; unless the peer does not know us any more',
    when: (step) => isReady(step) && step.heard('inventory.refused'),
    holds: (step) =>
      step.fact.code === 'provider_not_registered'
        ? (failing(step) && step.after.context.failure?.code === step.fact.code) || 'it stays connected to nothing'
        : (step.armed('inventoryAgain') &&
            step.after.tagged('serving') &&
            told(step, 'tellInventoryRefused')?.code === step.fact.code) ||
          'it is not',
  },
  {
    clause: 'H9',
    says: 'a 401 is a failure while the token may be read again, and then the end',
    when: (step) => step.before.begun && step.before.is('Attempt.Disconnected') && step.heard('dial.unauthorized'),
    holds: (step) =>
      step.before.context.unauthorized < step.before.context.tokenRereads
        ? (failing(step) &&
            step.after.context.unauthorized === step.before.context.unauthorized + 1 &&
            step.after.context.failure?.code === 'unauthorized') ||
          'it is not tried again'
        : step.after.is('Refused') || 'it never ends',
  },
  {
    clause: 'H9',
    says: 'after a 401 the token is read anew, and otherwise as it is kept',
    when: (step) => step.started('holdSocket') !== undefined,
    holds: (step) =>
      step.started('holdSocket')?.renewToken === (step.before.begun && step.before.context.unauthorized > 0) ||
      'the wrong one is used',
  },
  {
    clause: 'H9',
    says: 'the 401s are forgotten by an open socket, and by nothing else',
    when: ({ before, after }) => before.begun && after.context.unauthorized < before.context.unauthorized,
    holds: (step) => (step.heard('transport.opened') && step.after.context.unauthorized === 0) || 'they are',
  },
  {
    clause: 'H9',
    says: 'an open socket forgets them',
    when: (step) => step.before.begun && step.before.is('Attempt.Disconnected') && step.heard('transport.opened'),
    holds: ({ after }) => after.context.unauthorized === 0 || 'it does not',
  },
  {
    clause: 'H9',
    says: 'refused is a token that cannot be had, told with why, and nothing else',
    when: ({ before, after }) => after.is('Refused') && !(before.begun && before.is('Refused')),
    holds: (step) => {
      const { end, failure } = step.after.context;
      return (
        (step.heard('token.refused', 'dial.unauthorized') &&
          end === 'refused' &&
          failure !== null &&
          failure.code === (step.heard('token.refused') ? step.fact.code : 'unauthorized') &&
          told(step, 'tellRefused')?.code === failure.code &&
          !asks(step)) ||
        'it is something else'
      );
    },
  },
  {
    clause: 'H9',
    says: 'a token that cannot be had refuses the link',
    when: (step) => step.before.begun && step.before.is('Attempt.Disconnected') && step.heard('token.refused'),
    holds: ({ after }) => after.is('Refused') || 'it is tried again blindly',
  },
  {
    clause: 'H10',
    says: 'a stop ends it wherever it is, asks for nothing and leaves no wait',
    when: (step) => step.before.begun && step.before.status === 'active' && step.heard('stop.requested'),
    holds: (step) =>
      (step.after.is('Stopped') &&
        step.after.context.end === 'stopped' &&
        !asks(step) &&
        !step.after.running('holdSocket') &&
        !step.after.running('planRetry')) ||
      'it goes on',
  },
  {
    clause: 'H10',
    says: 'stopped is said of a stop alone',
    when: ({ before, after }) => after.is('Stopped') && !(before.begun && before.is('Stopped')),
    holds: (step) => step.heard('stop.requested') || `stopped by ${step.fact.type}`,
  },
  {
    clause: 'H11',
    says: 'a gap is told of, and has an inventory asked for unless one is under way or due',
    when: (step) => isReady(step) && step.heard('gap.met'),
    holds: (step) =>
      (step.after.is('Attempt.Ready') &&
        told(step, 'tellGap')?.expected === step.fact.expected &&
        (step.started('syncInventory') !== undefined) === step.before.is('Attempt.Ready.inventory.Resting')) ||
      'it stays',
  },
  {
    clause: 'H11',
    says: 'a gap that stays with the cursors of a reply ends the session',
    when: (step) => isReady(step) && step.heard('inventory.replied') && Number(step.fact.gaps) > 0,
    holds: (step) => (failing(step) && step.after.context.failure?.code === 'sequence_gap') || 'it is deaf for ever',
  },
];
