/** Retirement, attach and the store proof, against a real daemon and a real store. */
import { encodeUser } from '@nats-io/jwt';
import { expect, it } from 'vitest';
import { gateKey, headKey } from '../../../src/domain/auth-rows.ts';
import { memberKey } from '../../../src/domain/names.ts';
import { permissionsOf } from '../../../src/domain/permissions.ts';
import { buckets, streams } from '../../../src/domain/subjects.ts';
import { ManagerRows } from '../../../src/manager/auth-rows.ts';
import { familyRows } from '../../../src/manager/bind-family.ts';
import { attach, proveStore, retire } from '../../../src/manager/embed.ts';
import { addAgent } from '../../../src/manager/lifecycle.ts';
import { credsText, newPair, readCreds } from '../../../src/services/credential.ts';
import { fsStore } from '../../../src/services/local/fs-store.ts';
import { connectOnce } from '../../../src/services/nats/connect.ts';
import { readRow } from '../../../src/services/nats/rows.ts';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { fakeDaemon, provesAll, type Stand, standOf } from '../../support/manager/stand.ts';
import { until } from '../../support/until.ts';

const suite = deliverySuite();
const patient = { numbers: { railWaitMs: 60_000 } };

it('retirement: revoked, evicted, everything removed, a tombstone; the name is free for a successor who gets nothing of it', async () => {
  const stand = await standOf(suite.mesh, patient);
  const [old, sender] = [await suite.agent('alice'), await suite.agent('sam')];
  await old.ask('durableJoin', { channel: 'team' });
  await sender.post('team', { id: 'p1', text: 'for the old one' });
  const entries = async () =>
    (await stand.connection.request(`$JS.API.STREAM.INFO.${streams(suite.mesh.space).inbox}`)).json<{
      state: { messages: number };
    }>().state.messages;
  await until(async () => (await entries()) === 1, suite.running.state);

  const outcome = await retire(stand.ports, { principal: 'local.alice' });
  expect(outcome).toMatchObject({ end: 'retired', uid: old.member.uid, durables: 1, memberships: 1 });
  expect(await stand.row(headKey('local.alice'))).toMatchObject({
    state: 'retired',
    op: { frontiers: { CHAT_main: 1 } },
  });
  expect(await stand.row(gateKey(old.member.uid))).toMatchObject({ state: 'retired', op: { kind: 'retirement' } });
  const acl = await readRow({
    connection: stand.connection,
    bucket: buckets(suite.mesh.space).acl,
    key: memberKey(old.member),
  });
  expect(acl.kind === 'found' && JSON.parse(Buffer.from(acl.data).toString())).toMatchObject({
    retired: true,
    revision: 2,
  });
  await until(() => old.connection.isClosed(), 'the end of its connection');
  // The reader meets what was owed to it, and removes it.
  await until(async () => (await entries()) === 0, suite.running.state);

  expect(await retire(stand.ports, { principal: 'local.alice' })).toMatchObject({
    end: 'already',
    durables: 0,
    memberships: 0,
    marks: 0,
  });
  expect(await retire(stand.ports, { principal: 'local.nobody' })).toMatchObject({ end: 'unknown' });

  const successor = await suite.agent('alice');
  expect(successor.member.uid).not.toBe(old.member.uid);
  await successor.ask('durableJoin', { channel: 'team' });
  await sender.post('team', { id: 'p2', text: 'for the new one' });
  expect((await successor.take(1)).map(({ text }) => text)).toEqual(['for the new one']);
  expect(await successor.ask('pendingCount', {})).toMatchObject({ data: { pending: 1 } });
  await stand.ports.close();
});

