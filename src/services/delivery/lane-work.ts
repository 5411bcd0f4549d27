/**
 * The work of the lanes over their ports: one desk a member. Every method is one effect of the lane machine and answers
 * with its facts. What is pending, handed off and settled is asked of the store (R1); a desk only remembers what its own
 * lane did since.
 */
import { encodeCopy } from '../../domain/copy.ts';
import { carriedSize } from '../../domain/entry.ts';
import { planLane } from '../../domain/lane-plan.ts';
import type { Member } from '../../domain/names.ts';
import type { Clock, Copies, CopyToStore, Entries, HeldCopy, HeldEntry, Journal, Rows, Silent } from '../ports.ts';
import type { Tally } from '../tally.ts';
import type { Desk, HowSettled } from './desk.ts';
import type { Desks } from './desks.ts';
import { askFor } from './found.ts';
import type { Inventory } from './inventory.ts';
import { asJudged, memberOf, openJudge } from './judge.ts';
import { Upcoming } from './upcoming.ts';

export interface LanePorts {
  readonly entries: Entries;
  readonly copies: Copies;
  readonly rows: Rows;
  readonly journal: Journal;
  readonly tally: Tally;
  readonly clock: Clock;
  readonly inventory: Inventory;
  readonly window: number;
  maxPayload(): number;
}

const SILENT = { type: 'broker.silent' } as const;
const RETIRED = { type: 'lifecycle.retired' } as const;
const UNKNOWN = { type: 'lifecycle.unknown' } as const;

export class LaneWork {
  readonly #ports: LanePorts;
  readonly #desks: Desks;

  constructor(ports: LanePorts, desks: Desks) {
    this.#ports = ports;
    this.#desks = desks;
  }

  /** An entry was stored: a lane that is up to date takes it on without reading it back. */
  offer(key: string, entry: HeldEntry): void {
    this.#desks.offer(key, entry, this.#ports.window);
  }

  /** Entries of this member were stored, and it is not known where: its lane has to ask the store. */
  forgetUpcoming(key: string): void {
    this.#desks.forgetUpcoming(key);
  }

  /** Somebody stored entries below this sequence, and it is not known whose: every lane has to ask the store. */
  forgetAllUpcoming(seq: number): void {
    this.#desks.forgetAllUpcoming();
    this.#ports.inventory.given(seq);
  }

  /** A confirmation was seen. True when the member's lane knew the copy. */
  settled({ key, copySeq, how }: { key: string; copySeq: number; how: HowSettled }): boolean {
    const isKnown = this.#desks.settle(key, copySeq, how);
    this.#ports.inventory.hear(key, copySeq, how);
    if (isKnown) this.#tellSettled(key, [{ seq: copySeq, how }]);
    return isKnown;
  }

