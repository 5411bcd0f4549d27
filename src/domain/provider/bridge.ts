/**
 * What comes over a provider link, as a post of the local space. Names of the hosted side know more letters than names of a
 * space: what does not fit is replaced, and a short mark of the whole is added, so that two different names stay different.
 */
import { z } from 'zod';
import { Plane3Error } from '../errors/catalogue.ts';
import { isChannel, parsePrincipal } from '../names.ts';
import { isName } from './names.ts';

/** First segment of every channel that a bridge writes to. */
export const HOSTED = 'hosted';
/** Channel of what names none. */
const DIRECT = 'dm';
const LONGEST = 64;

const data = z.looseObject({
  channel: z.string().optional(),
  text: z.string().optional(),
  from: z.union([z.string(), z.looseObject({ name: z.string() })]).optional(),
});

export interface Arrived {
  readonly msgId: string;
  readonly payload: { readonly type: string; readonly data: unknown };
}

export interface BridgedPost {
  readonly channel: string;
  readonly post: Uint8Array;
}

/** @param at milliseconds, wall clock: when it arrived here */
export function bridgedPost(of: { arrived: Arrived; space: string; node: string; at: number }): BridgedPost {
  const { arrived, space, node, at } = of;
  const read = data.safeParse(arrived.payload.data).data;
  const channel = `${HOSTED}.${segment(node)}.${segment(read?.channel ?? DIRECT)}`;
  const sender = typeof read?.from === 'string' ? read.from : (read?.from?.name ?? 'unknown');
  const message = {
    id: arrived.msgId,
    ts: at,
    space,
    from: { id: `${HOSTED}.${segment(sender).replaceAll('-', '_')}`, name: sender },
    channel,
    parts: [partOf(arrived.payload, read?.text)],
  };
  return { channel, post: new TextEncoder().encode(JSON.stringify(message)) };
}

/** The text of a message; everything else is carried whole, as data. */
const partOf = ({ type, data: whole }: Arrived['payload'], text: string | undefined) =>
  text === undefined ? { kind: 'data', data: { type, data: whole ?? null } } : { kind: 'text', text };

/** A name as one segment of a channel. */
export function segment(name: string): string {
  const fitting = name.replaceAll(/[^A-Za-z0-9_-]/g, '_');
  return fitting === name && name.length <= LONGEST && isChannel(name)
    ? name
    : `${fitting.slice(0, LONGEST)}_${mark(name)}`;
}

/** FNV-1a over UTF-16 units, in base 36: the same everywhere, and no secret. */
function mark(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return hash.toString(36);
}

/**
 * Reads `hostedName=owner.actor` mappings.
 * @throws Plane3Error `link.map` for one that is none, or a name that comes twice; `name.principal`.
 */
export function parseMap(entries: readonly string[]): ReadonlyMap<string, string> {
  const map = new Map<string, string>();
  for (const input of entries) {
    const at = input.lastIndexOf('=');
    const name = input.slice(0, Math.max(0, at));
    if (!isName(name) || map.has(name)) throw new Plane3Error('link.map', { input: input.slice(0, 300) });
    map.set(name, parsePrincipal(input.slice(at + 1)));
  }
  return map;
}
