/**
 * The server's frames as a link reads them. What the link acts on must be there in its shape; keys that it does not know
 * are passed over, so that a newer server can say more.
 */
import { z } from 'zod';
import { CURSOR_CAPABILITY, GUIDANCE_CAPABILITY } from './capabilities.ts';
import { guidanceOf } from './guidance.ts';
import { name, type ProviderId } from './names.ts';

const sequence = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

const deliverSchema = z.looseObject({
  v: z.literal(1),
  type: z.literal('deliver'),
  delivery_id: name,
  agent_id: name,
  agent: name,
  msg_id: name,
  seq: sequence.min(1),
  mode: z.enum(['wait', 'steer']),
  payload: z.looseObject({ type: z.string(), data: z.unknown() }),
});
export type HeardDeliver = z.infer<typeof deliverSchema>;

const answerSchema = z.discriminatedUnion('type', [
  z.looseObject({ v: z.literal(1), type: z.literal('reply'), id: z.string(), ok: z.literal(true), data: z.unknown() }),
  z.looseObject({
    v: z.literal(1),
    type: z.literal('error'),
    id: z.string(),
    ok: z.literal(false),
    code: z.string().min(1).max(128),
    message: z.string(),
  }),
]);

export type HeardFrame =
  | { readonly kind: 'deliver'; readonly deliver: HeardDeliver }
  | { readonly kind: 'reply'; readonly id: string; readonly data: unknown }
  | { readonly kind: 'error'; readonly id: string; readonly error: HeardError }
  /** Nothing that a link can act on: counted, told once by kind, never answered. */
  | { readonly kind: 'unreadable'; readonly why: string };

export interface HeardError {
  readonly code: string;
  readonly message: string;
  /** How long the peer asks to wait, if it does; not judged yet. */
  readonly guidanceMs: number | null;
}

/** Longest part of a peer's words that is kept. */
const WORDS = 300;

export function readServerFrame(data: unknown): HeardFrame {
  if (typeof data !== 'string') return { kind: 'unreadable', why: 'binary' };
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return { kind: 'unreadable', why: 'not-json' };
  }
  const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined;
  if (type === 'deliver') {
    const read = deliverSchema.safeParse(value);
    return read.success ? { kind: 'deliver', deliver: read.data } : { kind: 'unreadable', why: 'deliver' };
  }
  const read = answerSchema.safeParse(value);
  if (!read.success) return { kind: 'unreadable', why: type === 'action.invoke' ? 'action.invoke' : 'shape' };
  if (read.data.type === 'reply') return { kind: 'reply', id: read.data.id, data: read.data.data };
  const { id, code, message } = read.data;
  return { kind: 'error', id, error: { code, message: message.slice(0, WORDS), guidanceMs: guidanceOf(read.data) } };
}

const registerReply = z.looseObject({
  provider: z.looseObject({ name: z.string(), instance_id: z.string() }),
  accepted_capabilities: z.array(z.looseObject({ name: z.string(), accepted: z.boolean() })),
});

/** Whether a reply to `node.register` makes the connection one: for this very provider, and with cursors. */
export function judgeRegisterReply(
  data: unknown,
  asked: ProviderId,
): { readonly kind: 'accepted' } | { readonly kind: 'refused'; readonly code: string; readonly message: string } {
  const read = registerReply.safeParse(data);
  if (!read.success)
    return { kind: 'refused', code: 'unreadable_reply', message: 'the reply to node.register has not its shape' };
  const { provider, accepted_capabilities: accepted } = read.data;
  if (provider.name !== asked.name || provider.instance_id !== asked.instance)
    return { kind: 'refused', code: 'provider_mismatch', message: 'the reply is for another provider or instance' };
  if (!accepted.some((each) => each.name === CURSOR_CAPABILITY && each.accepted))
    return { kind: 'refused', code: 'cursor_not_accepted', message: `${CURSOR_CAPABILITY} was not accepted` };
  return { kind: 'accepted' };
}

const cursor = z.looseObject({ agent_id: name, delivery_ack_seq: sequence });
const inventoryReply = z.looseObject({
  rejected_agents: z.array(z.looseObject({ agent_id: z.string(), code: z.string() })).default([]),
  cursors: z.array(cursor).default([]),
});
export type HeardInventory = z.infer<typeof inventoryReply>;
export const readInventoryReply = (data: unknown): HeardInventory | undefined => inventoryReply.safeParse(data).data;

const agentReply = z.looseObject({ agent_id: name, delivery_ack_seq: sequence });
/** The reply to `agent.register`; the token in it is not kept. */
export const readAgentReply = (data: unknown): { readonly agentId: string; readonly cursor: number } | undefined => {
  const read = agentReply.safeParse(data).data;
  return read && { agentId: read.agent_id, cursor: read.delivery_ack_seq };
};

export interface NodeFacts {
  readonly nodeId: string;
  readonly nodeName: string;
  readonly provider: ProviderId;
  readonly version: string;
  readonly maxAgents: number;
}

const spoken = ({ name: provider, instance }: ProviderId) => ({ name: provider, instance_id: instance });

/** The body of a register; the caller adds its id. */
export const registerRequest = ({ nodeId, nodeName, provider, version, maxAgents }: NodeFacts) => ({
  v: 1,
  type: 'node.register',
  name: nodeName,
  node_id: nodeId,
  provider: spoken(provider),
  capabilities: [{ name: CURSOR_CAPABILITY }, { name: GUIDANCE_CAPABILITY }],
  max_agents: maxAgents,
  tags: [],
  version,
});

export const heartbeatFrame = ({ provider }: Pick<NodeFacts, 'provider'>, agents: number) => ({
  v: 1,
  type: 'node.heartbeat',
  provider: spoken(provider),
  active_agents: agents,
  handlers_live: false,
});

export const ackFrame = (agent: string, upTo: number) => ({ v: 1, type: 'delivery.ack', agent, up_to_seq: upTo });
