/**
 * Pending entries that come from outside of CHAT: written straight into INBOX, as mentions (generation 0), so that the
 * reader judges them by the member's read ACL alone. For the bridge of a provider link.
 */
import { createHash } from 'node:crypto';
import type { NatsConnection } from '@nats-io/nats-core';
import { carriedSize, encodeEntry, MEMBER_HEADER, WRITER_HEADER } from '../../domain/entry.ts';
import { type Member, memberKey } from '../../domain/names.ts';
import { inboxPrefix } from '../../domain/permissions.ts';
import { entrySubject, streams } from '../../domain/subjects.ts';
import type { Rows, Silent } from '../ports.ts';
import { GatedBroker, silence } from './gated-broker.ts';
import { readByLeader } from './leader-reads.ts';
import { natsRows } from './stored-rows.ts';

export interface HostedEntriesSetting {
  readonly space: string;
  /** Name of the writer in the entries: `provider-link`. */
  readonly writer: string;
  readonly timeoutMs: number;
  /** How long one connection and its credential are used. */
  readonly renewAfterMs: number;
  /** A connection with the rights of the delivery profile; dialled again when it is lost. */
  dial(): Promise<{ readonly connection: NatsConnection; readonly publicKey: string }>;
}

const NOT_FOUND = 404;

interface Open {
  readonly broker: GatedBroker;
  readonly rows: Rows;
  readonly until: number;
}

export class HostedEntries {
  readonly #setting: HostedEntriesSetting;
  #open: Open | undefined;
  #opening: Promise<Open | Silent> | undefined;

  constructor(setting: HostedEntriesSetting) {
    this.#setting = setting;
  }

  async store(of: { member: Member; channel: string; msgId: string; seq: number; post: Uint8Array }) {
    const open = await this.#dialled();
    if ('kind' in open) return open;
    const { broker } = open;
    const { member, channel, seq, post } = of;
    const size = carriedSize(post, channel);
    if (size > broker.maxPayload) return { kind: 'unfit', why: `${size} bytes of ${broker.maxPayload}` } as const;
    const { space, writer } = this.#setting;
    const key = memberKey(member);
    const outcome = await broker.each([
      {
        subject: entrySubject(space, member, channel),
        data: encodeEntry(post, { channel, seq, reason: 'live-mention', generation: 0 }),
        headers: { [WRITER_HEADER]: writer, [MEMBER_HEADER]: key },
        msgId: createHash('sha256').update(`hosted\n${channel}\n${key}\n${of.msgId}`).digest('hex'),
      },
    ]);
    if (!Array.isArray(outcome)) return outcome;
    const [stored] = outcome;
    if (stored?.kind === 'stored' || stored?.kind === 'duplicate')
      return { kind: 'stored', entrySeq: stored.seq } as const;
    return { kind: 'silent', why: JSON.stringify(stored ?? 'nothing was answered') } as const;
  }

  /** The member while its grant lives, else the one lifecycle of its principal that has one. */
  async living({ member }: { member: Member }) {
    const open = await this.#dialled();
    if ('kind' in open) return open;
    const row = await open.rows.acl({ member });
    if (row.kind === 'silent') return row;
    if (row.acl.kind === 'grant') return { kind: 'living', member } as const;
    const found = await open.rows.lifecycles({ principal: `${member.owner}.${member.actor}` });
    if (found.kind === 'silent') return found;
    const [only, ...others] = found.members;
    if (only === undefined) return { kind: 'nobody' } as const;
    if (others.length > 0) return { kind: 'silent', why: `${found.members.length} lifecycles hold a grant` } as const;
    return { kind: 'living', member: only.member } as const;
  }

  /** That an entry is there is believed of any replica; that it is gone is the leader's word (docs/decisions/replicated-reads.md). */
  async gone({ entrySeqs }: { entrySeqs: readonly number[] }) {
    const open = await this.#dialled();
    if ('kind' in open) return open;
    const { broker } = open;
    const { inbox } = streams(this.#setting.space);
    const gone: number[] = [];
    for (const seq of entrySeqs) {
      const read = await broker.inTurn(() => broker.request(`$JS.API.DIRECT.GET.${inbox}`, { seq }));
      if (read.kind !== 'reply') return silence(read);
      if (read.message.headers?.code !== NOT_FOUND) continue;
      const known = await readByLeader(broker, inbox, { seq });
      if (known.kind === 'absent') gone.push(seq);
      else if (known.kind !== 'found') return silence(known);
    }
    return { kind: 'read', entrySeqs: gone } as const;
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.broker.connection.close();
  }

  /** One dial at a time: whoever asks meanwhile has the same connection. */
  #dialled(): Promise<Open | Silent> {
    this.#opening ??= this.#opened().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #opened(): Promise<Open | Silent> {
    const now = performance.now();
    if (this.#open !== undefined && !this.#open.broker.connection.isClosed() && now < this.#open.until)
      return this.#open;
    await this.close();
    try {
      const { connection, publicKey } = await this.#setting.dial();
      const broker = new GatedBroker({
        connection,
        inboxPrefix: inboxPrefix(publicKey),
        timeoutMs: this.#setting.timeoutMs,
        gate: () => (connection.isClosed() ? 'the connection is closed' : undefined),
      });
      const rows = natsRows({ broker, space: this.#setting.space });
      this.#open = { broker, rows, until: now + this.#setting.renewAfterMs };
      return this.#open;
    } catch (error) {
      return { kind: 'silent', why: error instanceof Error ? error.message : String(error) };
    }
  }
}
