/**
 * Departures (rules 4, 8 and 10): how a provider leaves a connection. What is owed to the database is first written into
 * the node's own table, and removed only after it was carried out; the alarm tries again what failed. A socket that was
 * never bound has no disconnect path. A late close of one that is gone changes nothing.
 */
import { disconnectProvider, restoreProvider } from '../engine/providers.ts';
import type { Attached } from './attached.ts';
import type { Owed } from './records.ts';
import { messageOf, type NodeState } from './state.ts';

/** Takes the provider from a connection; in one turn with the event that made it go. Settled later, in the queue. */
export function leave(node: NodeState, attached: Attached, depart: (at: number) => void): void {
  const { provider } = attached;
  depart(node.host.now());
  node.ready.clear(attached.connection);
  attached.window.clear();
  if (provider === undefined) return;
  node.records.owe({
    connection: attached.connection,
    provider: provider.name,
    instance: provider.instance,
    before: undefined,
  });
  node.records.unbind(attached.connection);
  node.watch(node.host.now() + node.limits.againMs);
}

/** Carries out everything owed. Runs in the queue. */
export async function settleOwed(node: NodeState): Promise<void> {
  for (const owed of node.records.owed()) await settle(node, owed);
}

/** Carries out one owed departure or compensation; what fails stays owed. */
export async function settle(node: NodeState, owed: Owed): Promise<void> {
  const at = { ...node.at(owed.provider), instance: owed.instance };
  const holder = node.holder(owed.provider)?.provider;
  node.freshBudget();
  try {
    await node.steps.at('departure.owed');
    if (holder === undefined) await node.bounded(disconnectProvider(node.engine, at));
    else if (holder.instance !== owed.instance)
      await node.bounded(restoreProvider(node.engine, at, { instance: holder.instance, before: owed.before }));
    await node.steps.at('departure.written');
  } catch (error) {
    node.journal.tell('provider.owed', { node: node.host.node, ...owed, before: undefined, reason: messageOf(error) });
    node.watch(node.host.now() + node.limits.againMs);
    return;
  }
  // A write that was given up may still land after this one: it stays owed until that has.
  if (node.late.has(lateKey(owed))) return;
  node.records.discharge(owed);
  if (holder === undefined)
    node.journal.tell('provider.offline', { node: node.host.node, provider: owed.provider, instance: owed.instance });
}

export const lateKey = ({ connection, provider }: Pick<Owed, 'connection' | 'provider'>): string =>
  `${connection} ${provider}`;

/** After a reset no close event comes: whatever is bound in the table and not attached here has departed. */
export function departMissing(node: NodeState): void {
  for (const binding of node.records.bindings()) {
    const attached = node.sockets.get(binding.connection);
    if (attached?.provider?.name === binding.provider) continue;
    node.records.owe({ ...binding, before: undefined });
    node.records.unbind(binding.connection);
    node.ready.clear(binding.connection);
  }
}
