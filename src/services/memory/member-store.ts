/** What the stores of entries and of copies have in common: counts, and removal by sequence and by subject. */
import { heldByAll } from '../../domain/held.ts';
import { type Member, memberKey } from '../../domain/names.ts';
import { everybodys, readMemberSubject } from '../../domain/subjects.ts';
import type { Counts, Denied, PageOfAll, Refused, Silent, StoreOutcome } from '../ports.ts';
import type { Kept, MemoryStream, ToKeep } from './stream.ts';
import type { Wire } from './wire.ts';

/** nats-server's number for a message above its payload limit. */
export const TOO_LARGE = '10054';
const HEADER_FRAME = 'NATS/1.0\r\n\r\n'.length;

export interface MemberStore {
  readonly wire: Wire;
  readonly stream: MemoryStream;
  readonly port: 'entries' | 'copies';
  readonly family: 'dinbox' | 'dlv';
}

/** The refusal of a message that the broker would not carry. */
export function tooLarge({ wire }: MemberStore, { data, headers = {}, msgId, subject }: ToKeep): Refused | undefined {
  const all = Object.entries(msgId === undefined ? headers : { ...headers, 'Nats-Msg-Id': msgId });
  const head = all.reduce((sum, [name, value]) => sum + name.length + value.length + ': \r\n'.length, HEADER_FRAME);
  return data.length + head <= wire.broker.maxPayload
    ? undefined
    : { kind: 'refused', code: TOO_LARGE, message: `message on ${subject} is too large` };
}

export async function storeAll(store: MemberStore, messages: readonly ToKeep[]): Promise<StoreOutcome> {
  const large = messages.map((message) => tooLarge(store, message)).find((refused) => refused !== undefined);
  if (large !== undefined) return large;
  const outcome = await store.wire.ask(`${store.port}.storeAll`, () => store.stream.batch(messages));
  return outcome.kind === 'conflict'
    ? { kind: 'refused', code: 'conflict', message: 'another write came first' }
    : outcome;
}

export const removeSeqs = (
  { wire, stream, port }: MemberStore,
  seqs: readonly number[],
): Promise<{ kind: 'removed' } | Refused | Denied | Silent> =>
  wire.ask(`${port}.remove`, () => {
    for (const seq of seqs) stream.remove(seq);
    return { kind: 'removed' as const };
  });

export const purge = (
  { wire, stream, port, family }: MemberStore,
  { member, channel, upTo }: { member: Member; channel?: string; upTo: number },
): Promise<{ kind: 'removed'; count: number } | Refused | Denied | Silent> =>
  wire.ask(`${port}.purge`, () => {
    const filter = `cotal.${wire.broker.space}.${family}.${memberKey(member)}.${channel ?? '>'}`;
    const count = stream.purge({ filter, upTo });
    wire.broker.deliveries.purged();
    return { kind: 'removed' as const, count };
  });

export const counts = (
  { wire, stream, port, family }: MemberStore,
  { member }: { member?: Member },
): Promise<Counts | Silent> =>
  wire.look(`${port}.counts`, () => {
    const { space } = wire.broker;
    const head = `cotal.${space}.${family}.`;
    const filter = member === undefined ? `${head}>` : `${head}${memberKey(member)}.>`;
    const found = new Map<string, number>();
    const foreign: string[] = [];
    for (const [subject, count] of stream.subjects(filter)) {
      const place = readMemberSubject(space, family, subject);
      if (place === undefined) {
        foreign.push(subject);
        continue;
      }
      const key = memberKey(place.member);
      found.set(key, (found.get(key) ?? 0) + count);
    }
    return { kind: 'read', counts: found, foreign, lastSeq: stream.lastSeq };
  });

export const pageOfAll = <T>(
  { wire, stream, port, family }: MemberStore,
  { after, limit }: { after: number; limit: number },
  held: (member: Member, message: Kept) => T,
): Promise<PageOfAll<T> | Silent> =>
  wire.look(`${port}.pageOfAll`, () => {
    const { kept, pending } = stream.page({ filter: everybodys(wire.broker.space, family), after, limit });
    return { kind: 'read', held: heldByAll(kept, held), upTo: kept.at(-1)?.seq ?? after, more: pending > 0 };
  });

export const removeForeign = (
  { wire, stream, port }: MemberStore,
  { subjects, upTo }: { subjects: readonly string[]; upTo: number },
): Promise<{ kind: 'removed' } | Refused | Denied | Silent> =>
  wire.ask(`${port}.removeForeign`, () => {
    for (const filter of subjects) stream.purge({ filter, upTo });
    return { kind: 'removed' as const };
  });
