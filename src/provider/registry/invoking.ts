/** Pending invocations on their way to a connection (rule 11): taken in pages, each attempt one frame under its id. */
import type { InvokeFrame } from '../../domain/provider/server-frames.ts';
import { type ProviderAt, seconds } from '../engine/engine.ts';
import { returnPending, takePending } from '../engine/invocations.ts';
import type { Attached } from './attached.ts';
import { messageOf, type NodeState } from './state.ts';

export async function sendInvocations(node: NodeState, attached: Attached): Promise<void> {
  for (let pages = 0; pages < node.limits.pagesPerWake; pages += 1) {
    const provider = node.policy.speaksFor(attached);
    if (provider === undefined || node.policy.gate(attached, node.host.now(), node.limits) !== undefined) return;
    const at = node.at(provider.name);
    try {
      const frames = await take(node, at);
      const holds = attached.provider?.name === provider.name;
      const unsent = frames.filter((frame) => !holds || !node.send(attached, frame));
      if (unsent.length > 0)
        await node.bounded(
          returnPending(
            node.engine,
            at,
            unsent.map((frame) => frame.invocation_id),
          ),
        );
      if (unsent.length > 0 || frames.length < node.limits.pageRows) return;
    } catch (error) {
      node.journal.tell('replay.failed', { ...node.names(attached), reason: messageOf(error) });
      return;
    }
  }
}

/** Takes a page. What was given up waiting for and is taken all the same was sent to nobody, and is put back. */
async function take(node: NodeState, at: ProviderAt): Promise<readonly InvokeFrame[]> {
  const takenAt = seconds(node.engine);
  const taking = takePending(node.engine, at, node.limits.pageRows, takenAt);
  try {
    return await node.bounded(taking);
  } catch (error) {
    node.host.background(putBack(node, { ...at, takenAt }, taking));
    throw error;
  }
}

/** Never rejects. The alarm finds what is pending again. */
async function putBack(
  node: NodeState,
  at: ProviderAt & { readonly takenAt: number },
  taking: Promise<readonly InvokeFrame[]>,
): Promise<void> {
  try {
    const late = (await taking.catch(() => [])).map((frame) => frame.invocation_id);
    if (late.length > 0) await returnPending(node.engine, at, late, at.takenAt);
  } catch (error) {
    node.journal.tell('replay.failed', { node: node.host.node, reason: messageOf(error) });
  }
}
