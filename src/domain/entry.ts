import { z } from 'zod';
import { type Message, messageSchema, readJson } from './message.ts';
import { channelSchema, type Member, sequenceSchema } from './names.ts';
import { readMemberSubject } from './subjects.ts';

/** The pending entry (one post owed to one member) and the handed-off copy. Both carry the post as it came. */

export const ENTRY_WRITER_HEADER = 'Plane3-Writer';
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
  if (header(ENTRY_WRITER_HEADER) === '') return { kind: 'foreign', why: 'no-writer' };
  const body = readJson(data);
  if (body === undefined) return { kind: 'foreign', why: 'not-json' };
  const entry = entrySchema.safeParse(body);
  if (!entry.success) return { kind: 'foreign', why: 'not-an-entry' };
  if (entry.data.channel !== place.channel || entry.data.msg.channel !== place.channel) {
    return { kind: 'foreign', why: 'foreign-channel' };
  }
  return { kind: 'entry', member: place.member, entry: entry.data };
}

export function readCopy(space: string, subject: string, header: HeaderLookup, data: Uint8Array): ReadCopy {
  const place = readMemberSubject(space, 'dlv', subject);
  if (place === undefined) return { kind: 'foreign', why: 'foreign-subject' };
  const entrySeq = Number(header(COPY_ENTRY_HEADER));
  if (header(COPY_FRAME_HEADER) !== COPY_FRAME || !Number.isSafeInteger(entrySeq) || entrySeq < 1) {
    return { kind: 'foreign', why: 'no-writer' };
  }
  const body = readJson(data);
  if (body === undefined) return { kind: 'foreign', why: 'not-json' };
  const copy = copySchema.safeParse(body);
  if (!copy.success) return { kind: 'foreign', why: 'not-a-copy' };
  if (copy.data.channel !== place.channel || copy.data.msg.channel !== place.channel) {
    return { kind: 'foreign', why: 'foreign-channel' };
  }
  return { kind: 'copy', member: place.member, copy: copy.data, entrySeq };
}

/** What an entry's `Nats-Msg-Id` is the SHA-256 of; undefined for the empty id, which never suppresses anything. */
export const entryIdentity = (
  entry: { msg: Message; channel: string; generation: number },
  sender: string,
  member: Member,
) =>
  entry.msg.id === ''
    ? undefined
    : JSON.stringify([
        sender,
        entry.channel,
        entry.msg.id,
        `${member.owner}.${member.actor}`,
        member.uid,
        entry.generation,
      ]);
