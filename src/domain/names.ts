import { z } from 'zod';
import { Plane3Error } from './errors/catalogue.ts';

/**
 * The grammar of names. Whatever is outside it is refused, never rewritten, and always before a subject is built.
 *
 *   principal  owner.actor, each [A-Za-z0-9_]{1,64}; dot form in subjects and keys, dash form in consumer names
 *   member     owner.actor.uid: one lifecycle of one principal
 *   channel    segments of [A-Za-z0-9_-]+ with dots between, at most 4096 characters
 *   pattern    a channel in which "*" stands for one whole segment and ">" (last) for one or more
 */

const TOKEN = /^[A-Za-z0-9_]{1,64}$/;
const SPACE = /^[A-Za-z0-9_-]{1,64}$/;
const UID = /^[a-z0-9]{26}$/;
const SEGMENT = /^[A-Za-z0-9_-]+$/;
export const CHANNEL_MAX = 4096;

const check = (code: Parameters<typeof refuse>[0], valid: (text: string) => boolean) => (text: string) =>
  valid(text) ? text : refuse(code, text);

function refuse(
  code: 'name.space' | 'name.token' | 'name.principal' | 'name.channel' | 'name.pattern',
  input: string,
): never {
  throw new Plane3Error(code, { input });
}

const isPrincipal = (text: string) => {
  const tokens = text.split('.');
  return tokens.length === 2 && tokens.every((token) => TOKEN.test(token));
};

export const isChannel = (text: string): boolean =>
  text.length <= CHANNEL_MAX && text.split('.').every((segment) => SEGMENT.test(segment));

export const isPattern = (text: string): boolean =>
  text.length <= CHANNEL_MAX &&
  text
    .split('.')
    .every((segment, i, all) => SEGMENT.test(segment) || segment === '*' || (segment === '>' && i === all.length - 1));

export const parseSpace: (text: string) => string = check('name.space', (text) => SPACE.test(text));
export const parseToken: (text: string) => string = check('name.token', (text) => TOKEN.test(text));
export const parsePrincipal: (text: string) => string = check('name.principal', isPrincipal);
export const parsePattern: (text: string) => string = check('name.pattern', isPattern);

/** A concrete channel. A well-formed pattern is refused by its own name, because that slip has its own cure. */
export function parseChannel(text: string): string {
  if (isChannel(text)) return text;
  if (isPattern(text)) throw new Plane3Error('name.channel.wildcard', { input: text });
  return refuse('name.channel', text);
}

export const principalSchema = z.string().refine(isPrincipal, 'not a principal (owner.actor)');
export const tokenSchema = z.string().regex(TOKEN, 'not 1 to 64 of A-Z a-z 0-9 _');
export const uidSchema = z.string().regex(UID, 'not a lifecycle uid');
export const channelSchema = z.string().refine(isChannel, 'not a channel');
export const patternSchema = z.string().refine(isPattern, 'not a channel pattern');
export const sequenceSchema = z.int().min(0);

/** One lifecycle of one principal: `owner.actor.uid`, the key of its rows and the head of its private subjects. */
export interface Member {
  readonly owner: string;
  readonly actor: string;
  readonly uid: string;
}

export const memberKey = (member: Member): string => `${member.owner}.${member.actor}.${member.uid}`;
export const principalOf = (member: Member): string => `${member.owner}.${member.actor}`;

/** The member that `owner.actor.uid` names, or undefined when it names none. */
export function readMember(key: string): Member | undefined {
  const [owner, actor, uid, ...rest] = key.split('.');
  if (owner === undefined || actor === undefined || uid === undefined || rest.length > 0) return undefined;
  return TOKEN.test(owner) && TOKEN.test(actor) && UID.test(uid) ? { owner, actor, uid } : undefined;
}

/** True when the pattern covers the channel. `a.>` does not cover `a`. */
export function covers(pattern: string, channel: string): boolean {
  const want = pattern.split('.');
  const have = channel.split('.');
  for (let i = 0; i < want.length; i++) {
    if (want[i] === '>') return have.length > i;
    if (i >= have.length || (want[i] !== '*' && want[i] !== have[i])) return false;
  }
  return want.length === have.length;
}

export const coveredByAny = (patterns: readonly string[], channel: string): boolean =>
  patterns.some((pattern) => covers(pattern, channel));

/** Name of a space in file names: lower-case hex of its UTF-8 bytes. */
export const spaceKey = (space: string): string =>
  [...new TextEncoder().encode(space)].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** The form in which mention names are compared: trimmed and lower-cased. */
export const mentionName = (text: string): string => text.trim().toLowerCase();
