/**
 * The work of the lanes over their ports: one desk a member. Every method is one effect of the lane machine and answers
 * with its facts. What is pending, handed off and settled is asked of the store (R1); a desk only remembers what its own
 * lane did since.
 */
import { encodeCopy } from '../../domain/copy.ts';
import { carriedSize } from '../../domain/entry.ts';
import { planLane } from '../../domain/lane-plan.ts';
import { type Member, readMember } from '../../domain/names.ts';
import type { Clock, Copies, CopyToStore, Entries, HeldCopy, HeldEntry, Journal, Rows } from '../ports.ts';
import type { Tally } from '../tally.ts';
import { Desk } from './desk.ts';
import { openJudge } from './judge.ts';
import type { OwedCounts } from './owed.ts';
import type { ReviewRequest, Reviews } from './reviews.ts';

export interface LanePorts {
  readonly entries: Entries;
  readonly copies: Copies;
  readonly rows: Rows;
  readonly owed: OwedCounts;
  readonly reviews: Reviews;
  readonly journal: Journal;
  readonly tally: Tally;
  readonly clock: Clock;
  readonly window: number;
  maxPayload(): number;
}

const SILENT = { type: 'broker.silent' } as const;
const RETIRED = { type: 'lifecycle.retired' } as const;
const UNKNOWN = { type: 'lifecycle.unknown' } as const;

export class LaneWork {
  readonly #ports: LanePorts;
  readonly #desks = new Map<string, Desk>();

  constructor(ports: LanePorts) {
    this.#ports = ports;
  }

  /** Drops every desk: their lanes are gone. */
  clear(): void {
    this.#desks.clear();
  }

  leave(key: string): void {
    this.#desks.delete(key);
  }

  /** An entry was stored: a lane that is up to date takes it on without reading it back. */
  offer(key: string, entry: HeldEntry): void {
    this.#desks.get(key)?.offer(entry, this.#ports.window);
  }

  /** Entries of this member were stored, and it is not known where: its lane has to ask the store. */
  forgetOffers(key: string): void {
    this.#desks.get(key)?.forgetOffers();
  }

  /** A confirmation was seen. True when the member's lane knew the copy. */
  settled({ key, copySeq }: { key: string; copySeq: number }): boolean {
    return this.#desks.get(key)?.settle(copySeq) ?? false;
  }

  async recover(key: string) {
    const { copies, rows } = this.#ports;
    const member = memberOf(key);
    const desk = new Desk();
    this.#desks.set(key, desk);
    const [held, mark] = await Promise.all([copies.held({ member }), rows.mark({ member })]);
    if (held.kind === 'silent' || mark.kind === 'silent') return SILENT;
    desk.mark = mark.mark;
    const foreign = held.copies.filter((copy) => copy.entrySeq === 0);
    const ours = held.copies.filter((copy) => copy.entrySeq > 0);
    const copied = new Set(ours.map((copy) => copy.entrySeq));
    const upTo = Math.max(desk.mark.handedTo, ...copied);
    const met = await this.#entriesUpTo(member, upTo);
    if (met === undefined) return SILENT;
    const plan = planLane(met.seqs, copied, desk.mark.handedTo);
    const judge = await openJudge(rows, member, ours.map(asJudged));
    if (judge.kind === 'silent') return SILENT;
    if (judge.acl.kind === 'retired') return RETIRED;
    desk.after = Math.min(upTo, (plan.waiting[0] ?? Number.POSITIVE_INFINITY) - 1);
    desk.settled.push(...plan.settled);
    const confirmed = desk.await(ours);
    desk.refused = [...foreign, ...ours.filter((copy) => judge.disposition(asJudged(copy)).kind === 'refuse')];
    if (judge.acl.kind === 'unknown' && (met.more || plan.waiting.length > 0)) return this.#verdict(member, desk);
    return {
      type: 'place.recovered',
      waiting: met.more || plan.waiting.length > 0 ? 1 : 0,
      outstanding: ours.length - confirmed,
      settled: plan.settled.length + confirmed,
      refused: desk.refused.length,
    } as const;
  }

  /** Sequences of the member's entries up to a sequence, and whether there are further ones. */
  async #entriesUpTo(member: Member, upTo: number): Promise<{ seqs: number[]; more: boolean } | undefined> {
    const seqs: number[] = [];
    let after = 0;
    for (;;) {
      const limit = after < upTo ? this.#ports.window : 1;
      const page = await this.#ports.entries.page({ member, after, limit });
      if (page.kind === 'silent') return undefined;
      for (const held of page.entries) {
        if (held.seq > upTo) return { seqs, more: true };
        if (held.entry === undefined) this.#tally('foreign', held);
        seqs.push(held.seq);
        after = held.seq;
      }
      if (!page.more) return { seqs, more: false };
    }
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
    const desk = this.#desk(key);
    const page = await this.#next(member, desk);
    if (page.kind === 'silent') return SILENT;
    const last = page.entries.at(-1)?.seq;
    if (last === undefined) return { type: 'batch.empty', met: waiting } as const;
    const copied = new Set([...desk.awaiting.values()].map((copy) => copy.entrySeq));
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

