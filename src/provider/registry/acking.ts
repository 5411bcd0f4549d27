/**
 * Acknowledgements of a node's connections (rule 7): those that were waiting together are one batch, and while a replay
 * goes on they ride on the batch of its next page.
 */
import type { AckFrame } from '../../domain/provider/frames.ts';
import { type Ack, type AckOutcome, acknowledging, ackOutcome } from '../engine/acks.ts';
import { deliveredMark } from '../engine/deliveries.ts';
import type { Row } from '../storage/port.ts';
import type { Attached } from './attached.ts';
import { pageWith, pump } from './replay.ts';
import { messageOf, type NodeState, storageCode } from './state.ts';

export interface WaitingAck {
  readonly attached: Attached;
  readonly frame: AckFrame;
  /** Of the queue that it takes while it waits. */
  readonly bytes: number;
}

export async function takeAcks(node: NodeState, waiting: readonly WaitingAck[]): Promise<void> {
  node.freshBudget();
  for (const { attached, bytes } of waiting) attached.unqueued(bytes);
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
  const at = node.at(provider.name);
  try {
    for (const acks of roundsOf(attached, frames)) {
      const take = (results: readonly (readonly Row[])[]) => note(node, attached, frames, ackOutcome(acks, results));
      const statements = acknowledging(node.engine, at, acks);
      if (!(await pageWith(node, attached, { statements, take }))) {
        const written = attached.unmarked;
        const marks = written.length > 0 ? [deliveredMark(node.engine, written)] : [];
        take(await node.bounded(node.engine.storage.batch([...statements, ...marks])));
        attached.unmarked = [];
      }
    }
    pump(node, attached);
  } catch (error) {
    node.journal.tell('storage.failed', { ...node.names(attached), frame: 'delivery.ack', reason: messageOf(error) });
    node.refuse(attached, frames[0]?.id, storageCode(error), 'the acknowledgement could not be stored');
  }
}

function note(node: NodeState, attached: Attached, frames: readonly AckFrame[], outcome: AckOutcome): void {
  for (const { agent, cursor } of outcome.moved) attached.window.acknowledged(agent, cursor);
  node.counters.acksDropped += outcome.beyond.length;
  for (const each of outcome.beyond) node.journal.tell('ack.dropped', { ...node.names(attached), ...each });
  for (const name of outcome.unknown) {
    const frame = frames.find((each) => each.agent === name);
    node.refuse(attached, frame?.id, 'agent_not_found', 'the acknowledged agent is not one of this provider');
  }
}

/**
 * Each agent once a round. Acks are cumulative, so that of those which this connection has surely written the highest
 * stands for all; one above that is looked at on its own, since it is dropped whole when it is beyond everything.
 */
export function roundsOf(attached: Pick<Attached, 'window'>, frames: readonly AckFrame[]): readonly (readonly Ack[])[] {
  const rounds: Map<string, Ack>[] = [new Map()];
  for (const { agent, up_to_seq: upTo } of frames) {
    const { seq: written, agent: writtenTo } = attached.window.highest(agent);
    const first = rounds[0]?.get(agent);
    if (upTo <= written && (first === undefined || first.upTo <= written)) {
      rounds[0]?.set(agent, { agent, upTo: Math.max(upTo, first?.upTo ?? 0), written, writtenTo });
      continue;
    }
    const free = rounds.find((round) => !round.has(agent)) ?? new Map<string, Ack>();
    if (!rounds.includes(free)) rounds.push(free);
    free.set(agent, { agent, upTo, written, writtenTo });
  }
  return rounds.map((round) => [...round.values()]).filter((round) => round.length > 0);
}
