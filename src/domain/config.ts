/**
 * What the environment may set: one `COTAL_DELIVERY_<NAME>` for each number of the daemon, `COTAL_MANAGER_<NAME>` of the manager. A name that is not
 * known, or a value that is not a whole number in its range, is refused by name before anything is started.
 */
import { Plane3Error } from './errors/catalogue.ts';
import { type ManagerNumbers, managerNumbers } from './manager-numbers.ts';
import { type Numbers, numbers } from './numbers.ts';

/** Longest that a timer of the platform can wait; a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

const PREFIX = 'COTAL_DELIVERY_';
const MANAGER_PREFIX = 'COTAL_MANAGER_';

const nameIn = (prefix: string, name: string): string =>
  prefix + name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();

/** `leaseTtlMs` → `COTAL_DELIVERY_LEASE_TTL_MS`. */
export const variableOf = (name: string): string => nameIn(PREFIX, name);

type Environment = Readonly<Record<string, string | undefined>>;

/** What the environment says of the numbers under a prefix. */
function settings<Name extends string>(env: Environment, prefix: string, names: readonly Name[]) {
  const known = new Map(names.map((name) => [nameIn(prefix, name), name]));
  const set: Partial<Record<Name, number>> = {};
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(prefix) || text === undefined) continue;
    const name = known.get(variable);
    if (name === undefined) throw new Plane3Error('config.unknown', { variable });
    set[name] = readWhole(variable, text);
  }
  return set;
}

/**
 * The daemon's numbers: the environment's where it says something, else the defaults. The backstop is four windows unless
 * it is set, and never less than one.
 * @throws Plane3Error `config.unknown` or `config.value`, naming the variable.
 */
export function readNumbers(env: Environment): Numbers {
  const set = settings(env, PREFIX, Object.keys(numbers) as (keyof Numbers)[]);
  const brokerGoneMs = set.brokerGoneMs ?? numbers.brokerGoneMs;
  const backstop = set.brokerGoneBackstopMs ?? Math.min(LONGEST_MS, 4 * brokerGoneMs);
  return { ...numbers, ...set, brokerGoneMs, brokerGoneBackstopMs: Math.max(backstop, brokerGoneMs) };
}

/** The manager's numbers: `COTAL_MANAGER_<NAME>`, else the defaults. @throws as `readNumbers`. */
export const readManagerNumbers = (env: Environment): ManagerNumbers => ({
  ...managerNumbers,
  ...settings(env, MANAGER_PREFIX, Object.keys(managerNumbers) as (keyof ManagerNumbers)[]),
});

function readWhole(variable: string, text: string): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= 1 && value <= LONGEST_MS)) {
    throw new Plane3Error('config.value', { variable, input: text, most: LONGEST_MS });
  }
  return value;
}
