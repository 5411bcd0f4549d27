/**
 * Lifecycles of agents: adding one. Every step is a create or a compare-and-set, in an order in which a stop anywhere
 * leaves nothing that anybody could use: the uid is reserved first and the credential leaves last. A retirement may begin
 * meanwhile: it freezes the gate before it looks at what there is, so the gate is looked at again when everything is there.
 */
import { randomInt } from 'node:crypto';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import {
  type Gate,
  gateKey,
  headKey,
  headSchema,
  type LedgerRow,
  type LifecycleHead,
  ledgerKey,
  uidKey,
} from '../domain/auth-rows.ts';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { memberConsumer } from '../domain/layout.ts';
import { readJson } from '../domain/message.ts';
import { type Member, memberKey, mentionName, parsePattern, parseToken } from '../domain/names.ts';
import type { AclGrant } from '../domain/rows.ts';
import { buckets, deliveryConsumer, readDeliveryConsumer, streams } from '../domain/subjects.ts';
import { type Credential, newPair } from '../services/credential.ts';
import type { OperatorKeys, SpaceKeys } from '../services/local/auth-store.ts';
import { mint } from '../services/local/mint.ts';
import { CONSUMER_NOT_FOUND, parseDriverError, wordsOfFailure } from '../services/nats/driver-errors.ts';
import { listKeys, type RowWrite, readGuardedRow, writeRow } from '../services/nats/rows.ts';

export interface AgentRequest {
  /** A connection with the manager's rights. */
  readonly connection: NatsConnection;
  readonly keys: { readonly operator: OperatorKeys; readonly space: SpaceKeys };
  /** Name of the agent: the actor of its principal, and in lower case its mention name. */
  readonly name: string;
  /** `local` unless told. */
  readonly owner?: string;
  readonly read: readonly string[];
  readonly post: readonly string[];
  /** Who writes this: recorded on the lifecycle's head. */
  readonly by: { readonly managerInstance: string; readonly processEpoch: number };
}

export interface AddedAgent {
  readonly member: Member;
  /** `owner.actor` */
  readonly principal: string;
  readonly credential: Credential;
}

const UID_LENGTH = 26;
const UID_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** A fresh lifecycle uid: 26 of 36 characters, 134 random bits. */
export const newUid = (): string =>
  Array.from({ length: UID_LENGTH }, () => UID_ALPHABET[randomInt(UID_ALPHABET.length)]).join('');

/**
 * Adds an agent: reserves a uid, writes head, gate, ledger row and ACL row, makes its delivery durable, and hands out the
 * credential, which was signed at the start so that one that the broker would not take leaves nothing half-done.
 * @throws Plane3Error for a name or pattern outside the grammar, `credential.too-large`, `agent.exists` for a name that is taken by a lifecycle
 *   that is not retired, `agent.step` naming the step that the broker did not do.
 */
export async function addAgent(asked: AgentRequest): Promise<AddedAgent> {
  const { connection, keys, by } = asked;
  const space = keys.space.space;
  const bucket = buckets(space);
  const owner = parseToken(asked.owner ?? 'local');
  const actor = parseToken(asked.name);
  const read = [...new Set(asked.read.map(parsePattern))];
  const post = [...new Set(asked.post.map(parsePattern))];
  const principal = `${owner}.${actor}`;
  const member: Member = { owner, actor, uid: newUid() };
  const steps = stepsOf(principal);
  const at = Date.now();
  const pair = newPair('user');
  const profile = { profile: 'agent', space, member, read, post } as const;
  const credential = await mint(keys, { profile, name: principal, pair, lifeS: null });

  const before = await nameIsFree({ connection, bucket: bucket.auth, principal });
  const write = (key: string, value: object, expect: number) =>
    writeRow({ connection, bucket: bucket.auth, key, value, expect });

  steps.stored('reserving the uid', await write(uidKey(member.uid), { principal, reservedAt: at }, 0));
  const head: LifecycleHead = { owner, actor, lifecycleUid: member.uid, ...by, state: 'active' };
  const written = await write(headKey(principal), head, before.revision);
  if (written.kind === 'conflict') throw new Plane3Error('agent.exists', { principal, state: 'added meanwhile' });
  const headRevision = steps.stored('writing the head', written);
  try {
    await nameIsFree({ connection, bucket: bucket.auth, principal, mine: member.uid });
  } catch (error) {
    await write(headKey(principal), { ...head, state: 'retired' }, headRevision);
    throw error;
  }

  const gate: Gate = { state: 'open', generation: 1, principal };
  const gateRevision = steps.stored('writing the gate', await write(gateKey(member.uid), gate, 0));
  const ledger: LedgerRow = {
    credentialId: pair.publicKey,
    holderPrincipal: principal,
    lifecycleUid: member.uid,
    state: 'active',
    exp: null,
    sourceChain: [keys.space.signing.publicKey],
  };
  const ledgerRow = ledgerKey(member.uid, pair.publicKey);
  const acl: AclGrant = {
    name: mentionName(actor),
    allowSubscribe: read,
    issuedAllowSubscribe: read,
    revision: 1,
    updatedAt: at,
  };
  const aclRow = { connection, bucket: bucket.acl, key: memberKey(member), value: acl, expect: 0 };
  const readGate = () => readGuardedRow({ connection, bucket: bucket.auth, key: gateKey(member.uid) });
  try {
    steps.stored('writing the ledger row', await write(ledgerRow, ledger, 0));
    steps.stored('writing the ACL row', await writeRow(aclRow));
    await steps.done('making the delivery durable', () => makeDeliveryDurable({ connection, space, member }));
    const still = await readGate();
    if (still.kind === 'failed') steps.fail('reading the gate again', still.failure);
    else if (still.revision !== gateRevision)
      steps.fail('reading the gate again', { kind: 'the gate is not as it was' });
  } catch (error) {
    // Nobody gets the credential, so its row says revoked, also where a retirement has looked before the row was there.
    const row = await readGuardedRow({ connection, bucket: bucket.auth, key: ledgerRow });
    if (row.kind !== 'failed') await write(ledgerRow, { ...ledger, state: 'revoked' }, row.revision);
    const now = await readGate();
    // With the gate as it was, a retirement is still to come, and takes all of it away.
    if (now.kind === 'failed' || now.revision === gateRevision) throw error;
    const step = error instanceof Plane3Error && error.is('agent.step') ? String(error.facts.step) : 'adding it';
    await steps.done(`${step}, and taking the durable away,`, () =>
      removeDeliveryDurable({ connection, space, member }),
    );
    return steps.fail(step, { kind: 'it was retired meanwhile' });
  }
  return { member, principal, credential };
}

