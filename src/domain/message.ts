import { z } from 'zod';
import { channelSchema, mentionName } from './names.ts';
import { readChatSubject } from './subjects.ts';

/**
 * A post: a UTF-8 JSON object on the sender's own chat subject. Unknown fields are ignored by receivers and carried by
 * the writer as they came.
 */

const json: z.ZodType<unknown> = z.json();
const partSchema = z.union([
  z.looseObject({ kind: z.literal('text'), text: z.string() }),
  z.looseObject({ kind: z.literal('data'), data: json }),
  z.looseObject({
    kind: z.literal('artifact'),
    name: z.string(),
    mediaType: z.string(),
    digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
    size: z.int().min(0),
  }),
  z.looseObject({ kind: z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/, 'not a reverse-DNS extension kind') }),
]);

export const messageSchema = z.looseObject({
  id: z.string(),
  ts: z.number().min(0),
  space: z.string(),
  from: z.object({ id: z.string(), name: z.string() }),
  channel: channelSchema,
  mentions: z.array(z.string()).optional(),
  parts: z.array(partSchema),
  replyTo: z.string().optional(),
  contextId: z.string().optional(),
});
export type Message = z.infer<typeof messageSchema>;
export type Part = z.infer<typeof partSchema>;

/** Names that a post mentions: trimmed, lower-cased, each once, none empty. */
export const mentionsOf = (message: Message): string[] => [
  ...new Set((message.mentions ?? []).map(mentionName).filter((name) => name !== '')),
];

/** Why a stored message is not a post. Counted by kind, logged once, never surfaced, never retried. */
export type PoisonKind =
  | 'foreign-subject'
  | 'not-json'
  | 'not-a-message'
  | 'foreign-sender'
  | 'foreign-channel'
  | 'foreign-space';

export type ReadPost =
  | { kind: 'post'; principal: string; channel: string; message: Message }
  | { kind: 'poison'; why: PoisonKind };

/** A byte order mark is kept, and is then not JSON: a body is carried on byte by byte. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Parses UTF-8 JSON; undefined for anything that is not valid UTF-8 or not JSON. */
export function readJson(data: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(data));
  } catch {
    return undefined;
  }
}

/** The value in the schema's shape, or undefined; also for a nesting that is too deep to be looked through. */
export function shaped<T>(schema: z.ZodType<T>, value: unknown): T | undefined {
  try {
    const parsed = schema.safeParse(value);
    return parsed.success ? parsed.data : undefined;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * Reads a message stored on CHAT. The sender is what the subject says; a body that names another sender, channel or
 * space is poison, and so is everything that a steered JetStream reply may have put there.
 */
export function readPost(space: string, subject: string, data: Uint8Array): ReadPost {
  const place = readChatSubject(space, subject);
  if (place === undefined) return { kind: 'poison', why: 'foreign-subject' };
  const body = readJson(data);
  if (body === undefined) return { kind: 'poison', why: 'not-json' };
  const message = shaped(messageSchema, body);
  if (message === undefined) return { kind: 'poison', why: 'not-a-message' };
  if (message.from.id !== place.principal) return { kind: 'poison', why: 'foreign-sender' };
  if (message.channel !== place.channel) return { kind: 'poison', why: 'foreign-channel' };
  if (message.space !== space) return { kind: 'poison', why: 'foreign-space' };
  return { kind: 'post', ...place, message };
}

/** What receivers deduplicate by; undefined for the empty id, which never suppresses anything. */
export const sightingKey = (message: Message): string | undefined =>
  message.id === '' ? undefined : JSON.stringify([message.from.id, message.channel, message.id]);

/** `Nats-Msg-Id` of a post as our client publishes it; undefined for the empty id. */
export const postMessageId = (message: Message): string | undefined =>
  message.id === '' ? undefined : `${message.from.id}/${message.channel}/${message.id}`;
