/**
 * The store of a space: the config of every stream, bucket and standing consumer, in the broker's own words, so that
 * what is there can be compared with what is wanted, field by field. A field that is not listed here is the broker's
 * default and is not looked at.
 */
import type { Member } from './names.ts';
import { numbers } from './numbers.ts';
import {
  bucketStream,
  buckets,
  copiesOf,
  deliveryConsumer,
  FANOUT_CONSUMER,
  streams,
  timerConsumer,
} from './subjects.ts';

/** What an operator may choose when a space is made. */
export interface LayoutOptions {
  readonly space: string;
  /** Copies of each message in a cluster, 1 to 5. */
  readonly replicas?: number;
  /** Posts kept for each subject of CHAT: what a daemon that was away can still copy. */
  readonly history?: number;
  /** Pending entries that a member may have. The writer keeps it; the store remembers it for every daemon that comes. */
  readonly quota?: number;
  /** Life of the delivery lease without a renewal, milliseconds, at least 1000. */
  readonly leaseTtlMs?: number;
  /** Life of the manager's leases without a renewal, milliseconds, at least 1000. */
  readonly managerTtlMs?: number;
}
export const DEFAULT_HISTORY = 10_000;
/** Life of the manager's leases, milliseconds. */
export const MANAGER_TTL_MS = 10_000;

/** Stream and consumer configs as the broker spells them; durations are nanoseconds. */
export interface StreamLayout {
  readonly name: string;
  readonly subjects: string[];
  readonly retention: 'limits' | 'workqueue';
  readonly storage: 'file' | 'memory';
  readonly discard: 'old' | 'new';
  readonly num_replicas: number;
  readonly max_consumers: number;
  readonly max_msgs_per_subject: number;
  readonly max_age: number;
  readonly duplicate_window: number;
  readonly allow_direct: boolean;
  readonly allow_atomic: boolean;
  readonly allow_rollup_hdrs: boolean;
  readonly deny_delete: boolean;
  readonly allow_msg_ttl: boolean;
  readonly allow_msg_schedules: boolean;
  readonly subject_delete_marker_ttl: number;
  readonly metadata: Record<string, string>;
}
export interface ConsumerLayout {
  readonly durable_name: string;
  readonly filter_subject?: string;
  readonly ack_policy: 'explicit';
  readonly deliver_policy: 'all';
  readonly ack_wait: number;
  readonly max_deliver: number;
  readonly max_ack_pending: number;
  readonly sample_freq?: string;
}

const MILLISECOND = 1_000_000;
const SECOND = 1000 * MILLISECOND;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** 2.15 refuses the 1001st consumer of a stream that names no number of its own. */
const MAX_CONSUMERS = 100_000;
/** What a writer of timers that was killed had in hand comes back after this long; arming it twice does no harm. */
const TIMER_ACK_WAIT = 10 * SECOND;
/** Where the store remembers the quota: metadata of INBOX. */
const QUOTA_METADATA = 'plane3-quota';

const plain = {
  retention: 'limits',
  storage: 'file',
  discard: 'old',
  max_consumers: MAX_CONSUMERS,
  max_msgs_per_subject: -1,
  max_age: 0,
  duplicate_window: 2 * MINUTE,
  allow_direct: true,
  allow_atomic: true,
  allow_rollup_hdrs: false,
  deny_delete: false,
  allow_msg_ttl: false,
  allow_msg_schedules: false,
  subject_delete_marker_ttl: 0,
  metadata: {},
} as const;

/** Every stream of the space, buckets included (a bucket is a stream whose config the bucket client could not give). */
export function streamLayouts(options: LayoutOptions): StreamLayout[] {
  const { space, replicas = 1, history = DEFAULT_HISTORY, quota = numbers.quota } = options;
  const { leaseTtlMs = numbers.leaseTtlMs, managerTtlMs = MANAGER_TTL_MS } = options;
  const name = streams(space);
  const bucket = buckets(space);
  const common = { ...plain, num_replicas: replicas };
  const timers = `cotal.${space}.ept.*.*.*.*`;
  const kept = (of: string, more: Partial<StreamLayout> = {}): StreamLayout => ({
    ...common,
    name: bucketStream(of),
    subjects: [`$KV.${of}.>`],
    discard: 'new',
    max_msgs_per_subject: 1,
    allow_rollup_hdrs: true,
    deny_delete: true,
    ...more,
  });
  /** A bucket whose keys end by age. Where `marked`, the broker says so on the subject, so that a watch learns of it. */
  const ageing = (of: string, ttl: number, marked: boolean, more: Partial<StreamLayout> = {}) =>
    kept(of, {
      max_age: ttl,
      duplicate_window: Math.min(ttl, plain.duplicate_window),
      ...(marked ? { allow_msg_ttl: true, subject_delete_marker_ttl: ttl } : {}),
      ...more,
    });
  return [
    { ...common, name: name.chat, subjects: [`cotal.${space}.chat.>`], max_msgs_per_subject: history },
    {
      ...common,
      name: name.inbox,
      subjects: [`cotal.${space}.dinbox.>`],
      duplicate_window: 2 * HOUR,
      metadata: { [QUOTA_METADATA]: String(quota) },
    },
    { ...common, name: name.dlv, subjects: [`cotal.${space}.dlv.>`], retention: 'workqueue' },
    { ...common, name: name.timerRequests, subjects: [`${timers}.schedule`], retention: 'workqueue' },
    {
      ...common,
      name: name.timers,
      subjects: [`${timers}.armed`, `${timers}.fire`],
      max_msgs_per_subject: 1,
      allow_rollup_hdrs: true,
      allow_msg_ttl: true,
      allow_msg_schedules: true,
    },
    ageing(bucket.presence, 6 * SECOND, false, { storage: 'memory' }),
    kept(bucket.channels),
    kept(bucket.members),
    kept(bucket.acl),
    kept(bucket.lanes),
    ageing(bucket.delivery, leaseTtlMs * MILLISECOND, true),
    ageing(bucket.manager, managerTtlMs * MILLISECOND, true),
    kept(bucket.auth, { allow_direct: false }),
  ];
}

const durable = (name: string, more: Partial<ConsumerLayout> = {}): ConsumerLayout => ({
  durable_name: name,
  ack_policy: 'explicit',
  deliver_policy: 'all',
  ack_wait: MINUTE,
  max_deliver: -1,
  max_ack_pending: 1000,
  ...more,
});

/** The consumers that are made together with the streams. */
export const standingConsumers = (space: string): { stream: string; config: ConsumerLayout }[] => [
  { stream: streams(space).chat, config: durable(FANOUT_CONSUMER) },
  { stream: streams(space).timerRequests, config: durable(timerConsumer(space), { ack_wait: TIMER_ACK_WAIT }) },
];

/** A member's own durable on DLV. Every acknowledgement is sampled: that is how the daemon sees a confirmation. */
export const memberConsumer = (space: string, member: Member): { stream: string; config: ConsumerLayout } => ({
  stream: streams(space).dlv,
  config: durable(deliveryConsumer(member), { filter_subject: copiesOf(space, member), sample_freq: '100' }),
});
