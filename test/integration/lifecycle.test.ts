import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gateSchema, headSchema, ledgerSchema } from '../../src/domain/auth-rows.ts';
import { readJson } from '../../src/domain/message.ts';
import { memberKey } from '../../src/domain/names.ts';
import { readAcl } from '../../src/domain/rows.ts';
import { buckets, chatSubject, deliveryConsumer, memberRowKey, streams } from '../../src/domain/subjects.ts';
import { newUid } from '../../src/manager/lifecycle.ts';
import { listKeys, type RowRead, readGuardedRow, readRow, writeRow } from '../../src/services/nats/rows.ts';
import { type Mesh, startMesh } from '../support/mesh.ts';

let mesh: Mesh;
beforeAll(async () => {
  mesh = await startMesh();
});
afterAll(() => mesh?.dispose());

const bucket = buckets('main');
const dataOf = (row: RowRead): Uint8Array => {
  if (row.kind !== 'found') throw new Error(JSON.stringify(row));
  return row.data;
};
const authRow = async (key: string) => {
  const connection = await mesh.connect('manager');
  return readJson(dataOf(await readGuardedRow({ connection, bucket: bucket.auth, key })));
};

describe('adding an agent', () => {
  it('writes uid, head, gate, ledger row and ACL row, and makes the durable', async () => {
    const { member, principal, credential } = await mesh.addAgent({
      name: 'Alice',
      read: ['team.>', 'team.>'],
      post: ['x'],
    });
    expect(principal).toBe('local.Alice');
    expect(member.uid).toMatch(/^[a-z0-9]{26}$/);
    expect(await authRow(`uid.${member.uid}`)).toMatchObject({ principal });
    expect(headSchema.parse(await authRow('lifecycle.local.Alice'))).toMatchObject({
      lifecycleUid: member.uid,
      state: 'active',
    });
    expect(gateSchema.parse(await authRow(`gate.${member.uid}`))).toMatchObject({ state: 'open', generation: 1 });
    expect(ledgerSchema.parse(await authRow(`cred.${member.uid}.${credential.publicKey}`))).toMatchObject({
      holderPrincipal: principal,
      state: 'active',
    });
    const connection = await mesh.connect('manager');
    const acl = readAcl(dataOf(await readRow({ connection, bucket: bucket.acl, key: memberKey(member) })));
    expect(acl).toEqual({ kind: 'grant', name: 'alice', allow: ['team.>'], issued: ['team.>'], revision: 1 });
    const manager = await jetstreamManager(connection, { checkAPI: false });
    const { config } = await manager.consumers.info(streams('main').dlv, deliveryConsumer(member));
    expect(config).toMatchObject({ sample_freq: '100', ack_policy: 'explicit', ack_wait: 60_000_000_000 });
  });

  it.each(['bob', 'BOB', 'Bob'])('is refused when the name is there already, also as %s', async (name) => {
    await mesh.addAgent({ name: 'bob' }).catch(() => {});
    await expect(mesh.addAgent({ name })).rejects.toThrow('agent local.bob is there already (active)');
  });

  it('lets one of two that differ in case win at most, and leaves no second ACL row', async () => {
    const both = await Promise.allSettled([mesh.addAgent({ name: 'carol' }), mesh.addAgent({ name: 'CAROL' })]);
    expect(both.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1);
    const connection = await mesh.connect('manager');
    const listed = await listKeys({ connection, bucket: bucket.acl, filter: 'local.*.*' });
    const carols = listed.kind === 'listed' ? listed.keys.filter((key) => /^local\.carol\./i.test(key)) : [];
    expect(carols.length).toBeLessThanOrEqual(1);
    expect((await mesh.addAgent({ name: 'carol2' })).principal).toBe('local.carol2');
  });

  it('takes a name again after its lifecycle was retired, with a new uid', async () => {
    const first = await mesh.addAgent({ name: 'dave' });
    const connection = await mesh.connect('manager');
    const row = { connection, bucket: bucket.auth, key: 'lifecycle.local.dave' };
    const head = headSchema.parse(readJson(dataOf(await readGuardedRow(row))));
    await writeRow({ ...row, value: { ...head, state: 'retired' } });
    const second = await mesh.addAgent({ name: 'dave' });
    expect(second.member.uid).not.toBe(first.member.uid);
  });

  it.each([
    [{ name: 'a.b' }, '"a.b"'],
    [{ name: '' }, '""'],
    [{ name: 'x', read: ['a..b'] }, 'pattern "a..b"'],
    [{ name: 'x', post: ['>.a'] }, 'pattern ">.a"'],
    [{ name: 'x', owner: 'a-b' }, '"a-b"'],
  ])('refuses %j by name and writes nothing', async (asked, named) => {
    const connection = await mesh.connect('manager');
    const uids = async () => listKeys({ connection, bucket: bucket.auth, filter: 'uid.*' });
    const before = await uids();
    await expect(mesh.addAgent(asked)).rejects.toThrow(named);
    expect(await uids()).toEqual(before);
  });

  it('leaves nothing behind when the credential would be too large', async () => {
    const connection = await mesh.connect('manager');
    const read = Array.from({ length: 200 }, (_, i) => `${'x'.repeat(80)}.c${i}`);
    await expect(mesh.addAgent({ name: 'eve', read })).rejects.toThrow('credential of local.eve would be');
    const head = await readGuardedRow({ connection, bucket: bucket.auth, key: 'lifecycle.local.eve' });
    expect(head.kind).toBe('absent');
  });

  it('makes uids that do not repeat', () => {
    expect(new Set(Array.from({ length: 1000 }, newUid)).size).toBe(1000);
  });
});

describe('a channel of the greatest length', () => {
  it('can be posted to and can have a member row', async () => {
    const frank = await mesh.addAgent({ name: 'frank', read: ['>'], post: ['>'] });
    const channel = `${'segment.'.repeat(511)}12345678`;
    expect(channel).toHaveLength(4096);
    const agent = await mesh.connect(frank.credential);
    expect((await jetstream(agent).publish(chatSubject('main', frank.principal, channel), 'x')).seq).toBe(1);
    const connection = await mesh.connect('delivery');
    const row = { connection, bucket: bucket.members, key: memberRowKey(channel, frank.member) };
    expect((await writeRow({ ...row, value: {} })).kind).toBe('stored');
    expect((await readRow(row)).kind).toBe('found');
  });
});
