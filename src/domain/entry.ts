import { readJson } from './message.ts';
import { isChannel, type Member, memberKey } from './names.ts';
import { readMemberSubject } from './subjects.ts';

/**
 * The pending entry: one post owed to one member, `{msg, channel, seq, reason, generation}`. The post's bytes are carried
 * as they came and are looked into by those who surface them; on the way only the envelope behind them is read.
 */

export const WRITER_HEADER = 'Plane3-Writer';
/** `owner.actor.uid` that the message is for: a stored copy steered under somebody else's tokens still names its own. */
export const MEMBER_HEADER = 'Plane3-Member';

export type EntryReason = 'durable-channel' | 'live-mention';

/** `seq`: the post's CHAT sequence. `generation`: the membership's, or 0 for a mention. */
export interface Entry {
  readonly channel: string;
  readonly seq: number;
  readonly reason: EntryReason;
  readonly generation: number;
}

/** Why a message in INBOX or DLV is none of ours. */
export type ForeignKind =
  | 'foreign-subject'
  | 'foreign-member'
  | 'no-writer'
  | 'not-json'
  | 'not-an-entry'
  | 'not-a-copy'
  | 'foreign-channel';
export type Foreign = { kind: 'foreign'; why: ForeignKind };
/** `post`: the post's JSON, byte by byte as it was posted. */
export type ReadEntry = { kind: 'entry'; member: Member; entry: Entry; post: Uint8Array } | Foreign;

/** A header's value by name, "" where it is absent. */
export type HeaderLookup = (name: string) => string;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const HEAD = encoder.encode('{"msg":');
const TAIL =
  /,"channel":"([A-Za-z0-9_.-]+)","seq":(\d{1,16}),"reason":"(durable-channel|live-mention)","generation":(\d{1,9})\}$/;
/** No envelope is longer: a channel of 4096 and the rest. */
const TAIL_BYTES = 4_096 + 256;

const tailOf = ({ channel, seq, reason, generation }: Entry): string =>
  `,"channel":"${channel}","seq":${seq},"reason":"${reason}","generation":${generation}}`;

/** The entry's bytes around a post's bytes. */
export const encodeEntry = (post: Uint8Array, entry: Entry): Uint8Array =>
  joined([HEAD, post, encoder.encode(tailOf(entry))]);

/** Reads an entry as the writer encodes it; whatever else lies on the subject is foreign. */
export function readEntry(space: string, subject: string, header: HeaderLookup, data: Uint8Array): ReadEntry {
  const foreign = (why: ForeignKind): Foreign => ({ kind: 'foreign', why });
  const place = readMemberSubject(space, 'dinbox', subject);
  if (place === undefined) return foreign('foreign-subject');
  if (header(WRITER_HEADER) === '') return foreign('no-writer');
  if (header(MEMBER_HEADER) !== memberKey(place.member)) return foreign('foreign-member');
  const tail = TAIL.exec(decoder.decode(data.subarray(Math.max(0, data.length - TAIL_BYTES))));
  if (tail === null || !startsWith(data, HEAD)) return foreign('not-an-entry');
  const [text, channel = '', seq, reason, generation] = tail;
  const post = data.subarray(HEAD.length, data.length - text.length);
  const message = readJson(post);
  if (message === undefined) return foreign('not-json');
  if (!isChannel(channel) || channel !== place.channel || channelOf(message) !== channel)
    return foreign('foreign-channel');
  const entry = { channel, seq: Number(seq), reason: reason as EntryReason, generation: Number(generation) };
  return { kind: 'entry', member: place.member, entry, post };
}

const channelOf = (message: unknown): unknown =>
  typeof message === 'object' && message !== null && 'channel' in message ? message.channel : undefined;

export const startsWith = (data: Uint8Array, head: Uint8Array): boolean =>
  data.length >= head.length && head.every((byte, i) => data[i] === byte);

/** Joins byte strings. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
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

/** What the envelope and the headers of an entry or a copy take at the most, beside the post and the channel. */
export const ENVELOPE_ALLOWANCE = 1_536;

/** Bytes that the largest form of a post takes on its way: entry or copy, with all headers. */
export const carriedSize = (post: Uint8Array, channel: string): number =>
  post.length + channel.length + ENVELOPE_ALLOWANCE;
