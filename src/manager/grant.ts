/**
 * A changed grant of an agent. The row is first, so that whoever decides by it decides by the new one; the ceiling that a
 * credential was issued for is raised only when the credential is; where something was taken away the old credential is
 * revoked; and the daemon is asked to take back what is not covered any more.
 *
 * A retirement may begin at any moment. It freezes the gate, and then revokes what the ledger has, up to that second. So a
 * credential leaves only when the gate is seen, after it was signed and is in the ledger, as it was before: a retirement that
 * comes later revokes it with the others. A row that is marked revoked is never written over.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { gateKey, gateSchema, headKey, headSchema, ledgerKey, ledgerSchema } from '../domain/auth-rows.ts';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { railWaitBounds } from '../domain/manager-numbers.ts';
import { type Member, memberKey } from '../domain/names.ts';
import { type AclGrant, aclRowSchema } from '../domain/rows.ts';
import type { Credential } from '../services/credential.ts';
import type { OperatorKeys, SpaceKeys } from '../services/local/auth-store.ts';
import { mint } from '../services/local/mint.ts';
import type { ReadAs, Written } from './auth-rows.ts';
import { bindRailWait } from './bind-rail.ts';
import type { EmbeddedPorts } from './ports.ts';
import { ADMIN_RAIL } from './rail-line.ts';
import { runToEnd } from './run.ts';

export interface GrantRequest {
  readonly ports: EmbeddedPorts;
  readonly keys: { readonly operator: OperatorKeys; readonly space: SpaceKeys };
  readonly principal: string;
  /** What it shall read and post to from now on; what is left out stays. */
  readonly read?: readonly string[];
  readonly post?: readonly string[];
  /** The credential that the agent has. */
  readonly current: Credential;
  /** Gives the agent its new one. */
  hand(credential: Credential): void;
}

export interface Granted {
  readonly member: Member;
  readonly read: readonly string[];
  readonly post: readonly string[];
  readonly revision: number;
  /** The daemon has taken back what is not covered; else why it takes effect when it is back. */
  readonly effect: 'withdrawn' | 'when-the-daemon-is-back';
  readonly reason: string;
}

/**
 * @throws Plane3Error `agent.unknown`, `agent.step` naming the step that was not done: the same command goes on, unless the
 *   agent is being retired (its ledger row is revoked, its gate is not open any more).
 */
export async function grantAgent(of: GrantRequest): Promise<Granted> {
  const { ports, keys, principal, current } = of;
  const { rows, space } = ports;
  const fail = (step: string, why: object): never => {
    throw new Plane3Error('agent.step', { principal, step, reason: JSON.stringify(why) });
  };
  const found = <T>(step: string, read: ReadAs<T>) => (read.type === 'found' ? read : fail(step, read));
  const stored = (step: string, written: Written) =>
    written.type === 'written' ? written.revision : fail(step, written);

  const head = await rows.read({ key: headKey(principal), schema: headSchema });
  if (head.type === 'absent' || (head.type === 'found' && head.row.state !== 'active')) {
    throw new Plane3Error('agent.unknown', {
      principal,
      state: head.type === 'found' ? head.row.state : 'never added',
    });
  }
  const { owner, actor, lifecycleUid: uid } = found('reading the head', head).row;
  const member: Member = { owner, actor, uid };
  const gate = found('reading the gate', await rows.read({ key: gateKey(uid), schema: gateSchema }));
  if (gate.row.state !== 'open') fail('reading the gate', { state: gate.row.state });

  const key = memberKey(member);
  const before = found('reading the ACL row', await rows.read({ bucket: 'acl', key, schema: aclRowSchema }));
  if (before.row.retired === true) throw new Plane3Error('agent.unknown', { principal, state: 'retired' });
  const row = before.row as AclGrant;
  const posted = postsOf(current, space, principal);
  const read = [...new Set(of.read ?? row.allowSubscribe)];
  const post = [...new Set(of.post ?? posted)];
  const now = () => ports.clock.now().wallMs;
  const first = { ...row, allowSubscribe: read, revision: row.revision + 1, updatedAt: now() };
  const at = stored(
    'writing the ACL row',
    await rows.write({ bucket: 'acl', key, value: first, expect: before.revision }),
  );

  // Something is taken away unless every old pattern is still there: then the old credential must not live on.
  const isNarrower =
    !row.issuedAllowSubscribe.every((pattern) => read.includes(pattern)) ||
    !posted.every((pattern) => post.includes(pattern));
  if (isNarrower) {
    const pushed = await ports.revoke({ users: [current.publicKey] });
    if (pushed.type !== 'revoked') fail('revoking the old credential', pushed);
    // A credential of the second of its revocation would be refused with it.
    await pause(1_000 - (now() % 1_000) + 10);
  }
  const profile = { profile: 'agent', space, member, read, post } as const;
  const credential = await mint(keys, { profile, name: principal, pair: current.pair, lifeS: null });
  const ledger = await rows.read({ key: ledgerKey(uid, current.publicKey), schema: ledgerSchema });
  const issued = found('reading the ledger row', ledger);
  if (issued.row.state !== 'active') fail('reading the ledger row', { state: issued.row.state });
  const chain = { ...issued.row, sourceChain: [credential.claims.iss] };
  const ledgerRow = ledgerKey(uid, current.publicKey);
  stored('writing the ledger row', await rows.write({ key: ledgerRow, value: chain, expect: issued.revision }));
  // The row stays as it is: whoever froze the gate revokes the keys of rows that are active, this one with them.
  const still = found('reading the gate again', await rows.read({ key: gateKey(uid), schema: gateSchema }));
  if (still.revision !== gate.revision) fail('reading the gate again', { state: still.row.state });
  const second = { ...first, issuedAllowSubscribe: read, updatedAt: now() };
  stored('raising the ceiling', await rows.write({ bucket: 'acl', key, value: second, expect: at }));
  of.hand(credential);

  const wait = railWaitBounds(ports.numbers, ports.numbers.commandWaitMs);
  const args = { principal, lifecycleUid: uid };
  const told = await runToEnd(bindRailWait(ports), { ...wait, rail: ADMIN_RAIL, op: 'reauthorize', args });
  const effect = told.type === 'wait.answered' ? 'withdrawn' : 'when-the-daemon-is-back';
  return { member, read, post, revision: first.revision, effect, reason: 'message' in told ? told.message : '' };
}

/** What a credential lets its agent post to. */
function postsOf(credential: Credential, space: string, principal: string): string[] {
  const head = `cotal.${space}.chat.${principal}.`;
  const lines = credential.claims.nats.pub?.allow ?? [];
  return lines.filter((line) => line.startsWith(head)).map((line) => line.slice(head.length));
}
