/** A retirement that begins, or ends, while something else is done for the same agent. */
import { existsSync } from 'node:fs';
import { jetstreamManager } from '@nats-io/jetstream';
import { expect, it } from 'vitest';
import type { z } from 'zod';
import { headKey, ledgerKey } from '../../../src/domain/auth-rows.ts';
import { buckets, deliveryConsumer, keySubject, streams } from '../../../src/domain/subjects.ts';
import { ManagerRows, type ReadAs } from '../../../src/manager/auth-rows.ts';
import { familyRows } from '../../../src/manager/bind-family.ts';
import { retire } from '../../../src/manager/embed.ts';
import { grantAgent } from '../../../src/manager/grant.ts';
import { addAgent, lifecycleOf } from '../../../src/manager/lifecycle.ts';
import { agentPath, managerHandlers } from '../../../src/manager/manager-work.ts';
import type { Credential } from '../../../src/services/credential.ts';
import { openCreds } from '../../../src/services/local/mint.ts';
import { TestJournal } from '../../support/delivery/daemon.ts';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { type Asked, fakeDaemon, provesAll, type Stand, standOf } from '../../support/manager/stand.ts';

const suite = deliverySuite();
const patient = { numbers: { railWaitMs: 60_000 } };

/** Rows with a turn of the test's own before what is read or listed, and after what is written. */
class HookedRows extends ManagerRows {
  readonly #turn: (what: string, value?: object) => Promise<void>;

  constructor(stand: Stand, turn: (what: string, value?: object) => Promise<void>) {
    super({ space: suite.mesh.space, connection: () => stand.connection });
    this.#turn = turn;
  }

  override async read<T>(of: {
    bucket?: 'auth';
    key: string;
    schema: z.ZodType<T>;
    signal?: AbortSignal;
  }): Promise<ReadAs<T>> {
    await this.#turn(`read ${of.key}`);
    return super.read(of);
  }
  override async keys(of: Parameters<ManagerRows['keys']>[0]): ReturnType<ManagerRows['keys']> {
    await this.#turn(`keys of ${of.bucket}`);
    return super.keys(of);
  }
  override async write(of: Parameters<ManagerRows['write']>[0]): ReturnType<ManagerRows['write']> {
    const written = await super.write(of);
    await this.#turn(`write ${of.key}`, of.value);
    return written;
  }
}

