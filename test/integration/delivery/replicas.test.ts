/**
 * Three replicas. One that is cut off from the others, and still reachable by the daemon, answers direct gets with the stream
 * as it was: nobody's permission, and no end of anybody's entries, is believed from there.
 */
import type { NatsConnection } from '@nats-io/nats-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { encodeEntry, MEMBER_HEADER, WRITER_HEADER } from '../../../src/domain/entry.ts';
import { type Member, memberKey } from '../../../src/domain/names.ts';
import { bucketStream, buckets, entrySubject, keySubject, streams } from '../../../src/domain/subjects.ts';
import { type Outgoing, publishOne } from '../../../src/services/nats/batch.ts';
import { natsEntries } from '../../../src/services/nats/entries.ts';
import { HostedEntries } from '../../../src/services/nats/hosted-entries.ts';
import { readOwed } from '../../../src/services/nats/owed.ts';
import { natsRowWatch } from '../../../src/services/nats/row-watch.ts';
import { natsRows } from '../../../src/services/nats/stored-rows.ts';
import { type Cluster, SERVERS, startCluster } from '../../support/cluster.ts';
import { connectAsAnybody } from '../../support/lease-history.ts';
import { until } from '../../support/until.ts';

const SPACE = 'main';
const CHANNEL = 'team';
const member: Member = { owner: 'local', actor: 'alice', uid: 'abcdefghijklmnopqrstuvwxyz' };
const acl = bucketStream(buckets(SPACE).acl);
const { inbox } = streams(SPACE);
/** For a server that is cut off: that it does not answer is waited for. */
const SILENT_SOON = { timeoutMs: 2_000 };

let cluster: Cluster;
const open: NatsConnection[] = [];

beforeAll(async () => {
  cluster = await startCluster();
}, 120_000);
afterAll(async () => {
  for (const connection of open) await connection.close();
  await cluster.dispose();
});

/** A hand that stores by a stream's leader, and the daemon's ports on a server that follows in it. */
async function leaderAndFollower(stream: string, { timeoutMs }: { timeoutMs: number }) {
  const asking = await anybodyOn('broker.1');
  const leader = await until(() => cluster.leaderOf(asking, stream), `${stream} has no leader`);
  const hand = await anybodyOn(leader);
  const follower = SERVERS.find((name) => name !== leader) ?? leader;
  const broker = await cluster.delivery(follower, { timeoutMs });
  const store = async (message: Outgoing): Promise<number> => {
    const outcome = await publishOne({ connection: hand, message, timeoutMs: 10_000 });
    if (outcome.kind !== 'stored') throw new Error(JSON.stringify(outcome));
    return outcome.seq;
  };
  return { follower, store, broker };
}
async function anybodyOn(server: (typeof SERVERS)[number]): Promise<NatsConnection> {
  const connection = await connectAsAnybody({ url: cluster.url(server), keys: cluster.keys });
  open.push(connection);
  return connection;
}

const aclRow = (channels: readonly string[], revision: number): Outgoing => ({
  subject: keySubject(buckets(SPACE).acl, memberKey(member)),
  data: Buffer.from(
    JSON.stringify({
      name: 'alice',
      allowSubscribe: channels,
      issuedAllowSubscribe: channels,
      revision,
      updatedAt: 0,
    }),
  ),
});
const entry = (seq: number): Outgoing => ({
  subject: entrySubject(SPACE, member, CHANNEL),
  data: encodeEntry(Buffer.from(JSON.stringify({ id: `p${seq}`, text: '' })), {
    channel: CHANNEL,
    seq,
    reason: 'durable-channel',
    generation: 1,
  }),
  headers: { [WRITER_HEADER]: 'test', [MEMBER_HEADER]: memberKey(member) },
});

