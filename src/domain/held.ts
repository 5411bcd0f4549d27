/** What lies in INBOX and DLV under a member's subjects, as a lane looks at it: ours, or nothing that it will ever trust. */
import { readEnvelope } from './copy.ts';
import { type Entry, type HeaderLookup, readEntry } from './entry.ts';
import { type Member, memberKey, readMember } from './names.ts';

/** A message of a stream as it was stored. `storedAt`: milliseconds, by the broker's clock. */
export interface StoredMessage {
  readonly seq: number;
  readonly subject: string;
  readonly storedAt: number;
  readonly data: Uint8Array;
  readonly header: HeaderLookup;
}

/** The messages of a page by the member that their subjects name (`cotal.<space>.<family>.owner.actor.uid…`), where they do. */
export function heldByAll<M extends { readonly subject: string }, T>(
  messages: readonly M[],
  held: (member: Member, message: M) => T,
): { key: string; held: T }[] {
  return messages.flatMap((message) => {
    const key = message.subject.split('.').slice(3, 6).join('.');
    const member = readMember(key);
    return member === undefined ? [] : [{ key, held: held(member, message) }];
  });
}

interface Held {
  readonly seq: number;
  readonly storedAt: number;
  readonly entry: Entry | undefined;
  readonly why?: string;
  readonly post: Uint8Array;
}

/** An entry of this member; `entry` undefined: what lies there is none, and `why`. */
export function heldEntry(space: string, member: Member, message: StoredMessage): Held {
  const { seq, storedAt, subject, data, header } = message;
  const read = readEntry(space, subject, header, data);
  if (read.kind === 'entry' && memberKey(read.member) === memberKey(member)) {
    return { seq, storedAt, entry: read.entry, post: read.post };
  }
  const why = read.kind === 'foreign' ? read.why : 'foreign-member';
  return { seq, storedAt, entry: undefined, why, post: new Uint8Array() };
}

/** A copy of this member; `entrySeq` 0: what lies there is none. */
export function heldCopy(space: string, member: Member, { seq, subject, data, header }: StoredMessage) {
  const read = readEnvelope(space, subject, header, data);
  const foreign = read.kind === 'foreign' || memberKey(read.member) !== memberKey(member);
  if (foreign) return { seq, channel: subject.split('.').slice(6).join('.'), generation: 0, post: 0, entrySeq: 0 };
  const { channel, generation, seq: post } = read.envelope;
  return { seq, channel, generation, post, entrySeq: read.entrySeq };
}
