/**
 * What each frame of a bound connection does (rules 5, 7, 8 and 11). Every handler runs in the node's queue, for a socket
 * that was open and current when its turn came; the answer is written only if it still is.
 */
import type { FrameErrorCode } from '../../domain/provider/codes.ts';
import type { ClientFrame, FrameOf, HeartbeatFrame } from '../../domain/provider/frames.ts';
import { isProjectionDue, type Projection } from '../../domain/provider/liveness.ts';
import type { ProviderId } from '../../domain/provider/names.ts';
import type { AgentReply, InventoryReply } from '../../domain/provider/server-frames.ts';
import { type AgentOutcome, deregisterAgent, recoverAgent, registerAgent } from '../engine/agents.ts';
import { type Certificate, certify } from '../engine/certify.ts';
import { syncInventory } from '../engine/inventory.ts';
import { settleInvocation } from '../engine/invocations.ts';
import { projectHeartbeat } from '../engine/providers.ts';
import type { Attached } from './attached.ts';
import { pump } from './replay.ts';
import type { NodeState } from './state.ts';

export interface Turn<F extends ClientFrame = ClientFrame> {
  readonly node: NodeState;
  readonly attached: Attached;
  readonly frame: F;
  readonly id: string;
  readonly provider: ProviderId;
}

const refuse = ({ node, attached, id }: Turn, code: FrameErrorCode, message: string): void =>
  node.refuse(attached, id, code, message);

const at = ({ node, provider }: Turn) => node.at(provider.name);

/** Whether a frame that names a provider or a node names those of its connection. */
export function misnamed(
  node: NodeState,
  provider: ProviderId,
  frame: Pick<HeartbeatFrame, 'provider' | 'node_id'>,
): 'node_id_mismatch' | 'provider_not_registered' | undefined {
  if (frame.node_id !== undefined && frame.node_id !== node.host.node) return 'node_id_mismatch';
  const named = frame.provider;
  if (named === undefined || (named.name === provider.name && named.instance_id === provider.instance))
    return undefined;
  return 'provider_not_registered';
}

export const projectionOf = (frame: HeartbeatFrame, now: number): Projection => ({
  at: now,
  load: frame.load ?? null,
  handlers: Number(frame.handlers_live),
  active: Array.isArray(frame.active_agents) ? frame.active_agents.length : frame.active_agents,
});

export async function heartbeat(turn: Turn<HeartbeatFrame>): Promise<void> {
  const { node, attached, provider, frame } = turn;
  const projection = projectionOf(frame, node.host.now());
  if (!isProjectionDue(attached.projection, projection, node.limits)) return;
  await node.bounded(projectHeartbeat(node.engine, { ...at(turn), instance: provider.instance }, projection));
  node.counters.projections += 1;
  if (attached.isBound) attached.project(projection);
}

export async function agentRegister(turn: Turn<FrameOf<'agent.register'>>): Promise<void> {
  const { node, frame } = turn;
  const outcome = await node.bounded(
    registerAgent(node.engine, at(turn), {
      name: frame.name,
      invocation: frame.invocation_id,
      session: frame.session_ref,
      resumable: frame.resumable,
      joinGeneral: frame.auto_join_general !== false,
    }),
  );
  answerAgent(turn, outcome, outcome.outcome === 'done' ? { agent: outcome.agent, cursor: 0, skipped: 0 } : undefined);
}

export async function agentRecover(turn: Turn<FrameOf<'agent.recover'>>): Promise<void> {
  const { node, frame } = turn;
  const outcome = await node.bounded(
    recoverAgent(node.engine, at(turn), {
      name: frame.name,
      expected: frame.expected_agent_id,
      invocation: frame.invocation_id,
      session: frame.session_ref,
      resumable: frame.resumable,
    }),
  );
  if (outcome.outcome === 'refused') return answerAgent(turn, outcome, undefined);
  const [certificate] = await node.bounded(certify(node.engine, at(turn), [outcome.agent]));
  answerAgent(turn, certificate === undefined ? { outcome: 'refused', code: 'agent_not_found' } : outcome, certificate);
}

