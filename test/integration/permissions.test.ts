/**
 * The permission matrix of the wire format, both ways, row by row, asked of a real server. The tables in `test/support/permission-table` are written by
 * hand from the wire format, not from `src/domain/permissions.ts`: a right that is lost or that slipped in is a failure.
 */
import type { NatsConnection } from '@nats-io/nats-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allows, inboxPrefix, permissionsOf } from '../../src/domain/permissions.ts';
import { PROFILES, type Profile, type ProfileName } from '../../src/domain/profiles.ts';
import type { AddedAgent } from '../../src/manager/lifecycle.ts';
import type { Credential } from '../../src/services/credential.ts';
import { type Mesh, startMesh } from '../support/mesh.ts';
import { agent } from '../support/permission-table/agent.ts';
import { delivery } from '../support/permission-table/delivery.ts';
import { manager } from '../support/permission-table/manager.ts';
import { operator, serve, session } from '../support/permission-table/manager-rail.ts';
import { provisioner } from '../support/permission-table/provisioner.ts';
import { scheduler } from '../support/permission-table/scheduler.ts';
import { claims, evictor, health, observer } from '../support/permission-table/system.ts';
import { BUCKETS, everyStream, type Facts, kv, type Part, type Row } from '../support/permission-table/words.ts';
import { deniedPublishes, deniedSubscriptions, under } from '../support/rights.ts';

let mesh: Mesh;
let alice: AddedAgent;
let bob: AddedAgent;
const credentials = new Map<ProfileName, Credential>();
const connections = new Map<ProfileName, NatsConnection>();

const isStanding = (name: ProfileName): name is Exclude<ProfileName, 'agent'> => name !== 'agent';
const NAMES = PROFILES.filter(isStanding);

beforeAll(async () => {
  mesh = await startMesh();
  alice = await mesh.addAgent({ name: 'alice', read: ['team.*', 'news.>'], post: ['team.general'] });
  bob = await mesh.addAgent({ name: 'bob', read: ['>'], post: ['>'] });
  credentials.set('agent', alice.credential);
  for (const name of NAMES) credentials.set(name, await mesh.credsFor(name));
  for (const [name, credential] of credentials) connections.set(name, await mesh.connect(credential));
});
afterAll(() => mesh?.dispose());

const of = (name: ProfileName): { credential: Credential; connection: NatsConnection } => {
  const credential = credentials.get(name);
  const connection = connections.get(name);
  if (credential === undefined || connection === undefined) throw new Error(`no credential of ${name}`);
  return { credential, connection };
};

const profileOf = (name: ProfileName): Profile => {
  const space = mesh.space;
  switch (name) {
    case 'agent':
      return { profile: 'agent', space, member: alice.member, read: ['team.*', 'news.>'], post: ['team.general'] };
    case 'manager':
      return { profile: 'manager', space, principal: 'local.manager' };
    case 'serve':
      return { profile: 'serve', space, principal: 'local.serve' };
    case 'operator':
      return { profile: 'operator', space, principal: 'local.operator' };
    case 'session':
      return { profile: 'session', space, principal: 'local.session_a' };
    case 'observer':
      return { profile: 'observer', account: mesh.keys.account.publicKey };
    case 'delivery':
    case 'provisioner':
    case 'scheduler':
      return { profile: name, space };
    default:
      return { profile: name };
  }
};

const TABLE: Record<ProfileName, Part> = {
  delivery,
  agent,
  manager,
  serve,
  operator,
  session,
  observer,
  evictor,
  claims,
  health,
  provisioner,
  scheduler,
};

const facts = (): Facts => ({
  alice: alice.member,
  bob: bob.member,
  account: mesh.keys.account.publicKey,
  systemAccount: mesh.operator.system.publicKey,
});
const rows = (of: readonly Row[]) => of.map(([what, subjects]) => ({ what, subjects }));

