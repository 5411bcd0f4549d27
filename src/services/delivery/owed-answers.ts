/** What is owed to whom, in numbers: entries that are not settled, copies that wait, what was given up. Never content. */
import { type Member, memberKey, readMember } from '../../domain/names.ts';
import type { DataOf } from '../../domain/rail.ts';
import type { RoutingIndex } from '../../domain/routing.ts';
import type { Clock, Copies, Counts, Entries, Rows } from '../ports.ts';

export interface OwedPorts {
  readonly rows: Rows;
  readonly entries: Entries;
  readonly copies: Copies;
  readonly index: RoutingIndex;
  readonly clock: Clock;
}

type Owed = DataOf<'pendingCount'>;

/** What is owed to one member. */
export async function owedTo(ports: OwedPorts, member: Member): Promise<Owed | 'silent'> {
  const [owed, held] = await Promise.all([ports.entries.counts({ member }), ports.copies.counts({ member })]);
  if (owed.kind === 'silent' || held.kind === 'silent') return 'silent';
  return owedOf(ports, member, owed, held);
}

/** Everybody to whom something is owed or was not copied, by key; a page of them. */
export async function owedToAll(
  ports: OwedPorts,
  { after, limit }: { after: string; limit: number },
): Promise<DataOf<'owed'> | 'silent'> {
  const [owed, held] = await Promise.all([ports.entries.counts({}), ports.copies.counts({})]);
  if (owed.kind === 'silent' || held.kind === 'silent') return 'silent';
  const short = [...ports.index.memberships()].filter(({ row }) => row.shortfall !== undefined);
  const keys = new Set([...owed.counts.keys(), ...held.counts.keys(), ...short.map(({ member }) => memberKey(member))]);
  const all = [...keys].sort().filter((key) => key > after);
  const members: DataOf<'owed'>['members'] = [];
  for (const key of all.slice(0, limit)) {
    const member = readMember(key);
    if (member === undefined) continue;
    const answer = await owedOf(ports, member, owed, held);
    if (answer === 'silent') return 'silent';
    members.push({ member: key, ...answer });
  }
  return { members, more: all.length > limit };
}

async function owedOf(ports: OwedPorts, member: Member, owed: Counts, held: Counts): Promise<Owed | 'silent'> {
  const key = memberKey(member);
  const mark = await ports.rows.mark({ member });
  if (mark.kind === 'silent') return 'silent';
  const { givenUp } = mark.mark;
  const first = await ports.entries.page({ member, after: givenUp?.upTo ?? 0, limit: 1 });
  if (first.kind === 'silent') return 'silent';
  const oldest = first.entries[0];
  const shortfall = [...ports.index.memberships()].find(
    (each) => memberKey(each.member) === key && each.row.shortfall !== undefined,
  )?.row.shortfall;
  return {
    pending: Math.max(0, (owed.counts.get(key) ?? 0) - (givenUp?.count ?? 0)),
    handedOff: held.counts.get(key) ?? 0,
    oldestAgeMs: oldest === undefined ? null : Math.max(0, ports.clock.now().wallMs - oldest.storedAt),
    givenUp: givenUp?.count ?? 0,
    ...(shortfall === undefined ? {} : { shortfall }),
  };
}
