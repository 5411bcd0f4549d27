/**
 * When the record of a running process is believed. It is never a proof of life: a process dies without removing it, its
 * number is given to another program, a file is half written. The check only ever downgrades on proof: what the system
 * does not tell counts for the record (S5).
 */

export type RecordedProcess = 'delivery' | 'manager' | 'broker';

/** What a record says: the pid, and `<boot id> <start ticks>`, or `-` where the system did not tell. */
export interface RecordedIdentity {
  readonly pid: number;
  readonly start: string;
}

/** What the system tells of a pid. A zombie is gone. Fields that cannot be read are absent. */
export type SeenProcess =
  | { readonly kind: 'gone' }
  | {
      readonly kind: 'alive';
      readonly start?: string;
      readonly argv?: readonly string[];
      readonly cwd?: string;
    };

/** `dead`: it is proved that the process which was recorded does not run any more. */
export type RecordVerdict =
  | ({ readonly kind: 'running' } & RecordedIdentity)
  | { readonly kind: 'stale'; readonly reason: string; readonly dead: boolean };

const START = /^[0-9a-f-]{8,64} \d{1,20}$/;
const UNKNOWN = '-';

export const recordText = ({ pid, start }: RecordedIdentity): string => `${pid}\n${start}\n`;

/** Reads a record; the reason when it is none. */
export function readRecord(text: string): RecordedIdentity | { readonly reason: string } {
  const [pid = '', start = '', ...rest] = text.split('\n');
  if (!/^[1-9]\d{0,9}$/.test(pid)) return { reason: 'its first line is not a pid' };
  if (!text.endsWith('\n') || rest.join('') !== '') return { reason: 'it is half written' };
  if (start !== UNKNOWN && !START.test(start)) return { reason: 'its second line is not a start time' };
  return { pid: Number(pid), start };
}

/** Judges a record by what the system tells of its pid. `isWanted`: whether a command line names the wanted process. */
export function judgeRecord(
  record: RecordedIdentity,
  seen: SeenProcess,
  isWanted: (process: { argv: readonly string[]; cwd?: string }) => boolean,
): RecordVerdict {
  const { pid, start } = record;
  const stale = (reason: string): RecordVerdict => ({ kind: 'stale', reason, dead: true });
  if (seen.kind === 'gone') return stale(`process ${pid} is gone`);
  if (seen.start !== undefined && start !== UNKNOWN && seen.start !== start) {
    return stale(`process ${pid} is another one: it started at another time`);
  }
  const { argv, cwd } = seen;
  if (argv !== undefined && !isWanted(cwd === undefined ? { argv } : { argv, cwd })) {
    return stale(`process ${pid} is another program (${basename(argv[0] ?? '')})`);
  }
  return { kind: 'running', pid, start: start === UNKNOWN ? (seen.start ?? UNKNOWN) : start };
}

/** Whether a pid is still the process that was found: asked again before every signal (S2). */
export const isSame = (found: RecordedIdentity, seen: SeenProcess): boolean =>
  seen.kind === 'alive' && (found.start === UNKNOWN || seen.start === undefined || seen.start === found.start);

const basename = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

const PROGRAM = /^cotal(\.[cm]?[jt]s)?$/;
const VERBS: Readonly<Record<Exclude<RecordedProcess, 'broker'>, string>> = { delivery: 'deliver', manager: 'manager' };

/** What a command line of ours says of itself, or undefined when it is none of `cotal deliver` or `cotal manager`. */
export function readCommand(
  what: Exclude<RecordedProcess, 'broker'>,
  argv: readonly string[],
): { readonly space?: string; readonly root?: string } | undefined {
  const program = argv.findIndex((word) => PROGRAM.test(basename(word)));
  if (program === -1) return undefined;
  const words = argv.slice(program + 1);
  if (!words.includes(VERBS[what])) return undefined;
  const space = optionOf(words, '--space');
  const root = optionOf(words, '--root');
  return { ...(space === undefined ? {} : { space }), ...(root === undefined ? {} : { root }) };
}

/** The value of `--name value` or `--name=value`. */
export function optionOf(words: readonly string[], name: string): string | undefined {
  const joined = words.find((word) => word.startsWith(`${name}=`));
  if (joined !== undefined) return joined.slice(name.length + 1);
  const at = words.indexOf(name);
  return at === -1 ? undefined : words[at + 1];
}