/** The reply carries the cursor; only after it was written is the identity ready. */
function answerAgent(turn: Turn, outcome: AgentOutcome, certificate: Certificate | undefined): void {
  const { node, attached, id } = turn;
  if (outcome.outcome === 'refused') {
    refuse(turn, outcome.code, `the agent was not accepted: ${outcome.code}`);
    return;
  }
  if (certificate === undefined || !holds(turn)) return;
  const scoped = attached.mode === 'agent_scoped';
  const reply: AgentReply = {
    agent_id: outcome.agent,
    token: outcome.token,
    name: outcome.name,
    ...(scoped ? { delivery_ack_seq: certificate.cursor } : {}),
  };
  if (!node.reply(attached, id, reply)) return;
  declareReady(turn, [certificate]);
}

export async function agentDeregister(turn: Turn<FrameOf<'agent.deregister'>>): Promise<void> {
  const { node, attached, frame, id } = turn;
  const outcome = await node.bounded(
    deregisterAgent(node.engine, at(turn), { agent: frame.agent_id, name: frame.name }),
  );
  if (outcome.outcome === 'refused') return refuse(turn, outcome.code, `the agent was not released: ${outcome.code}`);
  node.ready.forget(attached.connection, frame.agent_id);
  attached.window.forget(frame.agent_id);
  node.reply(attached, id, { agent_id: frame.agent_id });
}

export async function inventory(turn: Turn<FrameOf<'inventory.sync'>>): Promise<void> {
  const { node, attached, frame, id } = turn;
  const outcome = await node.bounded(syncInventory(node.engine, at(turn), frame.agents));
  if (!holds(turn)) return;
  const reply: InventoryReply = {
    rebound_agents: outcome.rebound,
    open_invocations: outcome.invocations.open,
    completed_invocations: outcome.invocations.completed,
    rescheduled_invocations: 0,
    rejected_agents: outcome.rejected,
    cursors: outcome.certificates.map(({ agent, cursor }) => ({ agent_id: agent, delivery_ack_seq: cursor })),
  };
  if (!node.reply(attached, id, reply)) return;
  withdrawAbsent(turn, outcome.certificates);
  declareReady(turn, outcome.certificates);
}

/** An authoritative snapshot: whoever is not in it is not ready here any more. */
function withdrawAbsent({ node, attached }: Turn, present: readonly Certificate[]): void {
  const ids = new Set(present.map((each) => each.agent));
  for (const agent of node.ready.agents(attached.connection)) {
    if (ids.has(agent)) continue;
    node.ready.forget(attached.connection, agent);
    attached.window.forget(agent);
  }
}

function declareReady({ node, attached }: Turn, certificates: readonly Certificate[]): void {
  for (const { agent, cursor } of certificates) attached.window.acknowledged(agent, cursor);
  node.ready.certify(attached.connection, certificates);
  pump(node, attached);
}

/** Whether the connection still is who it was when the frame's turn began. */
const holds = ({ attached, provider }: Turn): boolean =>
  attached.socket.isOpen && attached.provider?.name === provider.name && attached.mode !== 'unknown';

export async function actionResult(turn: Turn<FrameOf<'action.result'>>): Promise<void> {
  const { node, attached, frame, id } = turn;
  const isOutput = 'output' in frame;
  const outcome = await node.bounded(
    settleInvocation(node.engine, at(turn), {
      invocation: frame.invocation_id,
      end: isOutput ? 'output' : 'error',
      value: isOutput ? frame.output : frame.error,
    }),
  );
  if (outcome === 'unknown')
    return refuse(turn, 'invocation_not_found', 'no open invocation of that id went to this provider');
  node.reply(attached, id, { invocation_id: frame.invocation_id });
}
