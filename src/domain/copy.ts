import { z } from 'zod';
import {
  type Foreign,
  type ForeignKind,
  type HeaderLookup,
  joined,
  MEMBER_HEADER,
  startsWith,
  WRITER_HEADER,
} from './entry.ts';
import { messageSchema, readJson, shaped } from './message.ts';
import { channelSchema, type Member, memberKey, sequenceSchema } from './names.ts';
import { readMemberSubject } from './subjects.ts';

/**
 * The handed-off copy: `{version, channel, msg, seq, generation}` with the frame header and the sequence of its entry.
 * The lane reads the envelope; the member, who surfaces it, reads all of it.
 */

export const COPY_ENTRY_HEADER = 'Plane3-Entry';
export const COPY_FRAME_HEADER = 'Cotal-Delivery-Frame';
const COPY_FRAME = '1';

export const copySchema = z.object({
  version: z.literal(1),
  channel: channelSchema,
  msg: messageSchema,
  seq: sequenceSchema,
  generation: z.int().min(0),
});
export type Copy = z.infer<typeof copySchema>;

/** What a copy says of itself around the post. */
export interface CopyEnvelope {
  readonly channel: string;
  readonly seq: number;
  readonly generation: number;
}

export type ReadCopy = { kind: 'copy'; member: Member; copy: Copy; entrySeq: number } | Foreign;
export type ReadEnvelope = { kind: 'copy'; member: Member; envelope: CopyEnvelope; entrySeq: number } | Foreign;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const headOf = (channel: string): Uint8Array => encoder.encode(`{"version":1,"channel":"${channel}","msg":`);
const TAIL = /,"seq":(\d{1,16}),"generation":(\d{1,9})\}$/;
const TAIL_BYTES = 64;

/** The copy's bytes around a post's bytes. */
export const encodeCopy = (post: Uint8Array, { channel, seq, generation }: CopyEnvelope): Uint8Array =>
  joined([headOf(channel), post, encoder.encode(`,"seq":${seq},"generation":${generation}}`)]);

/** Headers of a copy: without an id, which a withdrawn or confirmed copy would keep anybody from using again. */
export const copyHeaders = (of: { member: Member; entrySeq: number; incarnation: string }): Record<string, string> => ({
  [COPY_FRAME_HEADER]: COPY_FRAME,
  [COPY_ENTRY_HEADER]: String(of.entrySeq),
  [WRITER_HEADER]: of.incarnation,
  [MEMBER_HEADER]: memberKey(of.member),
});

/** What is the same for both ways of reading: whose it is, by subject and headers. */
function addressed(
  space: string,
  subject: string,
  header: HeaderLookup,
): { kind: 'ours'; member: Member; channel: string; entrySeq: number } | Foreign {
  const place = readMemberSubject(space, 'dlv', subject);
  if (place === undefined) return foreign('foreign-subject');
  const entrySeq = Number(header(COPY_ENTRY_HEADER));
  if (header(COPY_FRAME_HEADER) !== COPY_FRAME || !Number.isSafeInteger(entrySeq) || entrySeq < 1) {
    return foreign('no-writer');
  }
  if (header(MEMBER_HEADER) !== memberKey(place.member)) return foreign('foreign-member');
  return { kind: 'ours', ...place, entrySeq };
}

/** Reads a copy whole, the post included, for whoever surfaces it. */
export function readCopy(space: string, subject: string, header: HeaderLookup, data: Uint8Array): ReadCopy {
  const place = addressed(space, subject, header);
  if (place.kind === 'foreign') return place;
  const body = readJson(data);
  if (body === undefined) return foreign('not-json');
  const copy = shaped(copySchema, body);
  if (copy === undefined) return foreign('not-a-copy');
  if (copy.channel !== place.channel || copy.msg.channel !== place.channel) return foreign('foreign-channel');
  return { kind: 'copy', member: place.member, copy, entrySeq: place.entrySeq };
}

/** Reads a copy's envelope as the lane encodes it. */
export function readEnvelope(space: string, subject: string, header: HeaderLookup, data: Uint8Array): ReadEnvelope {
  const place = addressed(space, subject, header);
  if (place.kind === 'foreign') return place;
  const tail = TAIL.exec(decoder.decode(data.subarray(Math.max(0, data.length - TAIL_BYTES))));
  if (tail === null || !startsWith(data, headOf(place.channel))) return foreign('not-a-copy');
  const envelope = { channel: place.channel, seq: Number(tail[1]), generation: Number(tail[2]) };
  return { kind: 'copy', member: place.member, envelope, entrySeq: place.entrySeq };
}

const foreign = (why: ForeignKind): Foreign => ({ kind: 'foreign', why });