describe.each(PROFILES)('the credential %s', (name) => {
  it.each(rows(TABLE[name].publish))('may publish: $what', async ({ subjects }) => {
    expect([...(await deniedPublishes(of(name).connection, subjects(facts())))]).toEqual([]);
  });

  it.each(rows(TABLE[name].subscribe))('may subscribe: $what', async ({ subjects }) => {
    expect([...(await deniedSubscriptions(of(name).connection, subjects(facts())))]).toEqual([]);
  });

  it.each(rows(TABLE[name].neverPublish))('never publishes: $what', async ({ subjects }) => {
    const all = subjects(facts());
    expect([...(await deniedPublishes(of(name).connection, all))].sort()).toEqual([...new Set(all)].sort());
  });

  it.each(rows(TABLE[name].neverSubscribe))('never subscribes: $what', async ({ subjects }) => {
    const all = subjects(facts());
    expect([...(await deniedSubscriptions(of(name).connection, all))].sort()).toEqual([...new Set(all)].sort());
  });

  it('has its own inbox, and nobody else has it', async () => {
    const { credential, connection } = of(name);
    const inbox = `${inboxPrefix(credential.publicKey)}.>`;
    expect([...(await deniedSubscriptions(connection, [inbox]))]).toEqual([]);
    for (const stranger of PROFILES.filter((each) => each !== name)) {
      expect([...(await deniedSubscriptions(of(stranger).connection, [inbox]))]).toEqual([inbox]);
    }
  });

  it('has no right that the table does not have', () => {
    const rights = permissionsOf(profileOf(name), of(name).credential.publicKey);
    const inTable = (of: readonly Row[]) => of.flatMap(([, subjects]) => subjects(facts()));
    const unknown = (lines: readonly string[], subjects: readonly string[]) =>
      lines.filter((line) => !line.startsWith('_INBOX_') && !subjects.some((subject) => allows([line], subject)));
    expect(unknown(rights.publish, inTable(TABLE[name].publish))).toEqual([]);
    expect(unknown(rights.subscribe, inTable(TABLE[name].subscribe))).toEqual([]);
  });

  it('is allowed by the broker exactly what the rules say, for every subject that any profile has', async () => {
    const rights = permissionsOf(profileOf(name), of(name).credential.publicKey);
    const lists = PROFILES.map((each) => permissionsOf(profileOf(each), of(each).credential.publicKey));
    const published = [...new Set(lists.flatMap((list) => list.publish.map(under)))];
    const denied = await deniedPublishes(of(name).connection, published);
    expect(published.filter((subject) => !denied.has(subject)).sort()).toEqual(
      published.filter((subject) => allows(rights.publish, subject)).sort(),
    );
    const subscribed = [...new Set(lists.flatMap((list) => list.subscribe))];
    const refused = await deniedSubscriptions(of(name).connection, subscribed);
    expect(subscribed.filter((subject) => !refused.has(subject)).sort()).toEqual(
      subscribed.filter((subject) => allows(rights.subscribe, subject)).sort(),
    );
  });
});

/** What the API can be asked about one stream or bucket, by its subject. */
const asked = (stream: string): string[] => [
  ...['CREATE', 'UPDATE', 'INFO', 'DELETE', 'PURGE', 'SNAPSHOT', 'RESTORE', 'MSG.GET', 'MSG.DELETE'].map(
    (verb) => `$JS.API.STREAM.${verb}.${stream}`,
  ),
  `$JS.API.STREAM.PEER.REMOVE.${stream}`,
  `$JS.API.STREAM.LEADER.STEPDOWN.${stream}`,
  ...['NAMES', 'LIST'].map((verb) => `$JS.API.CONSUMER.${verb}.${stream}`),
  ...['CREATE', 'DURABLE.CREATE', 'INFO', 'DELETE', 'PAUSE', 'MSG.NEXT', 'UNPIN', 'LEADER.STEPDOWN'].map(
    (verb) => `$JS.API.CONSUMER.${verb}.${stream}.some`,
  ),
  `$JS.API.CONSUMER.CREATE.${stream}`,
  `$JS.API.CONSUMER.CREATE.${stream}.some.filter.of.it`,
  `$JS.API.DIRECT.GET.${stream}`,
  `$JS.API.DIRECT.GET.${stream}.some.subject`,
  `$JS.ACK.${stream}.some.1.1.1.1.0`,
  `$JS.FC.${stream}.some.abc`,
  `$JS.SNAPSHOT.ACK.${stream}.some`,
];

// Last, because whoever may delete a stream does so here.
describe.each(PROFILES)('the credential %s, of every stream and bucket', (name) => {
  it('is allowed by the broker exactly what the rules say of whatever the API can do with it', async () => {
    const rights = permissionsOf(profileOf(name), of(name).credential.publicKey);
    const subjects = [...everyStream.flatMap(asked), ...BUCKETS.map((bucket) => kv(bucket, 'some.key'))];
    const denied = await deniedPublishes(of(name).connection, subjects);
    expect(subjects.filter((subject) => !denied.has(subject))).toEqual(
      subjects.filter((subject) => allows(rights.publish, subject)),
    );
  });
});
