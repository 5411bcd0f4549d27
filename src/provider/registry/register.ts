/**
 * Binding (rules 3 and 4): arbitrate, one database batch, and then in one synchronous turn arbitrate again, supersede,
 * write the attachment, clear its ready set, reply. Whatever goes wrong in between leaves neither half deliverable: the
 * compensation was owed before the batch, and is conditional on the instance being ours.
 */
import { type Arbitration, arbitrate } from '../../domain/provider/arbitration.ts';
import { advertises, GUIDANCE_CAPABILITY, judgeCapabilities } from '../../domain/provider/capabilities.ts';
import { closeCodes } from '../../domain/provider/codes.ts';
import type { RegisterFrame } from '../../domain/provider/frames.ts';
import type { ProviderId } from '../../domain/provider/names.ts';
import { keepsReadiness, modeOf, providerOf } from '../../domain/provider/readiness.ts';
import { conflictFrame, type RegisterReply } from '../../domain/provider/server-frames.ts';
import { agentsOf, certify } from '../engine/certify.ts';
import { seconds } from '../engine/engine.ts';
import { reschedule } from '../engine/invocations.ts';
import { readStanding, type Standing, writeRegistration } from '../engine/providers.ts';
import type { Attached } from './attached.ts';
import { lateKey, leave, settle } from './departures.ts';
import { sendInvocations } from './invoking.ts';
import type { Owed } from './records.ts';
import { pump } from './replay.ts';
import { messageOf, type NodeState, storageCode } from './state.ts';

interface Request {
  readonly attached: Attached;
  readonly frame: RegisterFrame;
  readonly id: string;
  readonly provider: ProviderId;
}

export async function register(node: NodeState, attached: Attached, frame: RegisterFrame, id: string): Promise<void> {
  const request = { attached, frame, id, provider: providerOf(frame, attached.connection) };
  if (frame.node_id !== node.host.node) {
    fail(node, request);
    return node.refuse(attached, id, 'node_id_mismatch', `node_id is not the node of this token`);
  }
  const verdict = contest(node, request);
  if (verdict.outcome === 'conflict') return conflict(node, request, verdict.retryAfterMs);
  let written: Written;
  try {
    written = await write(node, request);
  } catch (error) {
    node.journal.tell('storage.failed', { ...node.names(attached), frame: frame.type, reason: messageOf(error) });
    fail(node, request);
    node.refuse(attached, id, storageCode(error), 'the registration could not be stored');
    return settleOwnedBy(node, attached.connection);
  }
  await node.steps.at('register.written');
  if (written.outcome === 'no_node') {
    fail(node, request);
    return node.refuse(attached, id, 'node_not_found', 'the node of this token is not there');
  }
  const again = contest(node, request);
  if (attached.isGone || !attached.socket.isOpen) return settle(node, written.owed);
  if (again.outcome === 'conflict') {
    conflict(node, request, again.retryAfterMs);
    return settle(node, written.owed);
  }
  const before = attached.provider;
  bind(node, request, written, again.supersedes);
  await node.steps.at('register.bound');
  if (before !== undefined && before.name !== request.provider.name) await settleOwnedBy(node, attached.connection);
  await resume(node, request, written.standing);
}

const contest = (node: NodeState, { attached, provider }: Request): Arbitration => {
  const holder = node.holder(provider.name);
  return arbitrate({
    incumbent:
      holder?.provider === undefined || !holder.socket.isOpen
        ? undefined
        : {
            connection: holder.connection,
            instance: holder.provider.instance,
            lastSeen: node.policy.lastSign(holder, node.host.now()),
          },
    challenger: { connection: attached.connection, instance: provider.instance },
    now: node.host.now(),
    limits: node.limits,
  });
};

type Written =
  | { readonly outcome: 'no_node' }
  | {
      readonly outcome: 'written';
      readonly owed: Owed;
      readonly standing: Standing;
      readonly reply: Omit<RegisterReply, 'last_heartbeat_at'>;
    };

async function write(node: NodeState, { attached, frame, provider }: Request): Promise<Written> {
  const at = node.at(provider.name);
  const standing = await node.bounded(readStanding(node.engine, at));
  if (standing.node === undefined) return { outcome: 'no_node' };
  const verdicts = judgeCapabilities(frame.capabilities, {
    taken: standing.taken,
    named: frame.provider !== undefined,
  });
  const owed: Owed = {
    connection: attached.connection,
    provider: provider.name,
    instance: provider.instance,
    before: standing.before,
  };
  node.records.owe(owed);
  await node.steps.at('register.owed');
  const registration = {
    ...at,
    instance: provider.instance,
    advertised: frame.capabilities,
    verdicts,
    maxAgents: frame.max_agents,
    tags: frame.tags,
    version: frame.version,
  };
  await node.bounded(writeRegistration(node.engine, registration), lateKey(owed));
  return {
    outcome: 'written',
    owed,
    standing,
    reply: {
      id: node.host.node,
      ...standing.node,
      status: 'online',
      live: true,
      provider: { name: provider.name, instance_id: provider.instance },
      accepted_capabilities: verdicts.accepted,
      max_agents: frame.max_agents,
      active_agents: standing.agents,
    },
  };
}

