/** What the manager's rail does: lifecycles of agents, attach sessions, and the gate. */
import { rmSync } from 'node:fs';
import type { NatsConnection } from '@nats-io/nats-core';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import type { Credential } from '../services/credential.ts';
import { credsPath, keepCreds, mint, openCreds } from '../services/local/mint.ts';
import type { Journal } from '../services/ports.ts';
import { type Attached, attach, repairGate, retire } from './embed.ts';
import { grantAgent } from './grant.ts';
import { addAgent, lifecycleOf } from './lifecycle.ts';
import type { ManagerHandlers } from './manager-rail.ts';
import type { EmbeddedPorts } from './ports.ts';
import type { Workstation } from './workstation.ts';

export interface ManagerWork {
  readonly root: string;
  readonly space: string;
  readonly family: { readonly endpoint: string; readonly instance: string };
  readonly lifecycleUid: string;
  readonly incarnation: string;
  readonly keys: Workstation['keys'];
  readonly ports: EmbeddedPorts;
  /** Of the goal-writer: lifecycles are written as it. */
  goals(): NatsConnection;
  readonly journal: Journal;
  processEpoch(): number;
  readonly mayRenew: () => boolean;
  /** Whether whoever does this serves in the family itself: then it cannot clear it. */
  readonly serves: boolean;
}

/** A repair revokes and evicts the whole family before it opens the gate. */
const keptOut: EmbeddedPorts['revoke'] = async () => ({
  type: 'store.refused',
  reason:
    'the manager that was asked serves in this family and would evict itself: restart it, its start repairs the gate',
});

/** Where the credential of an agent lies on this root. */
export const agentPath = (root: string, space: string, principal: string): string =>
  credsPath(root, space, `agents/${principal}`);

/**
 * Takes the credential of a lifecycle away. The name is free by now: a file that a successor has put there stays, and so does
 * one that cannot be read. From the look to the removal it is one turn, and whoever adds an agent does it in this process.
 */
function forgetCreds(path: string, uid: string): void {
  try {
    const kept = openCreds(path);
    if (kept !== undefined && lifecycleOf(kept) === uid) rmSync(path, { force: true });
  } catch (error) {
    if (!(error instanceof Plane3Error)) throw error;
  }
}

export function managerHandlers(of: ManagerWork): ManagerHandlers {
  const { root, space, ports, keys } = of;
  const sessions = new Map<string, Attached>();
  const busy = new Set<string>();
  const sessionPath = (session: string): string => credsPath(root, space, `sessions/${session}`);
  /** One at a time for each session: a second holder would be one that nobody ends. */
  const alone = async <T>(session: string, work: () => Promise<T>): Promise<T> => {
    if (busy.has(session)) {
      throw new Plane3Error('manager.session', { session, reason: 'it is being attached or detached just now' });
    }
    busy.add(session);
    try {
      return await work();
    } finally {
      busy.delete(session);
    }
  };
  const credentialOf = (principal: string): Credential => {
    const path = agentPath(root, space, principal);
    const current = openCreds(path);
    if (current === undefined) throw new Plane3Error('manager.no-keys', { principal, path });
    return current;
  };
  return {
    status: async () => ({
      incarnation: of.incarnation,
      instance: of.family.instance,
      processEpoch: of.processEpoch(),
      mayRenew: of.mayRenew(),
      sessions: [...sessions.keys()],
    }),
    provision: async ({ name, owner, read, post }) => {
      const added = await addAgent({
        connection: of.goals(),
        keys,
        name,
        read,
        post,
        ...(owner === undefined ? {} : { owner }),
        by: { managerInstance: of.family.instance, processEpoch: of.processEpoch() },
      });
      keepCreds(agentPath(root, space, added.principal), added.credential);
      return { principal: added.principal, lifecycleUid: added.member.uid };
    },
    grant: async ({ principal, read, post }) => {
      const { member, ...granted } = await grantAgent({
        ports,
        keys,
        principal,
        current: credentialOf(principal),
        hand: (credential) => keepCreds(agentPath(root, space, principal), credential),
        ...(read === undefined ? {} : { read }),
        ...(post === undefined ? {} : { post }),
      });
      return { principal, lifecycleUid: member.uid, ...granted };
    },
    retire: async ({ principal }) => {
      const { type: _, ...outcome } = await retire(ports, { principal });
      if (outcome.end === 'retired' || outcome.end === 'already') {
        forgetCreds(agentPath(root, space, principal), outcome.uid);
      }
      return { principal, ...outcome };
    },
    attach: ({ session }) =>
      alone(session, async () => {
        const attached = await attach(
          {
            ...ports,
            family: of.family,
            lifecycleUid: of.lifecycleUid,
            issue: ({ principal }) =>
              mint(keys, { profile: { profile: 'session', space, principal }, name: principal }),
          },
          { session },
        );
        if ('refused' in attached) {
          throw new Plane3Error('manager.session', { session, reason: attached.refused.reason });
        }
        sessions.set(session, attached);
        const path = sessionPath(session);
        keepCreds(path, attached.credential);
        return { session, principal: attached.principal, creds: path };
      }),
    detach: ({ session }) =>
      alone(session, async () => {
        const attached = sessions.get(session);
        if (attached === undefined) throw new Plane3Error('manager.session', { session, reason: 'it is not attached' });
        sessions.delete(session);
        rmSync(sessionPath(session), { force: true });
        const { end, reason } = await attached.end();
        if (end !== 'ended') of.journal.tell('manager.session-kept', { session, reason });
        return { session, end, reason };
      }),
    reconcileGate: async () => {
      const { type: _, ...outcome } = await repairGate(of.serves ? { ...ports, revoke: keptOut } : ports, of.family);
      return outcome;
    },
  };
}
