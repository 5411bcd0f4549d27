/**
 * Copies that lie on DLV and that their member's durable will never deliver: it counts them as delivered and as settled. A
 * broker that lost the end of a stream (full disk, failed machine) and gives its sequences out again leaves such copies. The
 * entry is still owed (R2), so it is handed off once more, and only then the old copy is removed: whoever stops in between
 * leaves two copies of one post, which the receiver takes for one.
 */
import type { Member } from '../../domain/names.ts';
import type { Copies, DurablePlace, Entries, HeldCopy, Journal, Silent, StoreOutcome } from '../ports.ts';
import type { Tally } from '../tally.ts';
import type { Desk } from './desk.ts';
import { memberOf } from './judge.ts';
import { toCopy } from './lane-work.ts';

/** Durables that one survey looks at; the others have their turn in the next ones. */
const LOOKS = 64;

const passedOver = (held: readonly HeldCopy[], { floor }: DurablePlace): HeldCopy[] =>
  held.filter(({ seq, entrySeq }) => entrySeq > 0 && seq <= floor);

/**
 * Whose durables leave copies behind. A confirmed copy is settled in the durable an instant before it is gone from the stream:
 * it is said of a member only when two surveys in a row saw one too many.
 */
export class Suspicions {
  readonly #copies: Copies;
  #suspected: ReadonlySet<string> = new Set();
  #turn = 0;

  constructor(copies: Copies) {
    this.#copies = copies;
  }

  /** `held`: how many copies each member has. */
  async confirm(held: ReadonlyMap<string, number>): Promise<string[]> {
    const suspected = new Set<string>();
    const sure: string[] = [];
    const look = async (key: string) => {
      const place = await this.#copies.place({ member: memberOf(key) });
      if (place.kind !== 'read' || place.pending + place.unconfirmed >= (held.get(key) ?? 0)) return;
      if (this.#suspected.has(key)) sure.push(key);
      else suspected.add(key);
    };
    await Promise.all([...this.#due([...held.keys()])].map(look));
    this.#suspected = suspected;
    return sure;
  }

  #due(members: readonly string[]): Set<string> {
    const sorted = [...members].sort();
    const from = sorted.length > LOOKS ? this.#turn % sorted.length : 0;
    this.#turn = from + LOOKS;
    const again = sorted.filter((key) => this.#suspected.has(key));
    return new Set([...again, ...[...sorted.slice(from), ...sorted.slice(0, from)].slice(0, LOOKS)]);
  }
}

export interface HandOffAgain {
  readonly kind: 'done';
  /** Outstanding copies fewer than before. */
  readonly fewer: number;
  /** Of these, copies whose confirmation came meanwhile: their entries wait to be removed. */
  readonly settled: number;
}

export async function handOffAgain(
  ports: { entries: Entries; copies: Copies; journal: Journal; tally: Tally },
  { key, member, desk }: { key: string; member: Member; desk: Desk },
): Promise<HandOffAgain | Silent> {
  const { entries, copies, journal, tally } = ports;
  const place = await copies.place({ member });
  if (place.kind === 'silent') return place;
  const held = await copies.held({ member });
  if (held.kind === 'silent') return held;
  const passed = place.kind === 'read' ? passedOver(held.copies, place) : [];
  if (passed.length === 0) return { kind: 'done', fewer: 0, settled: 0 };
  const old = new Set(passed.map(({ seq }) => seq));
  const wanted = new Set(passed.map(({ entrySeq }) => entrySeq));
  for (const copy of held.copies) if (!old.has(copy.seq)) wanted.delete(copy.entrySeq);
  const pages = await Promise.all([...wanted].map((seq) => entries.page({ member, after: seq - 1, limit: 1 })));
  const again = [];
  for (const page of pages) {
    if (page.kind === 'silent') return page;
    again.push(...page.entries.filter(({ seq }) => wanted.has(seq)).flatMap(toCopy));
  }
  const stored: StoreOutcome =
    again.length === 0
      ? { kind: 'stored', lastSeq: 0 }
      : await copies.storeAll({ member, copies: again.map(({ copy }) => copy) });
  if (stored.kind !== 'stored') return { kind: 'silent', why: `copies that were passed over: ${stored.kind}` };
  const first = stored.lastSeq - again.length + 1;
  const awaited = passed.filter(({ seq }) => desk.awaiting.delete(seq)).length;
  const early = desk.await(again.map((each, i) => ({ ...each.held, seq: first + i })));
  if ((await copies.remove({ seqs: [...old] })).kind !== 'removed')
    return { kind: 'silent', why: 'copies that were passed over are not removed' };
  tally.add('copies.passed-over', '', passed.length);
  journal.tell('copies.passed-over', { member: key, count: passed.length, again: again.length });
  return { kind: 'done', fewer: awaited - again.length + early.length, settled: early.length };
}