it('an agent that was added half has no credential and holds its name, until it is retired', async () => {
  const { space, keys, url } = suite.mesh;
  const pair = newPair('user');
  const rights = permissionsOf({ profile: 'manager', space, principal: 'local.manager' }, pair.publicKey);
  const publish = rights.publish.filter((line) => !line.includes('.CONSUMER.CREATE.DLV_'));
  const permissions = { pub: { allow: publish, deny: [] }, sub: { allow: [...rights.subscribe], deny: [] } };
  const jwt = await encodeUser('half', pair, keys.account, permissions, { signer: keys.signing });
  const connection = await connectOnce({
    url,
    name: 'half',
    credential: readCreds(credsText({ jwt, pair }), '(test)'),
  });
  const by = { managerInstance: 'test', processEpoch: 1 };
  const asked = { keys: { operator: suite.mesh.operator, space: keys }, name: 'half', read: [], post: [], by };
  await expect(addAgent({ connection, ...asked })).rejects.toThrow('making the delivery durable did not succeed');
  await connection.close();
  await expect(suite.mesh.addAgent({ name: 'half' })).rejects.toThrow('agent local.half is there already (active)');
  const stand = await standOf(suite.mesh, patient);
  expect(await retire(stand.ports, { principal: 'local.half' })).toMatchObject({ end: 'retired' });
  expect(await suite.mesh.addAgent({ name: 'half' })).toMatchObject({ principal: 'local.half' });
  await stand.ports.close();
});

it('a retirement that is not verified stays retiring with its reason, and goes on under the same operation', async () => {
  await suite.running.stop();
  const stand = await standOf(suite.mesh);
  const { member } = await suite.mesh.addAgent({ name: 'bob' });
  expect(await retire(stand.ports, { principal: 'local.bob', waitMs: 300 })).toMatchObject({
    end: 'unverified',
    reason: expect.stringContaining('ctl.delivery-admin'),
  });
  const head = (await stand.row(headKey('local.bob'))) as { state: string; op: { opId: string } };
  expect(head.state).toBe('retiring');
  await expect(suite.mesh.addAgent({ name: 'bob' })).rejects.toThrow('retiring');
  const daemon = await fakeDaemon(suite.mesh, provesAll);
  expect(await retire(stand.ports, { principal: 'local.bob' })).toMatchObject({ end: 'retired', uid: member.uid });
  expect(await stand.row(headKey('local.bob'))).toMatchObject({ state: 'retired', op: { opId: head.op.opId } });
  await daemon.stop();
  await stand.ports.close();
});

it('ten attaches add ten holders to the family, their ends take them away, and a session has one', async () => {
  const stand = await standOf(suite.mesh, patient);
  const family = { endpoint: 'manager', instance: 'i1' };
  await stand.put('epgate.manager.i1', { state: 'open', generation: 1, processEpoch: 1 });
  const ports = {
    ...stand.ports,
    family,
    lifecycleUid: 'a'.repeat(26),
    issue: ({ principal }: { principal: string }) => suite.mesh.credsFor('manager', { principal }),
  };
  const holders = async () => {
    const found = await familyRows(ports, family);
    return found.type === 'rows'
      ? [...found.rows.values()].map(({ holderPrincipal }) => holderPrincipal).sort()
      : found;
  };
  const sessions = Array.from({ length: 10 }, (_, n) => `s${n}`);
  const attached = [];
  for (const session of sessions) {
    const one = await attach(ports, { session });
    if ('refused' in one) throw new Error(JSON.stringify(one));
    attached.push(one);
  }
  expect(await holders()).toEqual(sessions.map((session) => `local.session_${session}`));
  expect(await attach(ports, { session: 's3' })).toMatchObject({ refused: { end: 'taken' } });
  const [first] = attached;
  if (first === undefined) throw new Error('nobody is attached');
  const connection = await suite.mesh.connect(first.credential);
  expect(await Promise.all(attached.map((one) => one.end()))).toEqual(
    sessions.map(() => expect.objectContaining({ end: 'ended' })),
  );
  await until(() => connection.isClosed(), 'the end of the session that was connected');
  expect(await holders()).toEqual([]);
  await stand.put('epgate.manager.i1', { state: 'frozen', generation: 1, op: { opId: 'o', kind: 'registration' } });
  expect(await attach(ports, { session: 's3' })).toMatchObject({
    refused: { end: 'failed', reason: 'the gate of the manager is not open: nothing is issued' },
  });
  await stand.ports.close();
});

