/** A post as a person reads it in a terminal, and as one JSON line. */
import { stripVTControlCharacters } from 'node:util';
import type { Message, Part } from '../domain/message.ts';
import type { Output } from './output.ts';

export interface ShownPost {
  readonly message: Message;
  readonly channel: string;
  readonly seq: number | null;
  readonly durable: boolean;
  readonly redelivered?: boolean;
}

/** The message with `channel`, `seq` and `durable`; fields that it has of its own do not hide them. */
export const lineOf = ({ message, channel, seq, durable, redelivered }: ShownPost): object => ({
  ...message,
  channel,
  seq,
  durable,
  ...(redelivered === true ? { redelivered } : {}),
});

export function textOf(out: Output, { message, channel, seq, durable }: ShownPost): string {
  const place = `${channel}${seq === null ? '' : ` #${seq}`}${durable ? '' : ' (live)'}`;
  const mentions = message.mentions?.length ? ` → ${plain(message.mentions.join(', '))}` : '';
  const head = `${out.paint('dim', place)} ${out.paint('bold', plain(message.from.id))}${mentions}`;
  return `${head}: ${message.parts.map(partText).join(' ')}`;
}

function partText(part: Part): string {
  if (part.kind === 'text' && 'text' in part) return plain(String(part.text));
  if (part.kind === 'data' && 'data' in part) return plain(JSON.stringify(part.data));
  if (part.kind === 'artifact' && 'name' in part) return `[${plain(String(part.name))}]`;
  return `[${plain(part.kind)}]`;
}

/** Without what a terminal would obey. */
const plain = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
  stripVTControlCharacters(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '�');
