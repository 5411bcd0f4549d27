/** The memory broker as a ground. */
import { type Member, memberKey } from '../../src/domain/names.ts';
import { buckets, chatSubject, keySubject, railSubject } from '../../src/domain/subjects.ts';
import { MemoryBroker } from '../../src/services/memory/broker.ts';
import { ManualClock } from '../../src/services/memory/clock.ts';
import { memoryDeliveryPorts } from '../../src/services/memory/delivery-ports.ts';
import { Faults } from '../../src/services/memory/faults.ts';
import { MemoryJournal } from '../../src/services/memory/journal.ts';
import { memoryLeaseRows } from '../../src/services/memory/lease-rows.ts';
import { encodeRow } from '../../src/services/memory/rows.ts';
import { Wire } from '../../src/services/memory/wire.ts';
import { Tally } from '../../src/services/tally.ts';
import type { Ground, Ports, Trouble } from './ground.ts';

/** Where a store is not there, its API says so; everything else is simply not answered. */
const API = [
  'posts.frontier',
  'posts.place',
  'posts.open',
  'posts.fullSubjects',
  'entries.remove',
  'entries.purge',
  'entries.counts',
  'entries.removeForeign',
  'copies.remove',
  'copies.purge',
  'copies.counts',
  'copies.removeForeign',
];

export function memoryGround(): Ground {
  const space = 'main';
  const history = 200;
  const leaseTtlMs = 1_000;
  const clock = new ManualClock();
  const broker = new MemoryBroker({ clock, space, history, leaseTtlMs });
  clock.onAdvance(() => broker.tick());
  const journal = new MemoryJournal();
  const tally = new Tally();
  const name = buckets(space);
  let members = 0;
  const portsOver = (of: { faults?: Faults; gate?: () => string | undefined }): Ports => ({
    ...memoryDeliveryPorts({ broker, incarnation: 'test', journal, tally, ...of }),
    leaseRows: memoryLeaseRows(new Wire({ broker, ...of })),
  });
  const faultsOf = (trouble: Trouble): Faults => {
    const faults = new Faults();
    if (trouble === 'denied') faults.deny();
    if (trouble === 'missing') for (const verb of API) faults.refuse(verb, '10059');
    if (trouble === 'silent' || trouble === 'missing') faults.silent();
    return faults;
  };
  const streamOf = (subject: string) =>
    subject.includes('.chat.') ? broker.chat : subject.includes('.dinbox.') ? broker.inbox : broker.dlv;
  const bucketOf = {
    channels: broker.channels,
    members: broker.members,
    acl: broker.acl,
    lanes: broker.lanes,
    delivery: broker.lease,
  };
  const seqOf = (outcome: { kind: string; seq?: number }) => outcome.seq ?? 0;
  const ground: Ground = {
    space,
    history,
    leaseTtlMs,
    journal,
    tally,
    ports: async (of = {}) => portsOver(of),
    troubled: async (trouble) =>
      portsOver({ faults: faultsOf(trouble), ...(trouble === 'gated' ? { gate: () => 'in doubt' } : {}) }),
    member: async ({ allow = ['>'] } = {}) => {
      const actor = `agent${++members}`;
      const member: Member = { owner: 'local', actor, uid: actor.padEnd(26, 'u') };
      broker.deliveries.add(member);
      const row = { name: actor, allowSubscribe: allow, issuedAllowSubscribe: allow, revision: 1, updatedAt: 1 };
      await ground.putRow({ bucket: 'acl', key: memberKey(member), row });
      return member;
    },
    post: async ({ from, channel, data }) =>
      seqOf(broker.chat.publish({ subject: chatSubject(space, from, channel), data })),
    steer: async ({ subject, data, headers = {} }) => seqOf(streamOf(subject).publish({ subject, data, headers })),
    putRow: async ({ bucket, key, row }) => {
      const marker = row === undefined;
      const data = marker ? new Uint8Array() : encodeRow(row as object);
      const headers: Record<string, string> = marker ? { 'KV-Operation': 'DEL' } : {};
      return seqOf(bucketOf[bucket].publish({ subject: keySubject(name[bucket], key), data, headers }));
    },
    take: async (member, limit) => broker.deliveries.take(member, limit),
    confirm: async (member, seq) => broker.deliveries.confirm(member, seq),
    terminate: async (member, seq) => broker.deliveries.terminate(member, seq),
    passOver: async (member, seqs) => {
      for (const seq of seqs) broker.deliveries.passOver(member, seq);
    },
    request: ({ rail, principal, body, reply }) =>
      new Promise((resolve) => {
        const subject = railSubject(space, rail, principal);
        const sent = broker.requests.send({
          rail,
          subject,
          reply: reply ?? `${subject}.reply.1`,
          data: body,
          answer: (data) => resolve(JSON.parse(Buffer.from(data).toString())),
        });
        if (!sent) resolve(undefined);
        else setTimeout(() => resolve(undefined), 100);
      }),
    deleteFanout: async () => broker.deleteFanout(),
    restart: async () => {
      broker.stop();
      broker.start();
    },
    elapse: async (ms) => clock.advance(ms),
  };
  return ground;
}
