/**
 * The inventory of a connection: every agent of the roster is found or registered, and then certified by one authoritative
 * snapshot. A cursor is taken in the very turn in which its reply comes, so that the next frame is judged by it. One that
 * was acknowledged before the inventory was asked for and is not in its reply was not stored, and is said again. Nothing
 * is sent while the directory does not answer: a snapshot that lacks an agent would take it offline (PRV-11).
 */
import { readAgentReply, readInventoryReply } from '../../domain/provider/link-frames.ts';
import type { InventoryFact } from '../../machines/provider-link.facts.ts';
import type { Journal } from '../../services/ports.ts';
import type { Tally } from '../../services/tally.ts';
import type { Directory } from './ports.ts';
import type { Roster } from './roster.ts';
import type { Session, SessionSetting } from './session.ts';

interface InventoryServices extends Pick<SessionSetting, 'node'> {
  readonly directory: Directory;
  readonly roster: Roster;
  readonly journal: Journal;
  readonly tally: Tally;
}

type Resolved = { readonly kind: 'done' } | Extract<InventoryFact, { type: 'inventory.refused' | 'write.failed' }>;

const done: Resolved = { kind: 'done' };
const refused = (code: string, message: string) => ({ type: 'inventory.refused', code, message }) as const;

export async function syncInventory(
  services: InventoryServices,
  session: Session,
  signal: AbortSignal,
): Promise<InventoryFact> {
  for (const name of services.roster.unknown()) {
    const resolved = await resolve(services, session, name, signal);
    if ('type' in resolved) return resolved;
  }
  const { roster, tally } = services;
  const agents = roster.members().map(({ agentId, name }) => ({ agent_id: agentId, name }));
  // The peer takes frames in their order: what was said before this one is in its reply, what is said after it may not be.
  const said = new Map(session.cursors().map(({ agentId, acked }) => [agentId, acked]));
  return session.ask({ v: 1, type: 'inventory.sync', agents }, (answer): InventoryFact => {
    if (!answer.ok) return refused(answer.code, answer.message);
    const reply = readInventoryReply(answer.data);
    if (reply === undefined) return refused('unreadable_reply', 'the reply to inventory.sync has not its shape');
    for (const { agent_id: agentId, delivery_ack_seq: cursor } of reply.cursors) {
      certify(services, session, agentId, cursor);
      if (cursor < (said.get(agentId) ?? 0)) acknowledgeAgain(services, session, agentId);
    }
    for (const { agent_id: agentId, code } of reply.rejected_agents) {
      const name = roster.nameOf(agentId);
      if (name !== undefined) refuse(services, name, code);
      session.ledger.forget(agentId);
    }
    tally.add('inventories');
    const { length: rejected } = reply.rejected_agents;
    return { type: 'inventory.replied', agents: agents.length - rejected, rejected, gaps: session.ledger.gaps() };
  });
}

/** Finds an agent that is ours already, binds one that is nowhere, registers one that is not there. */
async function resolve(
  services: InventoryServices,
  session: Session,
  name: string,
  signal: AbortSignal,
): Promise<Resolved> {
  const { directory, roster, node } = services;
  const found = await directory.find({ name, signal });
  if (found.kind === 'unavailable') return refused('directory_unavailable', `${name}: ${found.code}`);
  if (found.kind === 'absent') return register(services, session, name);
  if (!found.isLocated) {
    const bound = await directory.bind({ name, signal });
    if (bound.kind === 'unavailable') return refused('directory_unavailable', `${name}: ${bound.code}`);
    if (bound.kind === 'refused') refuse(services, name, bound.code);
    else if (bound.provider !== node.provider.name) refuse(services, name, 'agent_provider_conflict');
    else roster.learn(name, bound.agentId);
    return done;
  }
  if (found.node !== node.nodeId) refuse(services, name, 'agent_location_conflict');
  else if (found.provider !== node.provider.name) refuse(services, name, 'agent_provider_conflict');
  else roster.learn(name, found.agentId);
  return done;
}

/** The reply carries the cursor: the identity is ready with it. Its token is not kept. */
const register = (services: InventoryServices, session: Session, name: string): Promise<Resolved> =>
  session.ask({ v: 1, type: 'agent.register', name }, (answer): Resolved => {
    if (!answer.ok) {
      if (answer.code === 'provider_not_registered') return refused(answer.code, answer.message);
      refuse(services, name, answer.code);
      return done;
    }
    const reply = readAgentReply(answer.data);
    if (reply === undefined) return refused('unreadable_reply', 'the reply to agent.register has not its shape');
    services.roster.learn(name, reply.agentId);
    certify(services, session, reply.agentId, reply.cursor);
    return done;
  });

function certify(
  { roster, journal, tally, node }: InventoryServices,
  session: Session,
  agentId: string,
  cursor: number,
): void {
  const agent = roster.nameOf(agentId);
  if (agent === undefined) return;
  const seeded = session.ledger.seed(agentId, agent, cursor);
  if (seeded.kind === 'seeded') journal.tell('link.agent-certified', { node: node.nodeId, agentId, cursor });
  if (seeded.kind !== 'skipped') return;
  const { from, to } = seeded;
  tally.add('skipped', '', to - from + 1);
  journal.tell('link.skipped', { node: node.nodeId, agentId, from, to });
}

function acknowledgeAgain({ roster, tally }: InventoryServices, session: Session, agentId: string): void {
  const agent = roster.nameOf(agentId);
  const held = session.cursors().find((each) => each.agentId === agentId);
  if (agent === undefined || held === undefined) return;
  tally.add('acks.again');
  session.acknowledge(agent, held.acked);
}

function refuse({ roster, journal, tally, node }: InventoryServices, agent: string, code: string): void {
  tally.add('agents.refused', code);
  if (roster.refuse(agent, code)) journal.tell('link.agent-refused', { node: node.nodeId, agent, code });
}
