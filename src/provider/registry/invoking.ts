/** Pending invocations on their way to a connection (rule 11): taken in pages, each attempt one frame under its id. */
import { returnPending, takePending } from '../engine/invocations.ts';
import type { Attached } from './attached.ts';
import { messageOf, type NodeState } from './state.ts';

export async function sendInvocations(node: NodeState, attached: Attached): Promise<void> {
  for (let pages = 0; pages < node.limits.pagesPerWake; pages += 1) {
    const provider = node.policy.speaksFor(attached);
    if (provider === undefined || node.policy.gate(attached, node.host.now(), node.limits) !== undefined) return;
    const at = node.at(provider.name);
    try {
      const frames = await node.bounded(takePending(node.engine, at, node.limits.pageRows));
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