  #tellSettled(member: string, settled: readonly { seq: number; how: HowSettled }[]): void {
    for (const { seq, how } of settled)
      if (how === 'terminated') this.#ports.journal.tell('copies.terminated', { member, seq });
  }

  /**
   * Finds the member's place: as its last lane left it, by what an inventory has of it, or by what the stores say now. Before
   * anything else the lane takes what the inventory has: from here on it changes what lies there.
   */
  async recover(key: string) {
    const { rows, tally, inventory } = this.#ports;
    const member = memberOf(key);
    const counted = inventory.take(key);
    const kept = this.#desks.resume(key);
    if (kept !== undefined) {
      tally.add('lanes.placed', 'kept');
      return resumed(kept);
    }
    tally.add('lanes.placed', counted === undefined ? 'read' : 'counted');
    const desk = this.#desks.renew(key);
    // At once: it may be forgotten before the place is found.
    if (counted !== undefined) desk.upcoming = counted.upcoming;
    for (const [seq, how] of counted?.early ?? []) desk.settle(seq, how);
    const found = counted?.found ?? (await askFor(this.#ports, member));
    if (found === undefined) return SILENT;
    const { mark, markedAt, entries, more } = found;
    for (const held of found.foreign) this.#tally('foreign', held);
    const foreign = found.copies.filter((copy) => copy.entrySeq === 0);
    const all = found.copies.filter((copy) => copy.entrySeq > 0);
    // A copy of another post than the one that lies on its entry's sequence now says nothing of that one.
    const posts = new Map(entries.map(({ seq, post }) => [seq, post]));
    const ours = all.filter(({ entrySeq, post }) => (posts.get(entrySeq) ?? post) === post);
    const copied = new Set(ours.map((copy) => copy.entrySeq));
    const plan = planLane(entries, copied, { ...mark, storedAt: markedAt });
    desk.mark = { ...mark, handedTo: plan.handedTo };
    if (plan.handedTo < mark.handedTo)
      this.#ports.journal.tell('lane.mark-ahead', { member: key, seq: plan.handedTo + 1 });
    const judge = await openJudge(rows, member, all.map(asJudged));
    if (judge.kind === 'silent') return SILENT;
    if (judge.acl.kind === 'retired') return RETIRED;
    desk.after = Math.min(found.lookedTo, (plan.waiting[0] ?? Number.POSITIVE_INFINITY) - 1);
    // What is known begins above those.
    if (plan.waiting.length > 0) desk.forgetUpcoming();
    desk.settled.push(...plan.settled);
    const early = desk.await(ours);
    this.#tellSettled(key, early);
    const confirmed = early.length;
    desk.refused = [...foreign, ...all.filter((copy) => judge.disposition(asJudged(copy)).kind === 'refuse')];
    const isWaiting = more || plan.waiting.length > 0;
    if (judge.acl.kind === 'unknown' && isWaiting) return this.#verdict(member, desk);
    return {
      type: 'place.recovered',
      // What was stored since the inventory lies above it.
      waiting: isWaiting || counted !== undefined ? 1 : 0,
      outstanding: ours.length - confirmed,
      settled: plan.settled.length + confirmed,
      refused: desk.refused.length,
    } as const;
  }

  /** No ACL row: an earlier verdict stands for what it was said of, and is extended to what came since. */
  async #verdict(member: Member, desk: Desk) {
    const { entries, rows } = this.#ports;
    const { givenUp } = desk.mark;
    if (givenUp === undefined) return UNKNOWN;
    const counts = await entries.counts({ member });
    if (counts.kind === 'silent') return SILENT;
    const count = (counts.counts.get(keyOf(member)) ?? 0) - desk.awaiting.size;
    desk.mark = { ...desk.mark, givenUp: { ...givenUp, upTo: counts.lastSeq, count } };
    const written = await rows.writeMark({ member, mark: desk.mark });
    return written.kind === 'stored' ? ({ type: 'verdict.stands' } as const) : SILENT;
  }

  async authorize(key: string, waiting: number) {
    const { rows } = this.#ports;
    const member = memberOf(key);
    const desk = this.#desks.of(key);
    const page = await this.#next(member, desk);
    if (page.kind === 'silent') return SILENT;
    const last = page.entries.at(-1)?.seq;
    if (last === undefined) return { type: 'batch.empty', met: waiting } as const;
    // What lies above the place and below the mark came after the mark: its sequence was given out again.
    const first = page.entries[0]?.seq ?? last;
    if (first <= desk.mark.handedTo) desk.mark = { ...desk.mark, handedTo: first - 1 };
    const copied = new Set([...desk.awaiting.values(), ...desk.settled]);
    const met = page.more ? 0 : waiting;
    const judge = await openJudge(
      rows,
      member,
      page.entries.flatMap(({ entry }) => (entry ? [entry] : [])),
    );
    if (judge.kind === 'silent') return SILENT;
    if (judge.acl.kind === 'retired') return RETIRED;
    if (judge.acl.kind === 'unknown') return this.#verdict(member, desk);
    const release: HeldEntry[] = [];
    const refused: number[] = [];
    for (const held of page.entries) {
      if (copied.has(held.seq)) continue;
      const verdict = held.entry === undefined ? 'foreign' : judge.disposition(held.entry).kind;
      if (verdict === 'unknown') return UNKNOWN;
      if (verdict === 'release' && this.#fits(key, held)) release.push(held);
      else refused.push(held.seq);
      this.#tally(verdict, held);
    }
    desk.batch = { release, last };
    desk.settled.push(...refused);
    return { type: 'batch.authorized', release: release.length, refuse: refused.length, met } as const;
  }

  /** The next entries: those of which it is known that nothing lies between, or before, them; else a page of the store. */
  async #next(member: Member, desk: Desk): Promise<Next | Silent> {
    const { entries, window } = this.#ports;
    const limit = Math.max(1, window - desk.awaiting.size);
    const { upcoming } = desk;
    while (upcoming.size > 0) {
      const read = await this.#known(member, upcoming.first(limit));
      if (read.kind === 'silent') return read;
      // Others lie there now, or may: what was known is worth nothing.
      if (read.kind === 'given-anew' || desk.upcoming !== upcoming) {
        desk.forgetUpcoming();
        break;
      }
      upcoming.dropTo(read.readTo);
      const more = upcoming.size > 0 || !upcoming.isAll;
      if (read.entries.length > 0) return { kind: 'read', entries: read.entries, more };
    }
    if (desk.upcoming.isAll) return { kind: 'read', entries: [], more: false };
    desk.heard = [];
    const after = Math.max(desk.after, desk.upcoming.knownTo);
    const page = await entries.page({ member, after, limit });
    if (page.kind === 'read' && !page.more && desk.heard !== undefined) {
      const last = page.entries.at(-1)?.seq ?? after;
      desk.upcoming = new Upcoming(desk.heard, Number.POSITIVE_INFINITY);
      desk.upcoming.dropTo(last);
    }
    desk.heard = undefined;
    return page;
  }

  /** Those that were removed meanwhile are not among them. */
  async #known(member: Member, known: { posts: HeldEntry[] } | { seqs: number[] }) {
    if ('seqs' in known) return this.#ports.entries.at({ member, seqs: known.seqs });
    const { posts } = known;
    return { kind: 'read', entries: posts, readTo: posts.at(-1)?.seq ?? 0 } as const;
  }

  #fits(key: string, { entry, post }: HeldEntry): boolean {
    if (entry === undefined) return false;
    const bytes = carriedSize(post, entry.channel);
    const limit = this.#ports.maxPayload();
    if (bytes <= limit) return true;
    this.#ports.tally.add('entries.oversize');
    this.#ports.journal.tell('entry.oversize', { member: key, bytes, limit });
    return false;
  }

  #tally(verdict: string, held: HeldEntry): void {
    const { tally, journal } = this.#ports;
    if (verdict === 'refuse') tally.add('entries.refused');
    if (verdict !== 'foreign') return;
    const why = held.why ?? 'unknown';
    if (tally.get('entries.foreign', why) === 0) journal.tell('entry.foreign', { store: 'INBOX', why });
    tally.add('entries.foreign', why);
  }

  async handOff(key: string) {
    const desk = this.#desks.of(key);
    const batch = desk.batch.release.flatMap(toCopy);
    const outcome = await this.#ports.copies.storeAll({ member: memberOf(key), copies: batch.map(({ copy }) => copy) });
    if (outcome.kind === 'silent') return SILENT;
    if (outcome.kind !== 'stored') {
      return { type: 'store.refused', code: outcome.kind === 'refused' ? outcome.code : outcome.kind } as const;
    }
    const first = outcome.lastSeq - batch.length + 1;
    const early = desk.await(batch.map(({ held }, i) => ({ ...held, seq: first + i })));
    this.#tellSettled(key, early);
    this.#ports.tally.add('copies.handed-off', '', batch.length);
    return { type: 'copies.stored', count: batch.length, confirmed: early.length } as const;
  }

  async markHandedOff(key: string) {
    const desk = this.#desks.of(key);
    desk.after = Math.max(desk.after, desk.batch.last);
    desk.mark = { handedTo: desk.batch.last };
    desk.batch = { release: [], last: 0 };
    return this.#mark(key, desk);
  }

  async markGivenUp(key: string, attempts: number) {
    const { entries, clock } = this.#ports;
    const desk = this.#desks.of(key);
    const counts = await entries.counts({ member: memberOf(key) });
    if (counts.kind === 'silent') return SILENT;
    const count = (counts.counts.get(key) ?? 0) - desk.awaiting.size;
    const givenUp = { upTo: counts.lastSeq, at: clock.now().wallMs, attempts, count };
    desk.mark = { ...desk.mark, givenUp };
    this.#ports.tally.add('lanes.given-up');
    return this.#mark(key, desk);
  }

  async #mark(key: string, desk: Desk) {
    const written = await this.#ports.rows.writeMark({ member: memberOf(key), mark: desk.mark });
    return written.kind === 'stored' ? ({ type: 'mark.stored' } as const) : SILENT;
  }
}

interface Next {
  readonly kind: 'read';
  readonly entries: readonly HeldEntry[];
  /** There are further ones, or may be. */
  readonly more: boolean;
}

/** A place that was kept while the lane rested. What arrived meanwhile was offered to it, or is asked of the store from there on. */
const resumed = ({ awaiting, settled, refused }: Desk) =>
  ({
    type: 'place.recovered',
    waiting: 1,
    outstanding: awaiting.size,
    settled: settled.length,
    refused: refused.length,
  }) as const;

const keyOf = (member: Member): string => `${member.owner}.${member.actor}.${member.uid}`;

export function toCopy({ seq, entry, post }: HeldEntry): { copy: CopyToStore; held: HeldCopy }[] {
  if (entry === undefined) return [];
  const { channel, generation } = entry;
  const data = encodeCopy(post, { channel, seq: entry.seq, generation });
  return [
    { copy: { entrySeq: seq, channel, data }, held: { seq: 0, channel, generation, post: entry.seq, entrySeq: seq } },
  ];
}
