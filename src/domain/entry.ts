import { z } from 'zod';
import { messageSchema, readJson, shaped } from './message.ts';
import { channelSchema, type Member, memberKey, sequenceSchema } from './names.ts';
import { readMemberSubject } from './subjects.ts';

/** The pending entry (one post owed to one member) and the handed-off copy. Both carry the post as it came. */

export const WRITER_HEADER = 'Plane3-Writer';
/** `owner.actor.uid` that the message is for: a stored copy steered under somebody else's tokens still names its own. */
export const MEMBER_HEADER = 'Plane3-Member';
export const COPY_ENTRY_HEADER = 'Plane3-Entry';
export const COPY_FRAME_HEADER = 'Cotal-Delivery-Frame';
export const COPY_FRAME = '1';

export type EntryReason = 'durable-channel' | 'live-mention';

export const entrySchema = z.object({
  msg: messageSchema,
  channel: channelSchema,
  seq: sequenceSchema,
  reason: z.enum(['durable-channel', 'live-mention']),
  generation: z.int().min(0),
});
/** `seq`: the post's CHAT sequence. `generation`: the membership's, or 0 for a mention. */
export type Entry = z.infer<typeof entrySchema>;

export const copySchema = z.object({
  version: z.literal(1),
  channel: channelSchema,
  msg: messageSchema,
  seq: sequenceSchema,
  generation: z.int().min(0),
});
export type Copy = z.infer<typeof copySchema>;

/** Why a message in INBOX or DLV is none of ours. */
export type ForeignKind =
  | 'foreign-subject'
  | 'foreign-member'
  | 'no-writer'
  | 'not-json'
  | 'not-an-entry'
  | 'not-a-copy'
  | 'foreign-channel';

export type ReadEntry = { kind: 'entry'; member: Member; entry: Entry } | { kind: 'foreign'; why: ForeignKind };
export type ReadCopy =
  | { kind: 'copy'; member: Member; copy: Copy; entrySeq: number }
  | { kind: 'foreign'; why: ForeignKind };

/** A header's value by name, "" where it is absent. */
export type HeaderLookup = (name: string) => string;

export function readEntry(space: string, subject: string, header: HeaderLookup, data: Uint8Array): ReadEntry {
  const place = readMemberSubject(space, 'dinbox', subject);
  if (place === undefined) return { kind: 'foreign', why: 'foreign-subject' };
  if (header(WRITER_HEADER) === '') return { kind: 'foreign', why: 'no-writer' };
  if (header(MEMBER_HEADER) !== memberKey(place.member)) return { kind: 'foreign', why: 'foreign-member' };
  const body = readJson(data);
  if (body === undefined) return { kind: 'foreign', why: 'not-json' };
  const entry = shaped(entrySchema, body);
  if (entry === undefined) return { kind: 'foreign', why: 'not-an-entry' };
  if (entry.channel !== place.channel || entry.msg.channel !== place.channel) {
    return { kind: 'foreign', why: 'foreign-channel' };
  }
  return { kind: 'entry', member: place.member, entry };
}

export function readCopy(space: string, subject: string, header: HeaderLookup, data: Uint8Array): ReadCopy {
  const place = readMemberSubject(space, 'dlv', subject);
  if (place === undefined) return { kind: 'foreign', why: 'foreign-subject' };
  const entrySeq = Number(header(COPY_ENTRY_HEADER));
  if (header(COPY_FRAME_HEADER) !== COPY_FRAME || !Number.isSafeInteger(entrySeq) || entrySeq < 1) {
    return { kind: 'foreign', why: 'no-writer' };
  }
  if (header(MEMBER_HEADER) !== memberKey(place.member)) return { kind: 'foreign', why: 'foreign-member' };
  const body = readJson(data);
  if (body === undefined) return { kind: 'foreign', why: 'not-json' };
  const copy = shaped(copySchema, body);
  if (copy === undefined) return { kind: 'foreign', why: 'not-a-copy' };
  if (copy.channel !== place.channel || copy.msg.channel !== place.channel) {
    return { kind: 'foreign', why: 'foreign-channel' };
  }
  return { kind: 'copy', member: place.member, copy, entrySeq };
}

/** What an entry's `Nats-Msg-Id` is the SHA-256 of; undefined for the empty id, which never suppresses anything. */
export const entryIdentity = (of: {
  sender: string;
  channel: string;
  id: string;
  member: Member;
  generation: number;
}): string | undefined =>
  of.id === ''
    ? undefined
    : `${of.sender}\n${of.channel}\n${of.member.owner}.${of.member.actor}\n${of.member.uid}\n${of.generation}\n${of.id}`;

const encoder = new TextEncoder();

/** Joins byte strings. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The entry's bytes around a post's bytes, which are carried as they came. */
export const encodeEntry = (
  post: Uint8Array,
  { channel, seq, reason, generation }: { channel: string; seq: number; reason: EntryReason; generation: number },
): Uint8Array =>
  joined([
    encoder.encode('{"msg":'),
    post,
    encoder.encode(`,"channel":"${channel}","seq":${seq},"reason":"${reason}","generation":${generation}}`),
  ]);

/** The copy's bytes around a post's JSON. */
export const encodeCopy = (message: unknown, of: { channel: string; seq: number; generation: number }): Uint8Array =>
  encoder.encode(
    JSON.stringify({ version: 1, channel: of.channel, msg: message, seq: of.seq, generation: of.generation }),
  );

/** What the envelope and the headers of an entry or a copy take at the most, beside the post and twice the channel. */
export const ENVELOPE_ALLOWANCE = 1_536;

/** Bytes that the largest form of a post takes on its way: entry or copy, with all headers. */
export const carriedSize = (post: Uint8Array, channel: string): number =>
  post.length + channel.length + ENVELOPE_ALLOWANCE;

/** Bytes that a copy of this post takes, with all headers. */
export const carriedCopySize = (message: unknown, channel: string): number =>
  encoder.encode(JSON.stringify(message)).length + channel.length + ENVELOPE_ALLOWANCE;
