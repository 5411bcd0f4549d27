/** What the system tells of a process. Linux: from /proc. Elsewhere only whether the pid is there. */
import { readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { optionOf, type RecordedProcess, readCommand, type SeenProcess } from '../../domain/process-record.ts';
import { configPath } from './broker-config.ts';
import { isAlive } from './files.ts';
import { nearestRoot } from './workspace.ts';

const PROC = '/proc';
/** The kernel's own mark in the flags of a process. */
const KERNEL_THREAD = 0x00200000;
const BLANK = /^\0*$/;
const wordsOf = (line: string): string[] => line.replace(/\0$/, '').split('\0');

/** `proc`: where the system's process folder lies. */
export function lookAt(pid: number, proc = PROC): SeenProcess {
  const stat = readOr(`${proc}/${pid}/stat`);
  if (stat === undefined) return isAlive(pid) ? { kind: 'alive' } : { kind: 'gone' };
  // The name in parentheses may hold anything; what counts comes after the last one.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const isOfKernel = (Number(fields[5]) & KERNEL_THREAD) !== 0;
  const name = `[${stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'))}]`;
  if (state === 'Z' || state === 'X') return { kind: 'gone' };
  const boot = readOr(`${proc}/sys/kernel/random/boot_id`)?.trim();
  const ticks = fields[18];
  const line = readOr(`${proc}/${pid}/cmdline`);
  const cwd = linkOr(`${proc}/${pid}/cwd`);
  return {
    kind: 'alive',
    ...(boot === undefined || ticks === undefined ? {} : { start: `${boot} ${ticks}` }),
    // A process on its way into its program has an empty line, and one may blank its own: that proves nothing. A thread of
    // the kernel has none either, and is certainly no program.
    ...(isOfKernel ? { argv: [name] } : line === undefined || BLANK.test(line) ? {} : { argv: wordsOf(line) }),
    ...(cwd === undefined ? {} : { cwd }),
  };
}

/** `<boot id> <start ticks>` of a process, or `-` where the system does not tell. */
export function startOf(pid: number): string {
  const seen = lookAt(pid);
  return (seen.kind === 'alive' ? seen.start : undefined) ?? '-';
}

/** Whether a command line names this process of this root and space. What it leaves out is taken as ours. */
export const isCommandOf =
  ({ root, what, space }: { root: string; what: RecordedProcess; space: string }) =>
  ({ argv, cwd }: { argv: readonly string[]; cwd?: string }): boolean => {
    const from = (path: string): string | undefined =>
      isAbsolute(path) ? path : cwd === undefined ? undefined : resolve(cwd, path);
    const isOurs = (path: string | undefined, own: string): boolean =>
      path === undefined || realFolder(path) === realFolder(own);
    if (what === 'broker') {
      const config = optionOf(argv, '-c');
      return config !== undefined && isOurs(from(config), configPath(root));
    }
    const command = readCommand(what, argv);
    if (command === undefined) return false;
    if (command.space !== undefined && command.space !== space) return false;
    if (command.root !== undefined) return isOurs(from(command.root), root);
    return cwd === undefined || isOurs(nearestRoot(cwd), root);
  };

/** The folder with every link resolved; the path as it is where it does not exist. */
export function realFolder(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

function readOr(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function linkOr(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
