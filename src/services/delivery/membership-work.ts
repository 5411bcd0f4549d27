/**
 * The work of one membership row over the ports. Order is everything here (docs/architecture.md, "Joins and leaves"):
 * cursor, then row, then index, then catch-up to the writer's position, then active, then the answer.
 */
import type { RowReading } from '../../domain/membership.ts';
import { type Member, memberKey } from '../../domain/names.ts';
import type { RoutingIndex } from '../../domain/routing.ts';
import { type AclState, type MemberRow, mayRead } from '../../domain/rows.ts';
import { readMemberRowKey } from '../../domain/subjects.ts';
import type { Clock, EntryToStore, Posts, Rows } from '../ports.ts';
import type { Copier } from './copier.ts';
import type { FanoutWork } from './fanout-work.ts';
import type { ReviewAnswer } from './reviews.ts';

export interface MembershipPorts {
  readonly rows: Rows;
  readonly posts: Posts;
  readonly index: RoutingIndex;
  readonly fanout: Pick<FanoutWork, 'position' | 'entriesFor' | 'settledTo'>;
  readonly copier: Copier;
  readonly clock: Clock;
  /** Who writes, in the row. */
  readonly writerIdentity: string;
  readonly batchSize: number;
  /** Has the member's lane look at its copies again, and waits for it. */
  review(of: { member: string; channel: string; generation: number }): Promise<ReviewAnswer>;
  /** The member has new entries. */
  owe(member: string): void;
}

const SILENT = { type: 'broker.silent' } as const;
const CONFLICTED = { type: 'write.conflicted' } as const;

export class MembershipWork {
  readonly #ports: MembershipPorts;

  constructor(ports: MembershipPorts) {
    this.#ports = ports;
  }

  /** Rows that a daemon before this one left pending. */
  pending(): { type: 'rows.pending'; keys: string[] } {
    const keys: string[] = [];
    for (const { channel, member, row } of this.#ports.index.memberships()) {
      if (row.state === 'pending') keys.push(`${channel}/${memberKey(member)}`);
    }
    return { type: 'rows.pending', keys };
  }

  async read(key: string) {
    const { channel, member } = place(key);
    const [row, acl] = await Promise.all([
      this.#ports.rows.membership({ channel, member }),
      this.#ports.rows.acl({ member }),
    ]);
    if (row.kind === 'silent' || acl.kind === 'silent') return SILENT;
    // A row that cannot be read is never written over.
    if (row.kind === 'unreadable') throw new Error(`member row ${key} is unreadable`);
    const reading: RowReading = {
      row: row.kind === 'row' ? row.row : null,
      covered: coverage(acl.acl, channel),
      class: this.#ports.index.classOf(channel),
    };
    return { type: 'row.read', ...reading } as const;
  }

