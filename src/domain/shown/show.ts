/**
 * What may be seen of a context or an event: a copy that has nothing but catalogued fields. What was left out is counted,
 * so that nobody takes the copy for the whole. Long lists are cut, and say how long they were.
 */
import { type Shown, shownFields } from './fields.ts';

export type ShownValue = null | boolean | number | string | ShownValue[] | { [field: string]: ShownValue };
export interface ShownObject {
  [field: string]: ShownValue;
}
export type ShownEvent = ShownObject & { type: string };

export interface ShowBounds {
  /** Items of a list or a map that are copied. */
  readonly items: number;
  /** Characters of a text that are copied. */
  readonly text: number;
  /** Whether the copy says how much was left out. */
  readonly marks: boolean;
}

/** For the eye. */
export const brief: ShowBounds = { items: 24, text: 240, marks: true };
/** For a recording: a machine is given it again, so there is nothing in it that is not a field. */
export const whole: ShowBounds = { items: 100_000, text: 2_000, marks: false };

/** Field that says how many fields or items were left out. */
export const HIDDEN = '…hidden';
export const MORE = '…more';
const STRUCK = '•••';
const DEEPEST = 6;
const LONGEST_NAME = 256;

/** An identifier: subjects, keys, members, codes, delays, state names. */
const NAME = /^[\w.:/>*@=+#()\- $]*$/;
/** A JWT, an nkey seed, a token of the provider plane, key material. */
const SECRETS = [
  /eyJ[\w-]{6,}(?:\.[\w-]+)*/g,
  /\bS[A-Z][A-Z2-7]{40,}\b/g,
  /\b(?:rk|at|nt)_live_\w+/g,
  /-{3,}\s?BEGIN[\s\S]*/g,
  /\b(?:bearer|basic)\s+\S+/gi,
  /\b(?:token|secret|password|passwd|pwd|seed|jwt|key)\s*[=:]\s*\S+/gi,
  /\/\/[^/\s@]*@/g,
  /\?[\w%.~-]+=\S+/g,
  /[A-Za-z0-9+/_-]{72,}={0,2}/g,
];

/** A sentence without what looks like a secret and without what it quotes: an error may quote what it could not read. */
export function shownText(text: string, most = brief.text): string {
  const plain = SECRETS.reduce((left, secret) => left.replace(secret, STRUCK), text.slice(0, 4 * most)).replace(
    /"[^"]*"?|`[^`]*`?|(?<![\w])'[^']*'?/g,
    `"${STRUCK}"`,
  );
  return plain.length > most ? `${plain.slice(0, most)}…` : plain;
}

/** An identifier as it is; anything else that claims to be one is struck out. */
export function shownName(name: string): string {
  if (name.length > LONGEST_NAME || !NAME.test(name)) return STRUCK;
  return SECRETS.some((secret) => name.search(secret) !== -1) ? STRUCK : name;
}

export function shownObject(value: object, bounds: ShowBounds = brief): ShownObject {
  return copyFields(value, bounds, 0);
}

/** An event: its type is an identifier, whatever it holds. */
export function shownEvent(event: { readonly type: string }, bounds: ShowBounds = brief): ShownEvent {
  return { ...copyFields(event, bounds, 0), type: typeof event.type === 'string' ? shownName(event.type) : STRUCK };
}

function copyFields(value: object, bounds: ShowBounds, depth: number): ShownObject {
  const copy: ShownObject = {};
  let hidden = 0;
  for (const [field, inner] of Object.entries(value)) {
    if (inner === undefined) continue;
    const kind = Object.hasOwn(shownFields, field) ? shownFields[field] : undefined;
    const shown = kind === undefined || kind === 'hidden' ? undefined : copyAs(kind, inner, bounds, depth + 1);
    if (shown === undefined) hidden += 1;
    else copy[field] = shown;
  }
  if (hidden > 0 && bounds.marks) copy[HIDDEN] = hidden;
  return copy;
}

type Kind = Exclude<Shown, 'hidden'>;

/** Undefined: it is not of a kind that is shown. */
function copyAs(kind: Kind, value: unknown, bounds: ShowBounds, depth: number): ShownValue | undefined {
  if (kind === 'fields' && (typeof value !== 'object' || value === null)) return undefined;
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? value : null;
    case 'boolean':
      return value;
    case 'string':
      return kind === 'text' ? shownText(value, bounds.text) : shownName(value);
    case 'object':
      break;
    default:
      return undefined;
  }
  if (value === null) return null;
  if (depth > DEEPEST) return undefined;
  // An error's message and stack are no fields of it.
  if (value instanceof Error) return kind === 'text' ? shownText(value.message, bounds.text) : shownName(value.name);
  if (Array.isArray(value)) return copyList(kind, value, bounds, depth);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  return kind === 'map' ? copyMap(value, bounds, depth) : copyFields(value, bounds, depth);
}

function copyList(kind: Kind, list: readonly unknown[], bounds: ShowBounds, depth: number): ShownValue[] {
  const copy: ShownValue[] = list.slice(0, bounds.items).map((item) => copyAs(kind, item, bounds, depth + 1) ?? STRUCK);
  if (list.length > bounds.items && bounds.marks) copy.push(`${MORE} ${list.length - bounds.items}`);
  return copy;
}

function copyMap(map: object, bounds: ShowBounds, depth: number): ShownObject {
  const copy: ShownObject = {};
  let items = 0;
  let more = 0;
  for (const [name, value] of Object.entries(map)) {
    if (items >= bounds.items) {
      more += 1;
      continue;
    }
    items += 1;
    const shown = copyAs('name', value, bounds, depth + 1);
    if (shown !== undefined) copy[shownName(name)] = shown;
  }
  if (more > 0 && bounds.marks) copy[MORE] = more;
  return copy;
}