  /** The next entries: those in hand, when nothing can lie between them and what was looked at, else a page of the store. */
  async #next(member: Member, desk: Desk) {
    const { entries, window } = this.#ports;
    const limit = Math.max(1, window - desk.awaiting.size);
    if (desk.offers !== undefined) {
      const taken = desk.offers.splice(0, limit);
      return { kind: 'read', entries: taken, more: desk.offers.length > 0 } as const;
    }
    desk.heard = [];
    const page = await entries.page({ member, after: desk.after, limit });
    if (page.kind === 'read' && !page.more) {
      const last = page.entries.at(-1)?.seq ?? desk.after;
      desk.offers = desk.heard?.filter((entry) => entry.seq > last);
    }
    desk.heard = undefined;
    return page;
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
    const desk = this.#desk(key);
    const batch = desk.batch.release.flatMap(toCopy);
    const outcome = await this.#ports.copies.storeAll({ member: memberOf(key), copies: batch.map(({ copy }) => copy) });
    if (outcome.kind === 'silent') return SILENT;
    if (outcome.kind !== 'stored') {
      return { type: 'store.refused', code: outcome.kind === 'refused' ? outcome.code : outcome.kind } as const;
    }
    const first = outcome.lastSeq - batch.length + 1;
    const confirmed = desk.await(batch.map(({ held }, i) => ({ ...held, seq: first + i })));
    this.#ports.tally.add('copies.handed-off', '', batch.length);
    return { type: 'copies.stored', count: batch.length, confirmed } as const;
  }

  async markHandedOff(key: string) {
    const desk = this.#desk(key);
    desk.after = Math.max(desk.after, desk.batch.last);
    desk.mark = { handedTo: Math.max(desk.mark.handedTo, desk.batch.last) };
    desk.batch = { release: [], last: 0 };
    return this.#mark(key, desk);
  }

  async markGivenUp(key: string, attempts: number) {
    const { entries, clock } = this.#ports;
    const desk = this.#desk(key);
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

  async removeSettled(key: string, settled: number) {
    const desk = this.#desk(key);
    const removed = await this.#remove(key, desk);
    if (removed === 'silent') return SILENT;
    return removed === 'failed'
      ? ({ type: 'removal.failed' } as const)
      : ({ type: 'entries.removed', met: settled } as const);
  }

  async #remove(key: string, desk: Desk): Promise<'removed' | 'failed' | 'silent'> {
    const seqs = desk.settled;
    if (seqs.length === 0) return 'removed';
    desk.settled = [];
    const outcome = await this.#ports.entries.remove({ seqs });
    if (outcome.kind === 'removed') {
      this.#ports.owed.add(key, -seqs.length);
      this.#ports.tally.add('entries.settled', '', seqs.length);
      return 'removed';
    }
    desk.settled = [...seqs, ...desk.settled];
    return outcome.kind === 'silent' ? 'silent' : 'failed';
  }

  /** A retired lifecycle: its copies first, so that nothing of it can still surface, then its entries, then its mark. */
  async removeEverything(key: string) {
    const { copies, entries, rows, owed, reviews, tally } = this.#ports;
    const member = memberOf(key);
    const held = await copies.counts({ member });
    if (held.kind === 'silent') return SILENT;
    const gone = await copies.purge({ member, upTo: held.lastSeq });
    if (gone.kind === 'silent') return SILENT;
    if (gone.kind !== 'removed') return { type: 'removal.failed' } as const;
    const owedNow = await entries.counts({ member });
    if (owedNow.kind === 'silent') return SILENT;
    const removed = await entries.purge({ member, upTo: owedNow.lastSeq });
    if (removed.kind === 'silent') return SILENT;
    if (removed.kind !== 'removed') return { type: 'removal.failed' } as const;
    await rows.removeMark({ member });
    owed.add(key, -removed.count);
    tally.add('entries.retired', '', removed.count);
    reviews.answerAll(key, { withdrawn: gone.count, removed: removed.count });
    this.#desks.delete(key);
    return { type: 'entries.removed', met: 0 } as const;
  }

  /**
   * Looks at every handed-off copy again: by the rows as they are now, and by the generations that a leave closed. What is
   * not allowed any more is taken back, copies first: a withdrawal must never look like a confirmation.
   */
  async review(key: string, met: number) {
    const { copies, rows, reviews, tally } = this.#ports;
    const member = memberOf(key);
    const desk = this.#desk(key);
    const requests = reviews.of(key);
    const held = await copies.held({ member });
    if (held.kind === 'silent') return SILENT;
    const there = new Set(held.copies.map((copy) => copy.seq));
    const missed = [...desk.awaiting.keys()].filter((seq) => !there.has(seq));
    for (const seq of missed) desk.settle(seq);
    const judge = await openJudge(rows, member, held.copies.map(asJudged));
    if (judge.kind === 'silent') return SILENT;
    if (judge.acl.kind === 'retired') return RETIRED;
    const refused = held.copies.filter(
      (copy) =>
        copy.entrySeq === 0 ||
        judge.disposition(asJudged(copy)).kind === 'refuse' ||
        requests.some((request) => request.closes(copy)),
    );
    // First of all, so that what the broker tells of them from here on (it calls a purged copy terminated) settles nothing.
    const withdrawn = refused.filter((copy) => desk.awaiting.delete(copy.seq)).length;
    if (!(await this.#takeBack(member, held.copies, refused))) return SILENT;
    desk.refused = [];
    tally.add('copies.withdrawn', '', refused.length);
    const taken = new Set(refused.map((copy) => copy.entrySeq).filter((seq) => seq > 0));
    // Confirmed entries go first, so that a leave counts only what was still owed.
    desk.settled = desk.settled.filter((seq) => !taken.has(seq));
    if ((await this.#remove(key, desk)) !== 'removed') return SILENT;
    for (const request of requests) if (!(await this.#purgeFor(key, request))) return SILENT;
    desk.settled.push(...taken);
    const removed = await this.#remove(key, desk);
    for (const request of requests) {
      // Without a row nobody can say what a changed grant still covers: the answer waits for the row.
      if (request.channel === undefined && judge.acl.kind === 'unknown') continue;
      const counted = request.channel === undefined ? taken.size : request.removed;
      reviews.answer(key, request, { withdrawn: refused.length, removed: counted });
    }
    return {
      type: 'copies.withdrawn',
      copies: withdrawn + missed.length,
      settled: removed === 'removed' ? 0 : taken.size,
      met,
    } as const;
  }

  /** What a leave's channel still holds for the member, up to now. */
  async #purgeFor(key: string, request: ReviewRequest): Promise<boolean> {
    const { entries, owed } = this.#ports;
    const member = memberOf(key);
    if (request.channel === undefined) return true;
    const counts = await entries.counts({ member });
    if (counts.kind === 'silent') return false;
    const purged = await entries.purge({ member, channel: request.channel, upTo: counts.lastSeq });
    if (purged.kind !== 'removed') return false;
    request.removed += purged.count;
    owed.add(key, -purged.count);
    return true;
  }

  /** Takes copies back; by one purge where nothing else lies below them on the subject, else one by one. */
  async #takeBack(member: Member, held: readonly HeldCopy[], refused: readonly HeldCopy[]): Promise<boolean> {
    const singly: number[] = [];
    for (const channel of new Set(refused.map((copy) => copy.channel))) {
      const ofChannel = refused.filter((copy) => copy.channel === channel);
      const upTo = Math.max(...ofChannel.map((copy) => copy.seq));
      const below = held.filter((copy) => copy.channel === channel && copy.seq <= upTo);
      if (below.length > ofChannel.length || ofChannel.length === 1) {
        singly.push(...ofChannel.map((copy) => copy.seq));
        continue;
      }
      if ((await this.#ports.copies.purge({ member, channel, upTo })).kind !== 'removed') return false;
    }
    return singly.length === 0 || (await this.#ports.copies.remove({ seqs: singly })).kind === 'removed';
  }

  #desk(key: string): Desk {
    const desk = this.#desks.get(key) ?? new Desk();
    this.#desks.set(key, desk);
    return desk;
  }
}

/** The member that a lane was started for. Lanes are started for parsed names only. */
function memberOf(key: string): Member {
  const member = readMember(key);
  if (member === undefined) throw new Error(`"${key}" is not a member`);
  return member;
}

const keyOf = (member: Member): string => `${member.owner}.${member.actor}.${member.uid}`;
const asJudged = (copy: HeldCopy) => ({ channel: copy.channel, seq: copy.post, generation: copy.generation });

function toCopy({ seq, entry, post }: HeldEntry): { copy: CopyToStore; held: HeldCopy }[] {
  if (entry === undefined) return [];
  const { channel, generation } = entry;
  const data = encodeCopy(post, { channel, seq: entry.seq, generation });
  return [
    { copy: { entrySeq: seq, channel, data }, held: { seq: 0, channel, generation, post: entry.seq, entrySeq: seq } },
  ];
}
