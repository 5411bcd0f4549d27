/**
 * The registry of one node: every socket of the node, and the one queue through which everything that concerns it goes.
 * The same code in-process and inside the Durable Object. See `ports.ts` for what it needs, `policy.ts` for what it decides.
 */
import { closeCodes, type SendResult } from '../../domain/provider/codes.ts';
import type { AckFrame, ClientFrame } from '../../domain/provider/frames.ts';
import { isProjectionDue } from '../../domain/provider/liveness.ts';
import type { SendableFrame } from '../../domain/provider/server-frames.ts';
import { takeAcks } from './acking.ts';
import { Attached } from './attached.ts';
import { departMissing, leave, settleOwed } from './departures.ts';
import {
  actionResult,
  agentDeregister,
  agentRecover,
  agentRegister,
  heartbeat,
  inventory,
  misnamed,
  projectionOf,
} from './handlers.ts';
import type { NodeSocket } from './ports.ts';
import { deregister, register } from './register.ts';
import { send } from './send.ts';
import { messageOf, type NodeCounters, type NodeParts, NodeState, storageCode } from './state.ts';
import { nextDeadline, sweep } from './sweep.ts';

export class NodeRegistry {
  readonly #node: NodeState;
  readonly #attached = new WeakMap<NodeSocket, Attached>();

  constructor(parts: NodeParts) {
    this.#node = new NodeState(parts);
    for (const socket of parts.host.sockets()) this.#restore(socket);
    this.#wake();
  }

  get counters(): Readonly<NodeCounters> {
    return this.#node.counters;
  }

  /** A socket was accepted for this node. It is nothing but transport until a register succeeds on it. */
  opened(socket: NodeSocket): void {
    const node = this.#node;
    const { reapMs, unboundMs, registerMs } = node.limits;
    const input = {
      connection: node.host.newId('conn'),
      workspace: node.host.workspace,
      node: node.host.node,
      openedAt: node.host.now(),
      bounds: { reapMs, unboundMs, registerMs },
    };
    const attached = Attached.open(socket, input, node.look);
    this.#keep(socket, attached);
    node.watch(attached.due);
    node.journal.tell('socket.opened', node.names(attached));
  }

  /** A frame arrived. What is decided before the first await is rule 1. */
  async received(socket: NodeSocket, data: unknown): Promise<void> {
    const node = this.#node;
    const attached = this.#attached.get(socket);
    if (attached === undefined || attached.isGone) return;
    const arrival = node.policy.arrival(attached, data, node.limits);
    if (arrival.outcome === 'refused') return node.refuse(attached, arrival.id, arrival.code, arrival.message);
    if (arrival.outcome === 'too_big') return this.#expel(attached, 'socket.closed', 'too_big');
    node.counters.framesAccepted += 1;
    attached.seen(node.host.now());
    const { frame } = arrival;
    if (isQuiet(node, attached, frame)) return;
    const bytes = (data as string).length;
    if (!attached.admits(bytes, node.limits)) return this.#expel(attached, 'queue.overflowed', 'overloaded');
    attached.queued(bytes);
    if (frame.type === 'node.register') attached.step({ type: 'register.asked', at: node.host.now() });
    if (frame.type === 'delivery.ack')
      return node.queue.merge('delivery.ack', { attached, frame, bytes }, (waiting) => takeAcks(node, waiting));
    await node.queue.push(() => handle(node, attached, frame)).finally(() => attached.unqueued(bytes));
  }

  /** The socket closed, or failed. */
  async closed(socket: NodeSocket): Promise<void> {
    const node = this.#node;
    const attached = this.#attached.get(socket);
    if (attached === undefined) return;
    node.sockets.delete(attached.connection);
    if (attached.isGone) return;
    node.journal.tell('socket.closed', node.names(attached));
    leave(node, attached, (at) => attached.step({ type: 'socket.closed', at }));
    await node.queue.push(() => settleOwed(node));
  }

  /** Frames for one provider of this node, answered in order. */
  send(provider: string, frames: readonly SendableFrame[]): Promise<readonly SendResult[]> {
    return this.#node.queue.push(() => send(this.#node, provider, frames));
  }

  /** The node's alarm is due. */
  alarm(): Promise<void> {
    return this.#node.queue.push(() => sweep(this.#node));
  }