/** The synchronous turn: nothing here may await. */
function bind(
  node: NodeState,
  { attached, frame, id, provider }: Request,
  written: Extract<Written, { outcome: 'written' }>,
  supersedes: string | undefined,
): void {
  const incumbent = supersedes === undefined ? node.holder(provider.name) : node.sockets.get(supersedes);
  if (incumbent !== undefined && incumbent !== attached) supersede(node, incumbent);
  const held = attached.provider;
  const mode = modeOf(frame);
  const keeps = keepsReadiness(held && { provider: held, mode: attached.mode }, { provider, mode });
  // The connection changes its provider: the one it held departs like any other.
  if (held !== undefined && held.name !== provider.name)
    node.records.owe({
      connection: attached.connection,
      provider: held.name,
      instance: held.instance,
      before: undefined,
    });
  const at = node.host.now();
  attached.step({ type: 'register.accepted', at, provider, mode });
  attached.project(null);
  node.records.bind({ connection: attached.connection, provider: provider.name, instance: provider.instance });
  node.records.discharge(written.owed);
  if (!keeps) {
    node.ready.clear(attached.connection);
    attached.window.clear();
  }
  // Everything that waits is looked at now, and from then on at intervals.
  node.records.retriedAt = at;
  node.watch(Math.min(attached.due, at + node.limits.retryMs));
  node.reply(attached, id, { ...written.reply, last_heartbeat_at: seconds(node.engine) });
  node.journal.tell('provider.bound', { ...node.names(attached), instance: provider.instance, mode });
}

function supersede(node: NodeState, incumbent: Attached): void {
  node.journal.tell('provider.superseded', node.names(incumbent));
  incumbent.step({ type: 'challenger.accepted', at: node.host.now() });
  node.ready.clear(incumbent.connection);
  node.records.unbind(incumbent.connection);
  incumbent.socket.close(closeCodes.superseded, 'superseded');
}

/** After the reply: an old peer's agents are ready at once; pending invocations go out. */
async function resume(node: NodeState, { attached, provider }: Request, { before }: Standing): Promise<void> {
  const at = node.at(provider.name);
  try {
    if (attached.mode === 'immediate') {
      const agents = await node.bounded(agentsOf(node.engine, at));
      const certificates = await node.bounded(certify(node.engine, at, agents));
      if (attached.mode === 'immediate') node.ready.certify(attached.connection, certificates);
    }
    if (before !== undefined && before.instance !== provider.instance) await node.bounded(reschedule(node.engine, at));
  } catch (error) {
    node.journal.tell('replay.failed', { ...node.names(attached), reason: messageOf(error) });
    node.watch(node.host.now() + node.limits.againMs);
  }
  await sendInvocations(node, attached);
  pump(node, attached);
}

function conflict(node: NodeState, request: Request, retryAfterMs: number): void {
  fail(node, request);
  node.counters.conflicts += 1;
  node.journal.tell('provider.conflicted', { ...node.names(request.attached), retryAfterMs });
  const guided = advertises(request.frame.capabilities, GUIDANCE_CAPABILITY);
  node.send(request.attached, conflictFrame(request.id, retryAfterMs, guided));
}

/** A failed registration leaves nothing deliverable on its connection (rule 4). */
function fail(node: NodeState, { attached }: Request): void {
  attached.step({ type: 'register.failed', at: node.host.now() });
  node.ready.clear(attached.connection);
  attached.window.clear();
}

async function settleOwnedBy(node: NodeState, connection: string): Promise<void> {
  for (const owed of node.records.owed()) if (owed.connection === connection) await settle(node, owed);
}

/** `node.deregister`: the provider leaves this connection, which stays open and unbound. */
export async function deregister(node: NodeState, attached: Attached, id: string): Promise<void> {
  leave(node, attached, (at) => attached.step({ type: 'provider.deregistered', at }));
  node.watch(attached.due);
  await settleOwnedBy(node, attached.connection);
  node.reply(attached, id, { id: node.host.node, status: 'offline' });
}
