/** Acknowledgements of a node's connections: those that were waiting together are one batch (rule 7). */
import type { AckFrame } from '../../domain/provider/frames.ts';
import { type Ack, acknowledge } from '../engine/acks.ts';
import type { Attached } from './attached.ts';
import { pump } from './replay.ts';
import { messageOf, type NodeState, storageCode } from './state.ts';

export interface WaitingAck {
  readonly attached: Attached;
  readonly frame: AckFrame;
}

export async function takeAcks(node: NodeState, waiting: readonly WaitingAck[]): Promise<void> {
  node.freshBudget();
  for (const [attached, acks] of Map.groupBy(waiting, (each) => each.attached))
    await takeFrom(
      node,
      attached,
      acks.map((each) => each.frame),
    );
}

async function takeFrom(node: NodeState, attached: Attached, frames: readonly AckFrame[]): Promise<void> {
  const provider = attached.socket.isOpen ? node.policy.speaksFor(attached) : undefined;
  if (provider === undefined) {
    node.counters.framesDropped += frames.length;
    return;
  }
  try {
    for (const acks of roundsOf(attached, frames)) {
      const outcome = await node.bounded(acknowledge(node.engine, node.at(provider.name), acks));
      for (const { agent, cursor } of outcome.moved) attached.window.acknowledged(agent, cursor);
      node.counters.acksDropped += outcome.beyond.length;
      for (const each of outcome.beyond) node.journal.tell('ack.dropped', { ...node.names(attached), ...each });
      for (const name of outcome.unknown) {
        const frame = frames.find((each) => each.agent === name);
        node.refuse(attached, frame?.id, 'agent_not_found', 'the acknowledged agent is not one of this provider');
      }
    }
    pump(node, attached);
  } catch (error) {
    node.journal.tell('storage.failed', { ...node.names(attached), frame: 'delivery.ack', reason: messageOf(error) });
    node.refuse(attached, frames[0]?.id, storageCode(error), 'the acknowledgement could not be stored');
  }
}

/**
 * Each agent once a round. Acks are cumulative, so that of those which this connection has surely written the highest
 * stands for all; one above that is looked at on its own, since it is dropped whole when it is beyond everything.
 */
export function roundsOf(attached: Pick<Attached, 'window'>, frames: readonly AckFrame[]): readonly (readonly Ack[])[] {
  const rounds: Map<string, Ack>[] = [new Map()];
  for (const { agent, up_to_seq: upTo } of frames) {
    const written = attached.window.highest(agent);
    const first = rounds[0]?.get(agent);
    if (upTo <= written && (first === undefined || first.upTo <= written)) {
      rounds[0]?.set(agent, { agent, upTo: Math.max(upTo, first?.upTo ?? 0), written });
      continue;
    }
    const free = rounds.find((round) => !round.has(agent)) ?? new Map<string, Ack>();
    if (!rounds.includes(free)) rounds.push(free);
    free.set(agent, { agent, upTo, written });
  }
  return rounds.map((round) => [...round.values()]).filter((round) => round.length > 0);
}
