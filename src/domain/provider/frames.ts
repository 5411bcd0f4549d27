/**
 * The client frames of the provider plane: strict schemas, one for each type. Unknown keys are refused; `null` is
 * accepted for `resume_cursor` and `load` only; ids and names are at most 128 bytes (rule 1, and the table of the wire).
 */
import { z } from 'zod';
import { name } from './names.ts';

/** A sequence, a count, a gauge: whole numbers that JSON carries without loss. */
const whole = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const count = z.number().int().min(0).max(1_000_000);
const gauge = z.number().min(0).max(1_000_000_000);
const version = z.union([name, z.literal('')]);
const json = z.record(z.string(), z.unknown());

const base = { v: z.literal(1), id: name.optional() };
const provider = z.strictObject({ name, instance_id: name });

const capability = z.strictObject({
  name,
  kind: name.optional(),
  global: z.boolean().optional(),
  queue: z.union([z.boolean(), name]).optional(),
  metadata: json.optional(),
});

const nodeRegister = z.strictObject({
  ...base,
  type: z.literal('node.register'),
  name,
  node_id: name,
  provider: provider.optional(),
  capabilities: z.array(capability).max(1_000),
  max_agents: count,
  tags: z.array(name).max(1_000),
  version,
  repo_keys: z.array(name).max(1_000).optional(),
  machine_id: name.optional(),
  resume_cursor: z.union([name, whole, z.null()]).optional(),
});

const nodeHeartbeat = z.strictObject({
  ...base,
  type: z.literal('node.heartbeat'),
  provider: provider.optional(),
  load: z.union([gauge, z.null()]).optional(),
  load_reported: z.boolean().optional(),
  /** A count, or with `relay:live-agents:v1` the ids themselves. */
  active_agents: z.union([count, z.array(name).max(10_000)]),
  /** Whether, or how many, action handlers run. */
  handlers_live: z.union([z.boolean(), count]),
  name: name.optional(),
  node_id: name.optional(),
  capabilities: z.array(capability).max(1_000).optional(),
  max_agents: count.optional(),
  version: version.optional(),
});

const nodeDeregister = z.strictObject({
  ...base,
  type: z.literal('node.deregister'),
  provider: provider.optional(),
});

const session = { invocation_id: name.optional(), session_ref: name.optional() };

const agentRegister = z.strictObject({
  ...base,
  type: z.literal('agent.register'),
  name,
  ...session,
  resumable: z.boolean().optional(),
  auto_join_general: z.boolean().optional(),
});

const agentRecover = z.strictObject({
  ...base,
  type: z.literal('agent.recover'),
  name,
  expected_agent_id: name,
  ...session,
  resumable: z.boolean().optional(),
});

const agentDeregister = z.strictObject({
  ...base,
  type: z.literal('agent.deregister'),
  agent_id: name,
  name: name.optional(),
});

const member = z.strictObject({ agent_id: name, name, ...session });

const inventorySync = z.strictObject({
  ...base,
  type: z.literal('inventory.sync'),
  agents: z.array(member).max(10_000),
});

const deliveryAck = z.strictObject({ ...base, type: z.literal('delivery.ack'), agent: name, up_to_seq: whole });

const actionResult = z
  .strictObject({
    ...base,
    type: z.literal('action.result'),
    invocation_id: name,
    output: z.unknown().optional(),
    error: z.unknown().optional(),
  })
  .refine((frame) => 'output' in frame !== 'error' in frame, 'must have exactly one of output and error');

export const clientFrames = {
  'node.register': nodeRegister,
  'node.heartbeat': nodeHeartbeat,
  'node.deregister': nodeDeregister,
  'agent.register': agentRegister,
  'agent.recover': agentRecover,
  'agent.deregister': agentDeregister,
  'inventory.sync': inventorySync,
  'delivery.ack': deliveryAck,
  'action.result': actionResult,
} as const;

export type FrameType = keyof typeof clientFrames;
export type FrameOf<T extends FrameType> = z.infer<(typeof clientFrames)[T]>;
export type ClientFrame = { [T in FrameType]: FrameOf<T> }[FrameType];

export type RegisterFrame = FrameOf<'node.register'>;
export type HeartbeatFrame = FrameOf<'node.heartbeat'>;
export type InventoryFrame = FrameOf<'inventory.sync'>;
export type InventoryMember = InventoryFrame['agents'][number];
export type AckFrame = FrameOf<'delivery.ack'>;
export type AdvertisedCapability = RegisterFrame['capabilities'][number];

export const isFrameType = (type: string): type is FrameType => Object.hasOwn(clientFrames, type);
