import { z } from 'zod';
import type { HeaderLookup } from './entry.ts';
import type { StoredMessage } from './held.ts';
import { readJson } from './message.ts';
import { channelSchema, coveredByAny, patternSchema, principalSchema, sequenceSchema, uidSchema } from './names.ts';

/** The rows of the space's buckets. Unknown fields are kept as they are found, so that an older build loses nothing. */

export type DeliveryClass = 'durable' | 'live';
export const channelRowSchema = z.looseObject({
  deliveryClass: z.enum(['durable', 'live']).optional(),
  description: z.string().optional(),
});
export type ChannelRow = z.infer<typeof channelRowSchema>;
/** Key of the row that holds for channels without one of their own. */
export const CHANNEL_DEFAULTS = '=defaults';

/** The one resolver of a channel's class: its own row, else the defaults, else durable. */
export const effectiveClass = (own: ChannelRow | undefined, defaults: ChannelRow | undefined): DeliveryClass =>
  own?.deliveryClass ?? defaults?.deliveryClass ?? 'durable';

export const shortfallSchema = z.object({
  since: z.number(),
  count: z.int().min(1),
  firstSeq: sequenceSchema,
  lastSeq: sequenceSchema,
});
export type Shortfall = z.infer<typeof shortfallSchema>;

/**
 * Where the writer's durable would have to start again, and the posts that retention took before they were copied (F7): how
 * many since when, and between which sequences.
 */
export const floorRowSchema = z.looseObject({
  floor: z.int().min(0),
  discarded: shortfallSchema.extend({ last: z.number() }).optional(),
});
export type FloorRow = z.infer<typeof floorRowSchema>;
export type Discarded = NonNullable<FloorRow['discarded']>;

export const memberRowSchema = z.looseObject({
  channel: channelSchema,
  owner: principalSchema,
  lifecycleUid: uidSchema,
  state: z.enum(['pending', 'active', 'left']),
  joinCursor: sequenceSchema,
  leaveCursor: sequenceSchema.optional(),
  generation: z.int().min(1),
  shortfall: shortfallSchema.optional(),
  writerIdentity: z.string(),
  updatedAt: z.number(),
});
/** One lifecycle's membership of one channel. `owner` is the principal (owner.actor) whose membership it is. */
export type MemberRow = z.infer<typeof memberRowSchema>;

const aclGrantSchema = z.looseObject({
  name: z.string(),
  allowSubscribe: z.array(patternSchema),
  issuedAllowSubscribe: z.array(patternSchema),
  revision: z.int().min(0),
  updatedAt: z.number(),
  retired: z.literal(false).optional(),
});
const tombstoneSchema = z.looseObject({ retired: z.literal(true), retiredAt: z.number(), revision: z.int().min(0) });
export const aclRowSchema = z.union([tombstoneSchema, aclGrantSchema]);
export type AclGrant = z.infer<typeof aclGrantSchema>;

/**
 * What is known of a lifecycle's read ACL. Absent, unreadable or deleted is `unknown`: never "no access", never "gone".
 */
export type AclState =
  | { kind: 'grant'; name: string; allow: readonly string[]; issued: readonly string[]; revision: number }
  | { kind: 'retired' }
  | { kind: 'unknown'; why: 'absent' | 'unreadable' | 'deleted' };

/** Reads an ACL row's value; `undefined` stands for a row that the bucket does not have. */
export function readAcl(data: Uint8Array | undefined): AclState {
  if (data === undefined) return { kind: 'unknown', why: 'absent' };
  const row = aclRowSchema.safeParse(readJson(data));
  if (!row.success) return { kind: 'unknown', why: 'unreadable' };
  if (row.data.retired === true) return { kind: 'retired' };
  const grant = row.data as AclGrant;
  return {
    kind: 'grant',
    name: grant.name,
    allow: grant.allowSubscribe,
    issued: grant.issuedAllowSubscribe,
    revision: grant.revision,
  };
}

/** A delete, purge or expiry marker: the subject has a last message, but there is no row. */
export const isMarker = (header: HeaderLookup): boolean =>
  ['DEL', 'PURGE'].includes(header('KV-Operation')) || header('Nats-Marker-Reason') !== '';

/** The ACL row in a message of its bucket. A marker, like an absent row, is unknown: it proves nothing. */
export const aclIn = ({ data, header }: Pick<StoredMessage, 'data' | 'header'>): AclState =>
  isMarker(header) ? { kind: 'unknown', why: 'deleted' } : readAcl(data);

/** Effective read: covered by the row and by what the credential was issued for. */
export const mayRead = (acl: AclState, channel: string): boolean =>
  acl.kind === 'grant' && coveredByAny(acl.allow, channel) && coveredByAny(acl.issued, channel);

/** `{handedTo}`: entries up to this INBOX sequence were handed off. `givenUp`: those up to it wait for an ACL row. */
export const laneMarkSchema = z.looseObject({
  handedTo: sequenceSchema,
  givenUp: z
    .object({ upTo: sequenceSchema, at: z.number(), attempts: z.int().min(1), count: z.int().min(0) })
    .optional(),
});
export type LaneMark = z.infer<typeof laneMarkSchema>;

export const leaseRowSchema = z.looseObject({
  holder: principalSchema,
  incarnation: z.string().min(1),
  since: z.number(),
  acquiredAt: z.number(),
  ready: z.boolean(),
  proofKey: z.string(),
  proofAttestation: z.string(),
});
export type LeaseRow = z.infer<typeof leaseRowSchema>;

export const presenceRowSchema = z.looseObject({
  card: z.looseObject({ id: z.string(), name: z.string(), kind: z.string() }),
  status: z.string(),
  lifecycleUid: uidSchema,
  ts: z.number(),
});
export type PresenceRow = z.infer<typeof presenceRowSchema>;