describe('a replica that is cut off from the others', () => {
  it('is believed no permission: a grant that was narrowed meanwhile is not read from it, nor while it catches up', async () => {
    const { follower, store, broker } = await leaderAndFollower(acl, SILENT_SOON);
    const rows = natsRows({ broker, space: SPACE });
    const before = await store(aclRow([CHANNEL], 1));
    await until(
      async () => {
        const read = await rows.acl({ member });
        return read.kind === 'read' && read.revision === before;
      },
      () => 'the follower does not answer',
      60_000,
    );
    cluster.partition(follower, true);
    const narrowed = await store(aclRow([], 2));
    expect(await rows.acl({ member })).toMatchObject({ kind: 'silent' });
    cluster.partition(follower, false);
    const answers: unknown[] = [];
    await until(
      async () => {
        const read = await rows.acl({ member });
        if (read.kind === 'read') answers.push(read.revision);
        return answers.length >= 20;
      },
      () => JSON.stringify(answers),
      60_000,
    );
    expect(new Set(answers)).toEqual(new Set([narrowed]));
  });

  it('is believed no end: entries that were stored meanwhile are not missing from what a member is owed', async () => {
    const { follower, store, broker } = await leaderAndFollower(inbox, SILENT_SOON);
    const entries = natsEntries({ broker, space: SPACE, incarnation: 'test' });
    const first = await store(entry(1));
    const page = (after: number) => entries.page({ member, after, limit: 10 });
    await until(
      async () => (await page(0)).kind === 'read',
      () => 'the follower does not answer',
      60_000,
    );
    cluster.partition(follower, true);
    const second = await store(entry(2));
    expect(await page(first)).toMatchObject({ kind: 'silent' });
    cluster.partition(follower, false);
    const answers: unknown[] = [];
    await until(
      async () => {
        const read = await page(first);
        if (read.kind === 'read') answers.push(read.entries[0]?.seq);
        return answers.length >= 20;
      },
      () => JSON.stringify(answers),
      60_000,
    );
    expect(new Set(answers)).toEqual(new Set([second]));
  });

  it('is not believed that an entry is gone that it never had: a bridge acknowledges nothing by its word', async () => {
    const { follower, store, broker } = await leaderAndFollower(inbox, SILENT_SOON);
    const entries = new HostedEntries({
      space: SPACE,
      writer: 'test',
      timeoutMs: SILENT_SOON.timeoutMs,
      renewAfterMs: 3_600_000,
      dial: async () => ({ connection: broker.connection, publicKey: 'test' }),
    });
    const first = await store(entry(3));
    const gone = (entrySeq: number) => entries.gone({ entrySeqs: [entrySeq] });
    await until(
      async () => (await gone(first)).kind === 'read',
      () => 'the follower does not answer',
      60_000,
    );
    cluster.partition(follower, true);
    const second = await store(entry(4));
    expect(await gone(second)).toMatchObject({ kind: 'silent' });
    cluster.partition(follower, false);
    const answers: unknown[] = [];
    await until(
      async () => {
        const read = await gone(second);
        if (read.kind === 'read') answers.push(read.entrySeqs);
        return answers.length >= 20;
      },
      () => JSON.stringify(answers),
      60_000,
    );
    expect(answers.flat()).toEqual([]);
    const never = second + 1_000;
    const read = await until(
      async () => {
        const answer = await gone(never);
        return answer.kind === 'read' ? answer : undefined;
      },
      () => 'the leader does not answer',
      60_000,
    );
    expect(read.entrySeqs).toEqual([never]);
  });
});