  async open(key: string, generation: number) {
    const frontier = await this.#ports.posts.frontier();
    if (frontier.kind === 'silent') return SILENT;
    return this.#write(key, (before) => {
      if (before !== undefined && before.generation >= generation) return undefined;
      const { channel, member } = place(key);
      return {
        ...withoutEnd(before),
        channel,
        owner: `${member.owner}.${member.actor}`,
        lifecycleUid: member.uid,
        state: 'pending',
        joinCursor: frontier.seq,
        generation,
        writerIdentity: this.#ports.writerIdentity,
        updatedAt: this.#ports.clock.now().wallMs,
      };
    });
  }

  async activate(key: string, generation: number) {
    return this.#write(key, (before) =>
      before?.generation === generation && before.state !== 'left' ? this.#stamped(before, 'active') : undefined,
    );
  }

  async close(key: string, generation: number) {
    const frontier = await this.#ports.posts.frontier();
    if (frontier.kind === 'silent') return SILENT;
    return this.#write(key, (before) => {
      if (before?.generation !== generation || before.state === 'left') return undefined;
      return { ...this.#stamped(before, 'left'), leaveCursor: frontier.seq };
    });
  }

  /**
   * Copies what was posted between the join cursor and the writer's position: those posts were routed without this row.
   * Ids are the writer's own, so a copy that exists already is settled and not doubled.
   */
  async catchUp(key: string, joinCursor: number) {
    const { channel, member } = place(key);
    const { posts, fanout, copier, batchSize } = this.#ports;
    const upTo = fanout.position;
    if (upTo <= joinCursor) return { type: 'copies.complete', copies: 0 } as const;
    const only = memberKey(member);
    let copies = 0;
    let refusedBy: string | undefined;
    const read = await posts.range({ channel, after: joinCursor, upTo }, async (page) => {
      const entries: EntryToStore[] = page.flatMap((post) => fanout.entriesFor(post, only));
      for (let at = 0; at < entries.length; at += batchSize) {
        const stored = await copier.store(entries.slice(at, at + batchSize));
        if (stored.kind !== 'stored') {
          refusedBy = stored.kind;
          return false;
        }
      }
      copies += entries.length;
      return true;
    });
    if (read.kind === 'silent' || refusedBy !== undefined) return SILENT;
    if (copies > 0) this.#ports.owe(only);
    if (read.first > joinCursor + 1) return { type: 'retention.ate', first: read.first } as const;
    return { type: 'copies.complete', copies } as const;
  }

  /**
   * After the row is closed: what the writer was given up to the leave cursor is settled, then the lane takes everything of the
   * channel back, and counts it. A post that the writer was not given yet is not owed yet: its copies will be of a closed
   * generation, which the reader removes. It is not waited for: who knows whether it still comes (somebody may have removed it).
   */
  async withdraw(key: string, generation: number) {
    const { channel, member } = place(key);
    const row = this.#ports.index.membership(channel, member);
    if (row?.leaveCursor !== undefined && row.leaveCursor <= this.#ports.fanout.position) {
      await this.#ports.fanout.settledTo(row.leaveCursor);
    }
    const answer = await this.#ports.review({ member: memberKey(member), channel, generation });
    return { type: 'member.withdrawn', dropped: answer.removed } as const;
  }

  /** Reads the row, changes it by compare-and-set, and routes by the result at once. */
  async #write(key: string, change: (before: MemberRow | undefined) => MemberRow | undefined) {
    const { channel, member } = place(key);
    const { rows, index } = this.#ports;
    const read = await rows.membership({ channel, member });
    if (read.kind === 'silent') return SILENT;
    if (read.kind === 'unreadable') throw new Error(`member row ${key} is unreadable`);
    const row = change(read.kind === 'row' ? read.row : undefined);
    if (row === undefined) return CONFLICTED;
    const written = await rows.writeMembership({ channel, member, row, revision: read.revision });
    if (written.kind === 'conflict') return CONFLICTED;
    if (written.kind !== 'stored') return SILENT;
    index.applyMember(channel, member, row, written.revision);
    return { type: 'row.written', generation: row.generation, joinCursor: row.joinCursor } as const;
  }

  #stamped(row: MemberRow, state: MemberRow['state']): MemberRow {
    const { clock, writerIdentity } = this.#ports;
    return { ...row, state, writerIdentity, updatedAt: clock.now().wallMs };
  }
}

/** A new generation starts without the end and the shortfall of the one before it; unknown fields are kept. */
function withoutEnd(before: MemberRow | undefined): Partial<MemberRow> {
  if (before === undefined) return {};
  const { leaveCursor: _end, shortfall: _shortfall, ...kept } = before;
  return kept;
}

function place(key: string): { channel: string; member: Member } {
  const read = readMemberRowKey(key);
  if (read === undefined) throw new Error(`"${key}" is not the key of a member row`);
  return read;
}

function coverage(acl: AclState, channel: string): RowReading['covered'] {
  if (acl.kind === 'retired') return 'retired';
  if (acl.kind === 'unknown') return 'unknown';
  return mayRead(acl, channel) ? 'yes' : 'no';
}