  /** Resolves when nothing waits and nothing runs. */
  idle(): Promise<void> {
    return this.#node.queue.idle();
  }

  /** The server stops: every socket is told so, and its provider departs. */
  async stop(): Promise<void> {
    for (const attached of [...this.#node.sockets.values()])
      if (!attached.isGone) this.#expel(attached, 'socket.closed', 'shutting_down');
    await this.#node.queue.push(() => settleOwed(this.#node));
    this.#node.host.setAlarm(null);
  }

  /** Closes a socket of ours, for a reason of ours. */
  #expel(attached: Attached, type: 'socket.closed' | 'queue.overflowed', reason: keyof typeof closeCodes): void {
    const node = this.#node;
    if (type === 'queue.overflowed') node.journal.tell('socket.overloaded', node.names(attached));
    leave(node, attached, (at) => attached.step({ type, at }));
    attached.socket.close(closeCodes[reason], reason.replaceAll('_', ' '));
    node.host.background(node.queue.push(() => settleOwed(node)));
  }

  #restore(socket: NodeSocket): void {
    const attached = Attached.restore(socket, this.#node.look);
    if (attached !== undefined) this.#keep(socket, attached);
  }

  #keep(socket: NodeSocket, attached: Attached): void {
    this.#attached.set(socket, attached);
    this.#node.sockets.set(attached.connection, attached);
  }

  /** After hibernation or a reset: what is missing has departed, and the alarm is armed when there is anything to watch. */
  #wake(): void {
    const node = this.#node;
    departMissing(node);
    const owed = node.records.owed().length;
    if (owed === 0 && node.sockets.size === 0) return;
    node.journal.tell('object.woke', { node: node.host.node, sockets: node.sockets.size, owed });
    const isReplaying = [...node.sockets.values()].some((attached) => node.records.isReplaying(attached.connection));
    node.watch(isReplaying ? node.host.now() : (nextDeadline(node) ?? node.host.now()));
    if (owed > 0) node.host.background(node.queue.push(() => settleOwed(node)));
  }
}

/** A heartbeat that says nothing new is a sign of life and nothing more: no queue, no write. */
function isQuiet(node: NodeState, attached: Attached, frame: ClientFrame): boolean {
  if (frame.type !== 'node.heartbeat') return false;
  const provider = node.policy.speaksFor(attached);
  if (provider === undefined || misnamed(node, provider, frame) !== undefined) return false;
  return !isProjectionDue(attached.projection, projectionOf(frame, node.host.now()), node.limits);
}

/** One frame's turn in the queue. A frame whose socket is no longer open and current is dropped (rule 2). */
async function handle(node: NodeState, attached: Attached, frame: Exclude<ClientFrame, AckFrame>): Promise<void> {
  if (attached.isGone || !attached.socket.isOpen) {
    node.counters.framesDropped += 1;
    return;
  }
  node.freshBudget();
  const id = frame.id ?? node.host.newId('srv');
  if (frame.type === 'node.register') return register(node, attached, frame, id);
  const provider = node.policy.speaksFor(attached);
  if (provider === undefined)
    return node.refuse(attached, id, 'provider_not_registered', 'node.register has not succeeded on this connection');
  const turn = { node, attached, id, provider };
  try {
    switch (frame.type) {
      case 'node.heartbeat':
      case 'node.deregister': {
        const code = misnamed(node, provider, frame);
        if (code !== undefined) return node.refuse(attached, id, code, 'the frame names another provider or node');
        return await (frame.type === 'node.heartbeat' ? heartbeat({ ...turn, frame }) : deregister(node, attached, id));
      }
      case 'agent.register':
        return await agentRegister({ ...turn, frame });
      case 'agent.recover':
        return await agentRecover({ ...turn, frame });
      case 'agent.deregister':
        return await agentDeregister({ ...turn, frame });
      case 'inventory.sync':
        return await inventory({ ...turn, frame });
      case 'action.result':
        return await actionResult({ ...turn, frame });
    }
  } catch (error) {
    node.journal.tell('storage.failed', { ...node.names(attached), frame: frame.type, reason: messageOf(error) });
    node.refuse(attached, id, storageCode(error), 'the database did not carry the frame out');
  }
}
