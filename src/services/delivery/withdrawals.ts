/**
 * What a lane takes out of the stores: settled entries (R2), everything of a retired lifecycle (R6), and copies and entries
 * that a leave or a changed grant does not cover any more (R3).
 */
import type { Member } from '../../domain/names.ts';
import type { Copies, Entries, HeldCopy, Journal, Rows } from '../ports.ts';
import type { Tally } from '../tally.ts';
import type { Desks } from './desks.ts';
import { asJudged, memberOf, openJudge } from './judge.ts';
import type { OwedCounts } from './owed.ts';
import { handOffAgain } from './passed-over.ts';
import type { ReviewRequest, Reviews } from './reviews.ts';
import { removeSettled } from './settled-entries.ts';

export interface WithdrawalPorts {
  readonly entries: Entries;
  readonly copies: Copies;
  readonly rows: Rows;
  readonly owed: OwedCounts;
  readonly reviews: Reviews;
  readonly tally: Tally;
  readonly journal: Journal;
}

const NOTHING_AGAIN = { kind: 'done', fewer: 0, settled: 0 } as const;
const SILENT = { type: 'broker.silent' } as const;
const RETIRED = { type: 'lifecycle.retired' } as const;

export class Withdrawals {
  readonly #ports: WithdrawalPorts;
  readonly #desks: Desks;

  constructor(ports: WithdrawalPorts, desks: Desks) {
    this.#ports = ports;
    this.#desks = desks;
  }

  async removeSettled(key: string, settled: number) {
    const removed = await removeSettled(this.#ports, { key, desk: this.#desks.of(key) });
    if (removed === 'silent') return SILENT;
    return removed === 'failed'
      ? ({ type: 'removal.failed' } as const)
      : ({ type: 'entries.removed', met: settled } as const);
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
    owed.add(key, -removed.count);
    tally.add('entries.retired', '', removed.count);
    const unmarked = await rows.removeMark({ member });
    if (unmarked.kind === 'silent') return SILENT;
    if (unmarked.kind !== 'removed') return { type: 'removal.failed' } as const;
    reviews.answerAll(key, { withdrawn: gone.count, removed: removed.count });
    this.#desks.drop(key);
    return { type: 'entries.removed', met: 0 } as const;
  }

  /**
   * Looks at every handed-off copy again: by the rows as they are now, and by the generations that a leave closed. What is
   * not allowed any more is taken back, copies first: a withdrawal must never look like a confirmation.
   */
  async review(key: string, met: number) {
    const { copies, rows, reviews, tally } = this.#ports;
    const member = memberOf(key);
    const desk = this.#desks.of(key);
    const requests = reviews.of(key);
    const held = await copies.held({ member });
    if (held.kind === 'silent') return SILENT;
    const there = new Set(held.copies.map((copy) => copy.seq));
    const missed = [...desk.awaiting.keys()].filter((seq) => !there.has(seq));
    for (const seq of missed) desk.settle(seq, 'confirmed');
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
    // Nor is what came for it and was not looked at yet handed off from memory: it may be dropped below.
    desk.forgetUpcoming();
    const mine = refused.filter((copy) => desk.awaiting.delete(copy.seq));
    const withdrawn = mine.length;
    for (const { taken } of requests)
      for (const { entrySeq, channel } of mine) if (entrySeq > 0) taken.set(entrySeq, channel);
    if (!(await this.#takeBack(member, held.copies, refused))) return SILENT;
    desk.refused = [];
    tally.add('copies.withdrawn', '', refused.length);
    // Also what an attempt before this one took back.
    const taken = new Map(requests.flatMap((request) => [...request.taken]));
    for (const { entrySeq, channel } of mine) if (entrySeq > 0) taken.set(entrySeq, channel);
    // Confirmed entries go first, so that a leave counts only what was still owed.
    desk.settled = desk.settled.filter((seq) => !taken.has(seq));
    if ((await removeSettled(this.#ports, { key, desk, kept: taken.keys() })) !== 'removed') return SILENT;
    for (const request of requests) if (!(await this.#purgeFor(key, request))) return SILENT;
    const purged = new Set(requests.map(({ channel }) => channel));
    const left = [...taken].filter(([, channel]) => !purged.has(channel)).map(([seq]) => seq);
    desk.settled.push(...left);
    const removed = await removeSettled(this.#ports, { key, desk });
    const again = requests.some((request) => request.again)
      ? await handOffAgain(this.#ports, { key, member, desk })
      : NOTHING_AGAIN;
    if (again.kind === 'silent') return SILENT;
    for (const request of requests) {
      // Without a row nobody can say what a changed grant still covers: the answer waits for the row.
      if (request.channel === undefined && !request.again && judge.acl.kind === 'unknown') continue;
      const ofChannel = [...taken.values()].filter((channel) => channel === request.channel).length;
      const counted = request.channel === undefined ? taken.size : Math.max(ofChannel, request.removed);
      reviews.answer(key, request, { withdrawn: refused.length, removed: counted });
    }
    return {
      type: 'copies.withdrawn',
      copies: withdrawn + missed.length + again.fewer,
      settled: (removed === 'removed' ? 0 : left.length) + again.settled,
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
}