/** Rows that do what they are asked, except for one write, or one removal, of a holder: nobody hears of that write, that removal is lost. */
class UnheardRows extends ManagerRows {
  #verb: 'write' | 'remove' | undefined;
  readonly #meanwhile: () => Promise<void>;

  constructor(of: { stand: Stand; verb: 'write' | 'remove'; meanwhile: () => Promise<void> }) {
    super({ space: suite.mesh.space, connection: () => of.stand.connection });
    this.#verb = of.verb;
    this.#meanwhile = of.meanwhile;
  }

  override async write(of: Parameters<ManagerRows['write']>[0]): ReturnType<ManagerRows['write']> {
    const written = await super.write(of);
    if (this.#verb === undefined || !of.key.startsWith('epcred.')) return written;
    await this.#meanwhile();
    if (this.#verb === 'remove') return written;
    this.#verb = undefined;
    return { type: 'store.unanswered' };
  }
  override async remove(of: Parameters<ManagerRows['remove']>[0]): ReturnType<ManagerRows['remove']> {
    if (this.#verb === undefined) return super.remove(of);
    this.#verb = undefined;
    return { type: 'store.unanswered' };
  }
}

it.each([
  ['stored, and nobody hears of it', 'write', false],
  ['to be taken away again because the gate moved, and nobody hears of that', 'remove', true],
] as const)(
  'an attach whose row is %s ends its holder, and the session is attached the next time',
  async (_, verb, moves) => {
    const stand = await standOf(suite.mesh, patient);
    const family = { endpoint: 'manager', instance: 'i1' };
    const open = { state: 'open', generation: 1, processEpoch: 1 };
    await stand.put('epgate.manager.i1', open);
    const meanwhile = async () => {
      if (moves) await stand.put('epgate.manager.i1', { ...open, generation: 2 });
    };
    const rows = new UnheardRows({ stand, verb, meanwhile });
    const revoked: string[] = [];
    const ports: Parameters<typeof attach>[0] = {
      ...stand.ports,
      rows,
      family,
      lifecycleUid: 'a'.repeat(26),
      issue: ({ principal }) => suite.mesh.credsFor('session', { principal }),
      revoke: (of) => {
        revoked.push(...of.users);
        return stand.ports.revoke(of);
      },
    };
    expect(await attach(ports, { session: 's1' })).toMatchObject({
      refused: { end: 'failed', reason: 'the store did not answer' },
    });
    expect(revoked).toHaveLength(1);
    expect(await familyRows(ports, family)).toMatchObject({ type: 'rows', rows: new Map() });
    const second = await attach(ports, { session: 's1' });
    if ('refused' in second) throw new Error(JSON.stringify(second));
    expect(second.credential.publicKey).not.toBe(revoked[0]);
    expect(await second.end()).toMatchObject({ end: 'ended', reason: '' });
    await stand.ports.close();
  },
);

it('the store proof: matched, another store with both names (CRD-05), and whoever answers without the lease', async () => {
  const stand = await standOf(suite.mesh, patient);
  const store = fsStore({ root: suite.mesh.root, space: suite.mesh.space });
  expect(await proveStore(stand.ports, { store })).toMatchObject({ end: 'matched' });
  const elsewhere = { ...store, identity: () => ({ kind: 'injected', coordinate: 'vault/main' }) as const };
  expect(await proveStore(stand.ports, { store: elsewhere })).toMatchObject({
    end: 'mismatched',
    message: `we write into injected vault/main, the daemon re-reads ${suite.mesh.root}`,
  });
  const other = await suite.mesh.credsFor('delivery');
  const rewritten = { ...store, read: async () => credsText(other) };
  expect(await proveStore(stand.ports, { store: rewritten })).toMatchObject({ end: 'mismatched' });
  await suite.running.stop();
  await fakeDaemon(suite.mesh, ({ args }) => ({
    ok: true,
    data: { identity: store.identity(), challenge: args.challenge, incarnation: 'i', signature: 's' },
  }));
  expect(await proveStore(stand.ports, { store })).toMatchObject({
    end: 'undetermined',
    message: 'somebody answered, and nobody holds the lease',
  });
  await stand.ports.close();
});
