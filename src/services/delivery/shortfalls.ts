/**
 * Members that are at their quota: what was not copied to them is written to their member row, so that status, pending and
 * join can say it. Written at once the first time, then at most once a second a row, and when the work closes.
 */
import { type Member, memberKey } from '../../domain/names.ts';
import type { Shortfall } from '../../domain/rows.ts';
import type { Clock, Rows } from '../ports.ts';

interface Noted {
  readonly channel: string;
  readonly member: Member;
  shortfall: Shortfall;
  writtenAt: number;
  dirty: boolean;
}

const SPACING_MS = 1_000;

export class Shortfalls {
  readonly #rows: Rows;
  readonly #clock: Clock;
  readonly #noted = new Map<string, Noted>();

  constructor({ rows, clock }: { rows: Rows; clock: Clock }) {
    this.#rows = rows;
    this.#clock = clock;
  }

  note({ channel, member, seq }: { channel: string; member: Member; seq: number }): void {
    const key = `${channel}/${memberKey(member)}`;
    const known = this.#noted.get(key);
    const before = known?.shortfall;
    const shortfall: Shortfall = {
      since: before?.since ?? this.#clock.now().wallMs,
      count: (before?.count ?? 0) + 1,
      firstSeq: before?.firstSeq ?? seq,
      lastSeq: Math.max(before?.lastSeq ?? 0, seq),
    };
    this.#noted.set(key, { channel, member, shortfall, writtenAt: known?.writtenAt ?? -SPACING_MS, dirty: true });
  }

  /** Writes what is due. `all` writes what is not due yet too. */
  async flush({ all = false }: { all?: boolean } = {}): Promise<void> {
    const now = this.#clock.now().monotonicMs;
    const due = [...this.#noted.values()].filter((each) => each.dirty && (all || now - each.writtenAt >= SPACING_MS));
    await Promise.all(
      due.map(async (noted) => {
        const { channel, member } = noted;
        const read = await this.#rows.membership({ channel, member });
        if (read.kind !== 'row') return;
        noted.dirty = false;
        noted.writtenAt = now;
        const row = { ...read.row, shortfall: merged(read.row.shortfall, noted.shortfall) };
        const written = await this.#rows.writeMembership({ channel, member, row, revision: read.revision });
        if (written.kind !== 'stored') noted.dirty = true;
      }),
    );
  }
}

/** A shortfall that an earlier daemon wrote is kept: the range only grows, the count never falls. */
const merged = (before: Shortfall | undefined, now: Shortfall): Shortfall =>
  before === undefined || before.lastSeq >= now.firstSeq
    ? { ...now, since: Math.min(before?.since ?? now.since, now.since) }
    : { since: before.since, count: before.count + now.count, firstSeq: before.firstSeq, lastSeq: now.lastSeq };
