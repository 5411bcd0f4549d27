/**
 * The gate of a send (rules 6 and 9): `delivered` only when the frame was written to the current, bound, fresh, open
 * socket of exactly that provider, and for a deliver only when that identity is live there. Nothing is queued in the node.
 */
import type { SendReason, SendResult } from '../../domain/provider/codes.ts';
import { type Delivery, offered, wrote } from '../../domain/provider/delivery.ts';
import { byteLength } from '../../domain/provider/names.ts';
import type { DeliverFrame, SendableFrame } from '../../domain/provider/server-frames.ts';
import type { Attached } from './attached.ts';
import { drain, pump } from './replay.ts';
import type { NodeState } from './state.ts';

const refused = (reason: SendReason): SendResult => ({ delivered: false, reason });
const DELIVERED: SendResult = { delivered: true };

export async function send(
  node: NodeState,
  provider: string,
  frames: readonly SendableFrame[],
): Promise<readonly SendResult[]> {
  const results: SendResult[] = [];
  node.freshBudget();
  for (const frame of frames) results.push(await sendOne(node, provider, frame));
  return results;
}

async function sendOne(node: NodeState, provider: string, frame: SendableFrame): Promise<SendResult> {
  const attached = node.holder(provider);
  if (attached === undefined) return refused(hasUnbound(node) ? 'unbound' : 'no_provider');
  const reason = node.policy.gate(attached, node.host.now(), node.limits);
  if (reason !== undefined) return refused(reason);
  if (frame.type === 'action.invoke') return node.send(attached, frame) ? DELIVERED : refused('not_open');
  return deliver(node, attached, frame);
}

const hasUnbound = (node: NodeState): boolean =>
  [...node.sockets.values()].some((attached) => !attached.isGone && !attached.isBound && attached.socket.isOpen);

async function deliver(node: NodeState, attached: Attached, frame: DeliverFrame): Promise<SendResult> {
  const { connection } = attached;
  const offer = offered(node.policy.readiness(node.ready, attached, frame.agent_id), frame.seq);
  switch (offer) {
    case 'written':
      return DELIVERED;
    case 'behind':
      return refused('behind');
    case 'not_ready':
      if (attached.mode !== 'immediate') return refused('not_ready');
      // An old peer declares nothing: its agents are ready with it, this one from now on.
      node.ready.certify(connection, [{ agent: frame.agent_id, cursor: 0, skipped: 0 }]);
      pump(node, attached);
      return refused('replaying');
    case 'replaying':
      node.ready.mark(connection, [frame.agent_id]);
      pump(node, attached);
      return refused('replaying');
    case 'drain':
      node.ready.mark(connection, [frame.agent_id]);
      await drain(node, attached, frame.agent_id);
      return afterDrain(node, attached, frame);
    case 'write':
      return write(node, attached, frame);
  }
}

/** What was drained may have been this very row. What could not be drained is met again. */
function afterDrain(node: NodeState, attached: Attached, frame: DeliverFrame): SendResult {
  const delivery = node.policy.readiness(node.ready, attached, frame.agent_id);
  if (delivery.phase === 'Live' && delivery.base < frame.seq && frame.seq <= delivery.sent) return DELIVERED;
  if (attached.isBound) pump(node, attached);
  return refused('behind');
}

function write(node: NodeState, attached: Attached, frame: DeliverFrame): SendResult {
  const text = JSON.stringify(frame);
  const bytes = byteLength(text);
  const { connection } = attached;
  if (!attached.window.isKnown || !attached.window.has(node.limits, bytes)) {
    node.ready.mark(connection, [frame.agent_id]);
    return refused('window');
  }
  if (!attached.socket.send(text)) return refused('not_open');
  attached.window.wrote(frame, bytes);
  const delivery: Delivery = node.policy.readiness(node.ready, attached, frame.agent_id);
  node.ready.wrote(connection, frame.agent_id, wrote(delivery, frame.seq));
  return DELIVERED;
}
