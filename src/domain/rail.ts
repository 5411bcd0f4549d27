/**
 * The control rails: a request is `{op, args, from}`, a reply `{ok, data?, error?}`. An operation or an argument that is
 * not known is refused by name. A reply larger than the connection's `max_payload` becomes a refusal that gives its size.
 */
import { z } from 'zod';
import { describeError, Plane3Error } from './errors/catalogue.ts';
import { messageSchema } from './message.ts';
import { channelSchema, principalSchema, sequenceSchema, uidSchema } from './names.ts';
import { floorRowSchema, memberRowSchema, shortfallSchema } from './rows.ts';
import { storeIdentitySchema } from './store-proof.ts';
import type { RailName } from './subjects.ts';

export const requestSchema = z.looseObject({
  op: z.string(),
  args: z.unknown().optional(),
  from: z.looseObject({ id: z.string(), name: z.string() }).optional(),
});

export const replySchema = z.looseObject({
  ok: z.boolean(),
  data: z.unknown().optional(),
  error: z.looseObject({ code: z.string(), message: z.string() }).optional(),
});
export type RailReply = { ok: true; data: unknown } | { ok: false; error: { code: string; message: string } };

export const HISTORY_DEFAULT = 100;
export const HISTORY_MAX = 200;
export const EVICTION_MAX = 256;
export const OWED_MAX = 256;

const owedSchema = z.object({
  /** Not settled and not given up; those that are handed off are among them. */
  pending: z.int().min(0),
  handedOff: z.int().min(0),
  oldestAgeMs: z.number().min(0).nullable(),
  givenUp: z.int().min(0),
  shortfall: shortfallSchema.optional(),
});

/** Arguments and answer of every operation of the rail that any agent may use, for itself. */
export const deliveryOps = {
  durableJoin: {
    args: z.strictObject({ channel: channelSchema }),
    data: z.object({
      durable: z.boolean(),
      generation: z.int().min(1).optional(),
      lifecycleUid: uidSchema.optional(),
      joinCursor: sequenceSchema.optional(),
      reason: z.string().optional(),
      shortfall: shortfallSchema.optional(),
    }),
  },
  durableLeave: {
    args: z.strictObject({ channel: channelSchema, generation: z.int().min(1), lifecycleUid: uidSchema }),
    data: z.object({ left: z.boolean(), dropped: z.int().min(0), reason: z.string().optional() }),
  },
  listMemberships: {
    args: z.strictObject({ lifecycleUid: uidSchema }),
    data: z.object({ memberships: z.array(memberRowSchema) }),
  },
  readHistory: {
    args: z.strictObject({ channel: channelSchema, limit: z.int().min(1).max(HISTORY_MAX).optional() }),
    /** `complete` false: older ones were left out to fit the payload. `omitted`: too large to be carried at all. */
    data: z.object({
      items: z.array(z.object({ seq: sequenceSchema, msg: messageSchema })),
      complete: z.boolean(),
      omitted: z.array(z.object({ seq: sequenceSchema, bytes: z.int() })).optional(),
    }),
  },
  pendingCount: {
    args: z.strictObject({}),
    data: owedSchema,
  },
} as const;

const evictionResult = z.object({
  principal: principalSchema,
  kicked: z.int().min(0),
  remaining: z.int().min(0),
  verifiedGone: z.boolean(),
  scanComplete: z.boolean(),
  note: z.string().optional(),
});
export type EvictionResult = z.infer<typeof evictionResult>;

