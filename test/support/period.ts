/** A serving period over the memory broker, without machines: its work is called by the test. */

import { encodeEntry } from '../../src/domain/entry.ts';
import { type Member, memberKey } from '../../src/domain/names.ts';
import { buckets, keySubject } from '../../src/domain/subjects.ts';
import { type PeriodNews, ServingPeriod } from '../../src/services/delivery/period.ts';
import { MemoryBroker } from '../../src/services/memory/broker.ts';
import { ManualClock } from '../../src/services/memory/clock.ts';
import { memoryDeliveryPorts } from '../../src/services/memory/delivery-ports.ts';
import { Faults } from '../../src/services/memory/faults.ts';
import { MemoryJournal } from '../../src/services/memory/journal.ts';
import { encodeRow } from '../../src/services/memory/rows.ts';
import type { EntryToStore } from '../../src/services/ports.ts';
import { Tally } from '../../src/services/tally.ts';

export const SPACE = 'main';
export const memberNamed = (actor: string): Member => ({
  owner: 'local',
  actor,
  uid: actor.padEnd(26, 'u').slice(0, 26),
});

export interface Bench {
  readonly clock: ManualClock;
  readonly broker: MemoryBroker;
  readonly faults: Faults;
  readonly journal: MemoryJournal;
  readonly tally: Tally;
  readonly news: PeriodNews[];
  period(): Promise<ServingPeriod>;
  grant(member: Member, allow?: string[]): void;
  post(from: string, channel: string, id: string): Uint8Array;
  entry(member: Member, of: { channel: string; seq: number; id: string; generation?: number }): EntryToStore;
}

export function bench(
  of: { window?: number; batchSize?: number; quota?: number; inventoryFrom?: number; maxPayload?: number } = {},
): Bench {
  const clock = new ManualClock();
  const broker = new MemoryBroker({
    clock,
    space: SPACE,
    ...(of.maxPayload === undefined ? {} : { maxPayload: of.maxPayload }),
  });
  const faults = new Faults();
  const journal = new MemoryJournal();
  const tally = new Tally();
  const news: PeriodNews[] = [];
  let revision = 0;
  const post = (from: string, channel: string, id: string) =>
    encodeRow({
      id,
      ts: 1,
      space: SPACE,
      from: { id: from, name: from },
      channel,
      parts: [{ kind: 'text', text: id }],
    });
  return {
    clock,
    broker,
    faults,
    journal,
    tally,
    news,
    post,
    period: async () => {
      const serving = new ServingPeriod({
        ports: memoryDeliveryPorts({ broker, incarnation: 'inc', journal, tally, faults }),
        setting: {
          space: SPACE,
          writerIdentity: 'local.delivery/inc',
          window: of.window ?? 256,
          batchSize: of.batchSize ?? 1_000,
          quota: of.quota ?? 1_000,
          inventoryFrom: of.inventoryFrom ?? 100,
          clock,
          journal,
          tally,
          handlers: {},
        },
        tell: (each) => news.push(each),
      });
      await serving.open();
      return serving;
    },
    grant: (member, allow = ['>']) => {
      broker.deliveries.add(member);
      const row = {
        name: member.actor,
        allowSubscribe: allow,
        issuedAllowSubscribe: ['>'],
        revision: ++revision,
        updatedAt: 1,
      };
      broker.acl.publish({ subject: keySubject(buckets(SPACE).acl, memberKey(member)), data: encodeRow(row) });
    },
    entry: (member, { channel, seq, id, generation = 0 }) => {
      const bytes = post('local.sender', channel, id);
      const reason = generation === 0 ? ('live-mention' as const) : ('durable-channel' as const);
      const entry = { channel, seq, reason, generation };
      return {
        member,
        key: memberKey(member),
        channel,
        data: encodeEntry(bytes, entry),
        id: `${memberKey(member)}/${id}`,
        entry,
        post: bytes,
      };
    },
  };
}
