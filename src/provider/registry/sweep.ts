/**
 * The sweep of a node (rules 6, 8 and 10), on its alarm: reap what is silent, depart what is missing, carry out what is
 * owed, look again for queued rows of live identities, go on with replays. It refreshes nothing. Whatever happens in it,
 * the alarm is armed again, and never for now.
 */
import { closeCodes } from '../../domain/provider/codes.ts';
import { agentsWithQueued } from '../engine/deliveries.ts';
import { hasPending } from '../engine/invocations.ts';
import type { Attached } from './attached.ts';
import { departMissing, leave, settleOwed } from './departures.ts';
import { sendInvocations } from './invoking.ts';
import { mark, pump } from './replay.ts';
import { messageOf, type NodeState } from './state.ts';

/** Runs in the queue. Never rejects. */
export async function sweep(node: NodeState): Promise<void> {
  node.counters.sweeps += 1;
  node.freshBudget();
  node.pages = 0;
  node.reap({ type: 'alarm.fired', at: node.host.now() });
  try {
    for (const attached of [...node.sockets.values()]) examine(node, attached);
    departMissing(node);
    await settleOwed(node);
    if (node.host.now() - node.records.retriedAt >= node.limits.retryMs) await retry(node);
    for (const attached of node.sockets.values()) {
      if (!attached.isBound) continue;
      await mark(node, attached);
      pump(node, attached);
    }
    node.reap({ type: 'sweep.ended', at: node.host.now(), next: nextDeadline(node) });
  } catch (error) {
    node.journal.tell('sweep.failed', { node: node.host.node, reason: messageOf(error) });
    node.reap({ type: 'sweep.failed', at: node.host.now() });
  }
}

function examine(node: NodeState, attached: Attached): void {
  const at = node.host.now();
  if (attached.isGone) {
    if (!attached.socket.isOpen) node.sockets.delete(attached.connection);
    return;
  }
  if (!attached.socket.isOpen) {
    leave(node, attached, () => attached.step({ type: 'socket.closed', at }));
    return;
  }
  // A clock that went back: the bound runs anew from now, once.
  if (attached.lastSeen > at) attached.seen(at);
  const { isBound } = attached;
  leaveIfReaped(node, attached, at);
  if (attached.isReaped) node.journal.tell('socket.reaped', { ...node.names(attached), isBound });
}

/** The attachment is overwritten as gone before the socket is closed: towards a silent peer it stays listed for long. */
function leaveIfReaped(node: NodeState, attached: Attached, at: number): void {
  const event = { type: 'time.passed', at, lastSeen: node.policy.lastSign(attached, at) } as const;
  if (!attached.wouldEnd(event)) {
    attached.step(event);
    return;
  }
  leave(node, attached, () => attached.step(event));
  attached.socket.close(closeCodes.reaped, 'reaped');
}

/** Queued rows of live identities, and pending invocations, that nobody came back to. */
async function retry(node: NodeState): Promise<void> {
  node.records.retriedAt = node.host.now();
  for (const attached of node.sockets.values()) {
    if (!attached.isBound) continue;
    const agents = node.ready.agents(attached.connection);
    if (agents.length > 0)
      node.ready.mark(attached.connection, await node.bounded(agentsWithQueued(node.engine, agents)));
    const provider = attached.provider;
    if (provider !== undefined && (await node.bounded(hasPending(node.engine, node.at(provider.name)))))
      await sendInvocations(node, attached);
  }
}

/** When queued rows and pending invocations are looked for next. */
export const retryDue = (node: NodeState): number => node.records.retriedAt + node.limits.retryMs;

export function nextDeadline(node: NodeState): number | null {
  const now = node.host.now();
  const due: number[] = [];
  for (const attached of node.sockets.values()) {
    if (attached.isGone) continue;
    // No clock that jumped lets a socket go unexamined for longer than its bound.
    due.push(Math.min(attached.due, now + node.limits.reapMs));
    if (attached.isBound) due.push(retryDue(node));
  }
  if (node.records.owed().length > 0) due.push(now + node.limits.againMs);
  return due.length === 0 ? null : Math.min(...due);
}
