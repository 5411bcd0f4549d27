/**
 * What was decided for the context of each machine of the catalogue: `shown` fields are in fields.ts, the others stay hidden,
 * each for the reason that stands beside it. A machine without an entry here, a field without a decision, or a decision about a
 * field that is no more fails a test, so that a new machine is looked through before anybody looks at it.
 */
export interface ContextReview {
  readonly shown: readonly string[];
  /** By field, why nobody sees it. */
  readonly hidden?: Readonly<Record<string, string>>;
}

const railed = ['rail', 'wait'] as const;
const placed = ['endpoint', 'instance', ...railed, 'batch'] as const;
const ended = ['end', 'reason'] as const;
const holds = 'who holds what is nothing that a reviewer of the machine needs';
const freezes = 'names one freeze for whoever may lift it';

export const contextReviews: Readonly<Record<string, ContextReview>> = {
  // Delivery.
  system: { shown: ['daemon', 'brokerWatch', 'credential', 'connection', 'end', 'message'] },
  daemon: { shown: ['lease', 'reader', 'end', 'message', 'nameWaitMs', 'nameless', 'namelessSince'] },
  brokerWatch: { shown: ['connection', 'windowMs', 'backstopMs', 'since', 'windowWaitMs', 'backstopWaitMs'] },
  credential: {
    shown: ['connection', 'backstopMs', 'failures', 'waitMs', 'since', 'backstopWaitMs', 'asked', 'later'],
  },
  lease: { shown: ['holder', 'incarnation', 'standby', 'revision', 'waitsFor'] },
  fanout: { shown: ['waiting', 'failures', 'posts', 'copies'] },
  reader: {
    shown: [
      'laneLimit',
      'placingLimit',
      'lane',
      'lanes',
      'waiting',
      'reviews',
      'placing',
      'resting',
      'restingLimit',
      'inventory',
      'started',
      'failures',
    ],
  },
  inventory: { shown: ['room', 'round', 'later'] },
  lane: {
    shown: [
      ...[
        'member',
        'window',
        'removalBatch',
        'retries',
        'backOffMs',
        'backOffLimitMs',
        'nudges',
        'waiting',
        'outstanding',
        'settled',
      ],
      ...['refused', 'reviews', 'unknowns', 'failures'],
    ],
  },
  rails: { shown: ['failures'] },
  registry: { shown: ['rows', 'started', 'failures'] },
  membership: { shown: ['key', 'asks', 'met', 'generation', 'joinCursor', 'failures'] },
  'timer-writer': { shown: ['failures'] },
  door: { shown: ['port', 'backOffMs', 'backOffLimitMs', 'failures', 'why'] },

  // Launcher and stop.
  launcher: {
    shown: [
      ...['isForeground', 'isOpen', 'children', 'retryMs', 'brokerPid', 'standing', 'ours', 'targets'],
      ...['end', 'message', 'help'],
    ],
  },
  child: { shown: ['name', 'pid', 'code', 'signal', 'waitMs'] },
  stop: { shown: ['target', 'pid', 'start', 'end', 'message'] },

  // Manager.
  manager: {
    shown: [...['lease', 'proof', 'repair', 'registration', 'renewal', 'mayRenew', 'processEpoch', 'end', 'message']],
  },
  'name-wait': { shown: ['nameWaitMs', 'nameless', 'namelessSince'] },
  'rail-wait': {
    shown: [
      ...['rail', 'op', 'waitMs', 'firstGapMs', 'gapLimitMs', 'gapFloorMs', 'attemptMs', 'attempts', 'since', 'leftMs'],
      ...['why', 'outcome'],
    ],
    hidden: { args: 'of a request, whatever it is' },
  },
  'store-proof': {
    shown: [...railed, 'answer', 'outcome'],
    hidden: { challenge: 'whoever knows it could answer for the store' },
  },
  family: {
    shown: [...placed, 'opId', 'holders', 'requests', ...ended],
    hidden: { freezeToken: freezes, credentials: holds },
  },
  eviction: {
    shown: [...placed, 'opId', 'holders', 'revision', 'remaining', 'verified', 'requests', 'judged', ...ended],
    hidden: { freezeToken: freezes },
  },
  'gate-repair': { shown: [...placed, 'revision', 'opId', 'holder', 'landed', 'holders', 'requests', ...ended] },
  registration: {
    shown: [
      ...placed,
      ...['opId', 'by', 'incarnation', 'windowMs', 'revision', 'generation', 'processEpoch', 'holders', 'requests'],
      ...ended,
    ],
  },
  retirement: {
    shown: [
      ...railed,
      ...['batch', 'principal', 'opId', 'by', 'uid', 'revision', 'durables', 'memberships', 'marks'],
      ...ended,
    ],
    hidden: { freezeToken: freezes },
  },
  attach: {
    shown: [...railed, 'principal', ...ended],
    hidden: { session: 'a session is a capability', credentialId: holds },
  },
  renewal: {
    shown: [...railed, ...['retryMs', 'outcome', 'names', 'fingerprint', 'reason', 'waitMs', 'offered', 'passes']],
  },

  // Client and provider plane.
  'durable-membership': { shown: ['channel', 'backstop', 'failures', 'why', 'dropped'] },
  'provider-link': {
    shown: ['failures', 'unauthorized', 'end', 'failure', 'guidanceMs', 'waitMs'],
    hidden: { tokenRereads: 'a bound; nothing that has a token in its name is shown' },
  },
  'provider-socket': {
    shown: ['connection', 'workspace', 'node', 'openedAt', 'bounds', 'unboundSince', 'registerAskedAt', 'provider'],
  },
  reaper: { shown: ['leastMs', 'againMs', 'dueAt'] },
  'repair-run': { shown: ['step', 'end', 'rows', 'refusal', 'message'] },
};
