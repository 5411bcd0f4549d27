/**
 * A reservation that processes of one machine share: a file made by hard link, never by overwriting. Its holder is named by
 * pid and start time, so that a number that was given to another program holds nothing. Who wants to take over from a dead
 * holder first takes the reservation `<path>.heir`: one heir at a time looks again and replaces it.
 */
import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isSame, type RecordedIdentity } from '../../domain/process-record.ts';
import { readIfThere, SECRET_FILE } from './files.ts';
import { lookAt, startOf } from './processes.ts';

export type Reservation =
  | { kind: 'taken'; release: () => void }
  /** `since`: wall time, milliseconds. */
  | { kind: 'held'; pid: number; since: number };

interface Holder extends RecordedIdentity {
  readonly since: number;
  readonly text: string;
}

/** Takes the reservation for this process, or says who holds it. */
export function reserve(path: string): Reservation {
  mkdirSync(dirname(path), { recursive: true });
  const nonce = randomBytes(8).toString('hex');
  const text = `${process.pid}\n${startOf(process.pid)}\n${Date.now()}\n${nonce}\n`;
  const mine = `${path}.${nonce}`;
  const taken: Reservation = {
    kind: 'taken',
    release: () => {
      if (readIfThere(path) === text) rmSync(path, { force: true });
    },
  };
  writeFileSync(mine, text, { mode: SECRET_FILE });
  try {
    for (;;) {
      if (link(mine, path)) return taken;
      const holder = holderOf(path);
      if (holder === 'nobody') continue;
      if (holder !== 'unreadable' && lives(holder)) return { kind: 'held', pid: holder.pid, since: holder.since };
      if (inherit(path, mine, holder)) return taken;
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

/** Who holds a reservation now; undefined when nobody alive does. */
export function holderNow(path: string): { pid: number; since: number } | undefined {
  const holder = holderOf(path);
  return typeof holder === 'object' && lives(holder) ? { pid: holder.pid, since: holder.since } : undefined;
}

/** Replaces a dead holder's file by ours. False: somebody else was quicker. */
function inherit(path: string, mine: string, dead: Holder | 'unreadable'): boolean {
  const heir = reserve(`${path}.heir`);
  if (heir.kind === 'held') return false;
  try {
    const now = holderOf(path);
    const isStillDead =
      now === 'unreadable'
        ? dead === 'unreadable'
        : typeof now === 'object' && typeof dead === 'object' && now.text === dead.text;
    if (!isStillDead) return false;
    renameSync(mine, path);
    return true;
  } finally {
    heir.release();
  }
}

function link(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function holderOf(path: string): Holder | 'nobody' | 'unreadable' {
  const text = readIfThere(path);
  if (text === undefined) return 'nobody';
  const [pid = '', start = '-', since = ''] = text.split('\n');
  if (!/^[1-9]\d{0,9}$/.test(pid)) return 'unreadable';
  return { pid: Number(pid), start, since: Number(since) || 0, text };
}

const lives = (holder: Holder): boolean => isSame(holder, lookAt(holder.pid));