function door(): { opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

it.each([
  ['has revoked its key and not marked it', 'revoked'],
  ['has marked its key revoked and evicts', 'marked'],
] as const)('a grant under a retirement that %s hands nothing out, and the row ends revoked', async (_, at) => {
  await suite.running.stop();
  const [reached, released] = [door(), door()];
  const daemon = await fakeDaemon(suite.mesh, async (asked: Asked) => {
    if (asked.op === 'evictPrincipals') {
      reached.open();
      await released.opened;
    }
    return provesAll(asked);
  });
  const stand = await standOf(suite.mesh, patient);
  const { member, credential } = await suite.mesh.addAgent({ name: 'bob', read: ['team.>'], post: ['team.>'] });
  const ledger = ledgerKey(member.uid, credential.publicKey);
  const retiringPorts: typeof stand.ports = {
    ...stand.ports,
    revoke: async (of) => {
      const pushed = await stand.ports.revoke(of);
      if (at === 'revoked') {
        reached.open();
        await released.opened;
      }
      return pushed;
    },
  };
  let retiring: ReturnType<typeof retire> | undefined;
  const rows = new HookedRows(stand, async (what) => {
    if (what !== `read ${ledger}` || retiring !== undefined) return;
    retiring = retire(retiringPorts, { principal: 'local.bob' });
    await Promise.race([reached.opened, retiring]);
  });
  const handed: Credential[] = [];
  const granting = grantAgent({
    ports: { ...stand.ports, rows },
    keys: { operator: suite.mesh.operator, space: suite.mesh.keys },
    principal: 'local.bob',
    read: ['team.>', 'ops'],
    current: credential,
    hand: (fresh) => handed.push(fresh),
  });
  const step = at === 'revoked' ? 'reading the gate again' : 'reading the ledger row';
  await expect(granting).rejects.toThrow(`agent local.bob: ${step} did not succeed`);
  expect(handed).toEqual([]);
  released.open();
  expect(await retiring).toMatchObject({ end: 'retired', uid: member.uid });
  expect(await stand.row(ledger)).toMatchObject({ state: 'revoked' });
  await daemon.stop();
  await stand.ports.close();
});

it('an agent that is retired while it is added, after its ledger was looked at, gets no credential and leaves no durable', async () => {
  const stand = await standOf(suite.mesh, patient);
  const [reached, released] = [door(), door()];
  const rows = new HookedRows(stand, async (what) => {
    if (what !== 'keys of members') return;
    reached.open();
    await released.opened;
  });
  const connection = await suite.mesh.connect('manager');
  const request = connection.request.bind(connection);
  let retiring: ReturnType<typeof retire> | undefined;
  connection.request = async (subject, ...rest) => {
    if (subject.includes('.cred.') && retiring === undefined) {
      retiring = retire({ ...stand.ports, rows }, { principal: 'local.bob' });
      await Promise.race([reached.opened, retiring]);
    }
    return request(subject, ...rest);
  };
  const keys = { operator: suite.mesh.operator, space: suite.mesh.keys };
  const by = { managerInstance: 'test', processEpoch: 1 };
  const adding = addAgent({ connection, keys, name: 'bob', read: ['team.>'], post: [], by });
  await expect(adding).rejects.toThrow('agent local.bob: reading the gate again did not succeed');
  released.open();
  const outcome = await retiring;
  expect(outcome).toMatchObject({ end: 'retired' });
  const uid = outcome?.uid ?? '';
  const ledger = await familyRows(stand.ports, { endpoint: 'agent', instance: uid });
  expect(ledger.type === 'rows' && [...ledger.rows.values()].map(({ state }) => state)).toEqual(['revoked']);
  const manager = await jetstreamManager(stand.connection, { checkAPI: false });
  const name = deliveryConsumer({ owner: 'local', actor: 'bob', uid });
  await expect(manager.consumers.info(streams(suite.mesh.space).dlv, name)).rejects.toThrow('consumer not found');
  await stand.ports.close();
});

it('an agent whose ACL row meets the tombstone of its retirement leaves no active ledger row, and is told to be retired', async () => {
  const stand = await standOf(suite.mesh, patient);
  const [reached, released] = [door(), door()];
  const rows = new HookedRows(stand, async (what) => {
    if (what !== 'keys of members') return;
    reached.open();
    await released.opened;
  });
  const connection = await suite.mesh.connect('manager');
  const publish = connection.request.bind(connection);
  let retiring: ReturnType<typeof retire> | undefined;
  const adding = async (subject: string) => {
    // The retirement looks at the ledger before the row is there; it has ended before the ACL row is written.
    if (subject.includes('.cred.') && retiring === undefined) {
      retiring = retire({ ...stand.ports, rows }, { principal: 'local.bob' });
      await Promise.race([reached.opened, retiring]);
    }
    if (subject.startsWith(keySubject(buckets(suite.mesh.space).acl, 'local.bob')) && retiring !== undefined) {
      released.open();
      expect(await retiring).toMatchObject({ end: 'retired' });
    }
  };
  connection.request = async (subject, ...rest) => {
    await adding(subject);
    return publish(subject, ...rest);
  };
  const keys = { operator: suite.mesh.operator, space: suite.mesh.keys };
  const by = { managerInstance: 'test', processEpoch: 1 };
  const told = await addAgent({ connection, keys, name: 'bob', read: ['team.>'], post: [], by }).catch(String);
  const outcome = await retiring;
  const uid = outcome?.uid ?? '';
  const ledger = await familyRows(stand.ports, { endpoint: 'agent', instance: uid });
  expect(ledger.type === 'rows' && [...ledger.rows.values()].map(({ state }) => state)).toEqual(['revoked']);
  expect(told).toContain('writing the ACL row did not succeed: it was retired meanwhile');
  expect((await suite.mesh.addAgent({ name: 'bob' })).member.uid).not.toBe(uid);
  await stand.ports.close();
});

it('a retirement that another attempt has overtaken says that its lifecycle is retired, and leaves the successor alone', async () => {
  const stand = await standOf(suite.mesh, patient);
  const first = await suite.mesh.addAgent({ name: 'bob', read: ['team.>'], post: [] });
  const head = headKey('local.bob');
  let isCleared = false;
  let successor: string | undefined;
  const rows = new HookedRows(stand, async (what) => {
    // It has marked and cleared, and is about to remove: its next look at the head is the one before that.
    if (what === `read ${ledgerKey(first.member.uid, first.credential.publicKey)}`) isCleared = true;
    if (what !== `read ${head}` || !isCleared || successor !== undefined) return;
    expect(await retire(stand.ports, { principal: 'local.bob' })).toMatchObject({ end: 'retired' });
    successor = (await suite.mesh.addAgent({ name: 'bob' })).member.uid;
  });
  const outcome = await retire({ ...stand.ports, rows }, { principal: 'local.bob' });
  expect(outcome).toMatchObject({ end: 'retired', reason: '', uid: first.member.uid });
  expect(await stand.row(head)).toMatchObject({ state: 'active', lifecycleUid: successor });
  await stand.ports.close();
});

it('whoever retires an agent takes its credential away, and leaves that of a successor which is there already', async () => {
  const { root, space, operator, keys } = suite.mesh;
  const stand = await standOf(suite.mesh, patient);
  let successor: Record<string, unknown> | undefined;
  const rows = new HookedRows(stand, async (what, value) => {
    const isFree = what === `write ${headKey('local.bob')}` && (value as { state: string }).state === 'retired';
    if (isFree && successor === undefined) successor = { ...(await handlers.provision(bob)) };
  });
  const handlers = managerHandlers({
    root,
    space,
    family: { endpoint: 'manager', instance: 'i1' },
    lifecycleUid: 'a'.repeat(26),
    incarnation: '',
    keys: { operator, space: keys },
    ports: { ...stand.ports, rows },
    goals: () => stand.connection,
    journal: new TestJournal(),
    processEpoch: () => 1,
    mayRenew: () => false,
    serves: false,
  });
  const bob = { name: 'bob', read: ['team.>'], post: ['team.>'] };
  const path = agentPath(root, space, 'local.bob');
  const holder = () => {
    const kept = openCreds(path);
    return kept === undefined ? undefined : lifecycleOf(kept);
  };
  const first = (await handlers.provision(bob)) as { lifecycleUid: string };
  expect(holder()).toBe(first.lifecycleUid);
  expect(await handlers.retire({ principal: 'local.bob' })).toMatchObject({ end: 'retired', uid: first.lifecycleUid });
  expect(holder()).toBe(successor?.lifecycleUid);
  expect(await handlers.retire({ principal: 'local.bob' })).toMatchObject({ uid: successor?.lifecycleUid });
  expect(existsSync(path)).toBe(false);
  expect(await handlers.retire({ principal: 'local.bob' })).toMatchObject({ end: 'already' });
  await stand.ports.close();
});