/** Makes a member's own durable on DLV; one that is there already with the same config is left as it is. */
export async function makeDeliveryDurable(asked: {
  connection: NatsConnection;
  space: string;
  member: Member;
}): Promise<void> {
  const { stream, config } = memberConsumer(asked.space, asked.member);
  const manager = await jetstreamManager(asked.connection, { checkAPI: false });
  await manager.consumers.add(stream, config);
}

/** Uid of the lifecycle that a credential is of: that of the durable which it may read. Undefined where it is no agent's. */
export function lifecycleOf({ claims }: Pick<Credential, 'claims'>): string | undefined {
  const names = (claims.nats.pub?.allow ?? []).map((line) => line.slice(line.lastIndexOf('.') + 1));
  return names.map(readDeliveryConsumer).find((member) => member !== undefined)?.uid;
}

/** Takes it away; one that is not there is none. */
async function removeDeliveryDurable(asked: { connection: NatsConnection; space: string; member: Member }) {
  const manager = await jetstreamManager(asked.connection, { checkAPI: false });
  try {
    await manager.consumers.delete(streams(asked.space).dlv, deliveryConsumer(asked.member));
  } catch (error) {
    const failure = parseDriverError(error);
    if (failure.kind !== 'refused' || failure.code !== CONSUMER_NOT_FOUND) throw error;
  }
}

/**
 * The revision that the head of this principal must be written over, when neither it nor a name that differs only in
 * case has a lifecycle that is not retired. `mine`: the uid whose head does not count.
 */
async function nameIsFree(asked: {
  connection: NatsConnection;
  bucket: string;
  principal: string;
  mine?: string;
}): Promise<{ revision: number }> {
  const { connection, bucket, principal, mine } = asked;
  const steps = stepsOf(principal);
  const listed = await listKeys({ connection, bucket, filter: headKey('*.*') });
  if (listed.kind === 'failed') return steps.fail('listing the agents', listed.failure);
  const wanted = headKey(principal);
  let revision = 0;
  for (const key of listed.keys.filter((each) => each.toLowerCase() === wanted.toLowerCase())) {
    const row = await readGuardedRow({ connection, bucket, key });
    if (row.kind === 'failed') return steps.fail(`reading ${key}`, row.failure);
    if (key === wanted) revision = row.revision;
    if (row.kind === 'absent') continue;
    const head = headSchema.safeParse(readJson(row.data));
    const state = head.success ? head.data.state : 'its row cannot be read';
    if (head.success && (head.data.state === 'retired' || head.data.lifecycleUid === mine)) continue;
    throw new Plane3Error('agent.exists', { principal: key.slice(headKey('').length), state });
  }
  return { revision };
}

/** Turns what the broker did not do into the one error that names the step. */
function stepsOf(principal: string) {
  const fail = (step: string, why: { kind: string }): never => {
    throw new Plane3Error('agent.step', { principal, step, reason: wordsOfFailure(why) });
  };
  return {
    fail,
    stored: (step: string, outcome: RowWrite): number =>
      outcome.kind === 'stored' ? outcome.revision : fail(step, outcome),
    done: async (step: string, work: () => Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (error) {
        fail(step, parseDriverError(error));
      }
    },
  };
}
