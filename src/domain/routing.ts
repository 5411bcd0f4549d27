/**
 * The fan-out writer's rule: who gets a copy of a post. Routing only: being a target grants nothing (F2), the reader
 * authorizes every entry again.
 */
import type { EntryReason } from './entry.ts';
import { inInterval } from './interval.ts';
import { type Message, mentionsOf } from './message.ts';
import { type Member, memberKey, mentionName, principalOf } from './names.ts';
import {
  type AclState,
  CHANNEL_DEFAULTS,
  type ChannelRow,
  type DeliveryClass,
  effectiveClass,
  type MemberRow,
  mayRead,
} from './rows.ts';

export interface Target {
  readonly member: Member;
  /** `owner.actor.uid`, as `memberKey` writes it. */
  readonly key: string;
  readonly generation: number;
  readonly reason: EntryReason;
}

/** Mentions that reach nobody, by why. */
export type MentionMiss = 'nobody' | 'ambiguous' | 'not-covered';

export interface Route {
  readonly class: DeliveryClass;
  /** Whether names decided it: who has a name, and may read, is only known as far as ACL rows were told. */
  readonly isByName: boolean;
  readonly targets: Target[];
  readonly misses: { name: string; why: MentionMiss }[];
}

interface Membership {
  readonly member: Member;
  readonly key: string;
  readonly principal: string;
  readonly row: MemberRow;
}

/**
 * What the writer knows of members, channel classes and names, kept by watches. A row is applied with its revision; an
 * older revision than the one applied changes nothing, so that our own write and the watch may arrive in either order.
 */
export class RoutingIndex {
  readonly #channels = new Map<string, { row: ChannelRow | undefined; revision: number }>();
  readonly #members = new Map<string, Map<string, Membership>>();
  readonly #memberRevisions = new Map<string, number>();
  readonly #acls = new Map<string, { member: Member; acl: AclState; revision: number }>();
  readonly #byName = new Map<string, Set<string>>();

  applyChannel(key: string, row: ChannelRow | undefined, revision: number): void {
    if (revision >= (this.#channels.get(key)?.revision ?? 0)) this.#channels.set(key, { row, revision });
  }

  /** `row` undefined: the row was removed, or cannot be read, and routes nothing. */
  applyMember(channel: string, member: Member, row: MemberRow | undefined, revision: number): void {
    const key = memberKey(member);
    const place = `${channel}/${key}`;
    if (revision < (this.#memberRevisions.get(place) ?? 0)) return;
    this.#memberRevisions.set(place, revision);
    const ofChannel = this.#members.get(channel) ?? new Map<string, Membership>();
    if (row === undefined) ofChannel.delete(key);
    else ofChannel.set(key, { member, key, principal: principalOf(member), row });
    if (ofChannel.size === 0) this.#members.delete(channel);
    else this.#members.set(channel, ofChannel);
  }

  applyAcl(member: Member, acl: AclState, revision: number): void {
    const key = memberKey(member);
    const known = this.#acls.get(key);
    if (known !== undefined && revision < known.revision) return;
    if (known?.acl.kind === 'grant') this.#byName.get(mentionName(known.acl.name))?.delete(key);
    this.#acls.set(key, { member, acl, revision });
    if (acl.kind !== 'grant') return;
    const name = mentionName(acl.name);
    const holders = this.#byName.get(name) ?? new Set<string>();
    this.#byName.set(name, holders.add(key));
  }

  classOf(channel: string): DeliveryClass {
    return effectiveClass(this.#channels.get(channel)?.row, this.#channels.get(CHANNEL_DEFAULTS)?.row);
  }

  /** Revision of the channel row that routing goes by, 0 where there is none. */
  classRevision(channel: string): number {
    return this.#channels.get(channel)?.revision ?? 0;
  }

  acl(member: Member): AclState {
    return this.#acls.get(memberKey(member))?.acl ?? { kind: 'unknown', why: 'absent' };
  }

  membership(channel: string, member: Member): MemberRow | undefined {
    return this.#members.get(channel)?.get(memberKey(member))?.row;
  }

  *memberships(): Iterable<{ channel: string; member: Member; row: MemberRow }> {
    for (const [channel, members] of this.#members) {
      for (const { member, row } of members.values()) yield { channel, member, row };
    }
  }

  /** Targets of a post. Durable channels by interval alone; live channels by the mentions that name exactly one. */
  route(message: Message, sender: string, seq: number): Route {
    const deliveryClass = this.classOf(message.channel);
    return deliveryClass === 'durable'
      ? { class: deliveryClass, isByName: false, targets: this.#byInterval(message.channel, sender, seq), misses: [] }
      : { class: deliveryClass, ...this.#byMention(message, sender) };
  }

  #byInterval(channel: string, sender: string, seq: number): Target[] {
    const targets: Target[] = [];
    for (const { member, key, principal, row } of this.#members.get(channel)?.values() ?? []) {
      if (principal === sender || !inInterval(row, seq)) continue;
      targets.push({ member, key, generation: row.generation, reason: 'durable-channel' });
    }
    return targets;
  }

  #byMention(message: Message, sender: string): Omit<Route, 'class'> {
    const targets: Target[] = [];
    const misses: { name: string; why: MentionMiss }[] = [];
    const names = mentionsOf(message);
    for (const name of names) {
      const [holder, ...others] = this.#byName.get(name) ?? [];
      const known = holder === undefined ? undefined : this.#acls.get(holder);
      if (known === undefined) misses.push({ name, why: 'nobody' });
      else if (others.length > 0) misses.push({ name, why: 'ambiguous' });
      else if (!mayRead(known.acl, message.channel)) misses.push({ name, why: 'not-covered' });
      else if (principalOf(known.member) !== sender) {
        targets.push({ member: known.member, key: memberKey(known.member), generation: 0, reason: 'live-mention' });
      }
    }
    return { isByName: names.length > 0, targets, misses };
  }
}
