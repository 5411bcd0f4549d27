/**
 * What the environment may set of the delivery daemon: one `COTAL_DELIVERY_<NAME>` for each number. A name that is not
 * known, or a value that is not a whole number in its range, is refused by name before anything is started.
 */
import { Plane3Error } from './errors/catalogue.ts';
import { type Numbers, numbers } from './numbers.ts';

/** Longest that a timer of the platform can wait; a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

const PREFIX = 'COTAL_DELIVERY_';

/** `leaseTtlMs` → `COTAL_DELIVERY_LEASE_TTL_MS`. */
export const variableOf = (name: string): string =>
  PREFIX + name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();

/** The name each variable stands for. */
const known: ReadonlyMap<string, keyof Numbers> = new Map(
  (Object.keys(numbers) as (keyof Numbers)[]).map((name) => [variableOf(name), name]),
);

/**
 * The daemon's numbers: the environment's where it says something, else the defaults. The backstop is four windows unless
 * it is set, and never less than one.
 * @throws Plane3Error `config.unknown` or `config.value`, naming the variable.
 */
export function readNumbers(env: Readonly<Record<string, string | undefined>>): Numbers {
  const set: Partial<Record<keyof Numbers, number>> = {};
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(PREFIX) || text === undefined) continue;
    const name = known.get(variable);
    if (name === undefined) throw new Plane3Error('config.unknown', { variable });
    set[name] = readWhole(variable, text);
  }
  const brokerGoneMs = set.brokerGoneMs ?? numbers.brokerGoneMs;
  const backstop = set.brokerGoneBackstopMs ?? Math.min(LONGEST_MS, 4 * brokerGoneMs);
  return { ...numbers, ...set, brokerGoneMs, brokerGoneBackstopMs: Math.max(backstop, brokerGoneMs) };
}

function readWhole(variable: string, text: string): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= 1 && value <= LONGEST_MS)) {
    throw new Plane3Error('config.value', { variable, input: text, most: LONGEST_MS });
  }
  return value;
}