/** Arguments and answer of every operation of the rail for managers. */
export const adminOps = {
  reloadCreds: {
    args: z.strictObject({ expected: z.string().regex(/^[0-9a-f]{64}$/, 'not a SHA-256 in lower-case hex') }),
    data: z.object({ adopted: z.boolean(), fingerprint: z.string() }),
  },
  reloadStoreIdentity: {
    args: z.strictObject({ challenge: z.string().min(16).max(256) }),
    data: z.object({
      identity: storeIdentitySchema,
      challenge: z.string(),
      incarnation: z.string(),
      signature: z.string(),
    }),
  },
  evictPrincipals: {
    args: z.strictObject({ principals: z.array(principalSchema).min(1).max(EVICTION_MAX) }),
    data: z.object({ results: z.array(evictionResult) }),
  },
  principalLiveness: {
    args: z.strictObject({ principal: principalSchema }),
    data: z.object({ liveness: z.enum(['live', 'gone', 'unknown']), note: z.string().optional() }),
  },
  reauthorize: {
    args: z.strictObject({ principal: principalSchema, lifecycleUid: uidSchema }),
    data: z.object({ withdrawn: z.int().min(0), removed: z.int().min(0) }),
  },
  /** Ours: answers once the writer routes by this revision of the channel row (M8). */
  channelSeen: {
    args: z.strictObject({ channel: z.string(), revision: sequenceSchema }),
    data: z.object({ seen: z.literal(true), class: z.enum(['durable', 'live']) }),
  },
  /** Ours: what is owed to one principal, or to everybody whose key is above `after`, at most `limit` of them. */
  owed: {
    args: z.strictObject({
      principal: principalSchema.optional(),
      after: z.string().optional(),
      limit: z.int().min(1).max(OWED_MAX).optional(),
    }),
    data: z.object({
      members: z.array(owedSchema.extend({ member: z.string() })),
      more: z.boolean(),
      /** Posts that retention took before they were copied, of the whole space. */
      discarded: floorRowSchema.shape.discarded,
    }),
  },
} as const;

export type DeliveryOp = keyof typeof deliveryOps;
export type AdminOp = keyof typeof adminOps;
export type ArgsOf<O extends DeliveryOp | AdminOp> = O extends DeliveryOp
  ? z.infer<(typeof deliveryOps)[O]['args']>
  : O extends AdminOp
    ? z.infer<(typeof adminOps)[O]['args']>
    : never;
export type DataOf<O extends DeliveryOp | AdminOp> = O extends DeliveryOp
  ? z.infer<(typeof deliveryOps)[O]['data']>
  : O extends AdminOp
    ? z.infer<(typeof adminOps)[O]['data']>
    : never;

export type ParsedRequest =
  | { kind: 'request'; op: DeliveryOp | AdminOp; args: never }
  | { kind: 'refused'; error: Plane3Error };

/** Reads a request of a rail. `body` is the parsed JSON, undefined where it was none. */
export function readRequest(rail: RailName, principal: string, body: unknown): ParsedRequest {
  const request = requestSchema.safeParse(body);
  if (!request.success)
    return refused('rail.bad-args', { op: 'request', reason: 'not a JSON object with op and args' });
  const { op, args, from } = request.data;
  if (from !== undefined && from.id !== principal) {
    return refused('rail.bad-args', { op, reason: `from.id is "${from.id}", but the subject says ${principal}` });
  }
  const ops: Record<string, { args: z.ZodType }> = rail === 'delivery' ? deliveryOps : adminOps;
  const known = Object.hasOwn(ops, op) ? ops[op] : undefined;
  if (known === undefined) return refused('rail.unknown-op', { op, rail: `ctl.${rail}` });
  const parsed = known.args.safeParse(args ?? {});
  if (!parsed.success) return refused('rail.bad-args', { op, reason: firstIssue(parsed.error) });
  return { kind: 'request', op: op as DeliveryOp | AdminOp, args: parsed.data as never };
}

const refused = <C extends 'rail.bad-args' | 'rail.unknown-op'>(
  code: C,
  facts: ConstructorParameters<typeof Plane3Error<C>>[1],
): ParsedRequest => ({ kind: 'refused', error: new Plane3Error(code, facts) as unknown as Plane3Error });

/** The first thing that zod found wrong, with the place it stands at. */
export function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'not valid';
  const place = issue.path.join('.');
  return place === '' ? issue.message : `${place}: ${issue.message}`;
}

const encoder = new TextEncoder();

/** Encodes a reply; one that the broker would not carry becomes a refusal that gives its size in bytes. */
export function encodeReply(op: string, reply: RailReply, maxPayload: number): Uint8Array {
  const bytes = encoder.encode(JSON.stringify(reply));
  if (bytes.length <= maxPayload) return bytes;
  const error = new Plane3Error('rail.too-large', { op, bytes: bytes.length, limit: maxPayload });
  return encoder.encode(
    JSON.stringify({ ok: false, error: { ...describeError(error), bytes: bytes.length, limit: maxPayload } }),
  );
}