describe('a watch that a replica feeds which is cut off', () => {
  it('is not taken for complete: a grant that was written meanwhile is not told, so the watch is lost', async () => {
    const { follower, store, broker } = await leaderAndFollower(acl, SILENT_SOON);
    const asking = await anybodyOn(follower);
    const leader = await cluster.leaderOf(asking, acl);
    const third = SERVERS.find((name) => name !== leader && name !== follower);
    const lost: string[] = [];
    const told = new Set<number>();
    const news = {
      channel: () => {},
      member: () => {},
      acl: (_member: Member, _acl: unknown, revision: number) => void told.add(revision),
      lost: (why: string) => void lost.push(why),
    };
    // The broker chooses who feeds a watch: one is made anew until it is the third server.
    const watch = await until(
      async () => {
        const followed = await natsRowWatch({ broker, space: SPACE }).follow(news);
        if (followed.kind !== 'following') return undefined;
        const consumers = await asking.request(`$JS.API.CONSUMER.LIST.${acl}`, '{}', { timeout: 5_000 });
        const feeding = consumers.json<{ consumers: { cluster: { leader?: string } }[] }>().consumers;
        if (feeding.length === 1 && feeding[0]?.cluster.leader === third?.replace('.', '-')) return followed.watch;
        await followed.watch.stop();
        return undefined;
      },
      () => 'the third server feeds no watch',
      60_000,
    );
    await until(
      async () => (await watch.caughtUp()).kind === 'told',
      () => `lost: ${lost}`,
      60_000,
    );
    cluster.partition(third ?? leader, true);
    const revision = await store(aclRow([CHANNEL], 200));
    expect(await watch.caughtUp()).toMatchObject({ kind: 'silent' });
    expect([told.has(revision), lost.length]).toEqual([false, 1]);
    cluster.partition(third ?? leader, false);
    const again = await until(
      async () => {
        const followed = await natsRowWatch({ broker, space: SPACE }).follow(news);
        return followed.kind === 'following' ? followed.watch : undefined;
      },
      () => 'nothing can be followed',
      60_000,
    );
    expect(told.has(revision)).toBe(true);
    await again.stop();
  });
});

describe('a replica whose group knows no leader', () => {
  it('is not taken for the leader, though it answers for the stream', async () => {
    const { follower, store, broker } = await leaderAndFollower(acl, SILENT_SOON);
    const ports = { broker, space: SPACE };
    const before = await store(aclRow([CHANNEL], 300));
    const rows = natsRows(ports);
    await until(
      async () => {
        const read = await rows.acl({ member });
        return read.kind === 'read' && read.revision === before;
      },
      () => 'the follower does not answer',
      60_000,
    );
    cluster.partition(follower, true);
    onTestFinished(() => cluster.partition(follower, false));
    // What it led itself it goes on leading for some seconds.
    const answersAlone = async (stream: string) => {
      const reply = await broker.request(`$JS.API.STREAM.INFO.${stream}`, {});
      return (
        reply.kind === 'reply' && reply.message.json<{ cluster: { leader?: string } }>().cluster.leader === undefined
      );
    };
    for (const stream of [acl, inbox])
      await until(
        () => answersAlone(stream),
        () => `${stream}: nobody answers`,
        60_000,
      );
    await store(aclRow([], 301));
    expect(await rows.acl({ member })).toMatchObject({ kind: 'silent' });
    expect(await natsEntries({ ...ports, incarnation: 'test' }).counts({})).toMatchObject({ kind: 'silent' });
    expect(await readOwed({ ...ports, wallMs: 0 })).toBeUndefined();
  });
});

describe('a replica that is a moment behind', () => {
  it('is not believed either: what was stored is read at once, wherever one is connected', async () => {
    const { store, broker } = await leaderAndFollower(acl, { timeoutMs: 10_000 });
    const rows = natsRows({ broker, space: SPACE });
    // Leaders may change yet, after what was cut off came back: then nobody answers for a moment.
    const read = () =>
      until(
        async () => {
          const acl = await rows.acl({ member });
          return acl.kind === 'read' ? acl : undefined;
        },
        () => 'the follower does not answer',
        60_000,
      );
    for (let i = 0; i < 100; i++) {
      const revision = await store(aclRow([CHANNEL], 400 + i));
      expect(await read()).toMatchObject({ revision });
    }
  });
});
