/** A lock that processes of one machine share: a file made by hard link, whose holder must be alive to hold it. */
import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Plane3Error } from '../../domain/errors/catalogue.ts';
import { isAlive, readIfThere, SECRET_FILE, SECRET_FOLDER } from './files.ts';

const ASK_AGAIN_MS = 20;

/**
 * Runs `work` while this process alone holds `<path>.lock`.
 * @throws Plane3Error `file.locked` naming the holder when it has not let go within `waitMs`.
 */
export async function withFileLock<T>(asked: { path: string; work: () => Promise<T>; waitMs?: number }): Promise<T> {
  const lock = `${asked.path}.lock`;
  mkdirSync(dirname(lock), { recursive: true, mode: SECRET_FOLDER });
  const mark = `${process.pid} ${randomBytes(8).toString('hex')}`;
  const deadline = performance.now() + (asked.waitMs ?? 10_000);
  while (!take(lock, mark)) {
    const holder = Number.parseInt(readIfThere(lock) ?? '', 10);
    if (Number.isInteger(holder) && !isAlive(holder)) clear(lock, holder);
    else if (performance.now() > deadline) throw new Plane3Error('file.locked', { path: asked.path, pid: holder });
    else await pause(ASK_AGAIN_MS);
  }
  try {
    return await asked.work();
  } finally {
    if (readIfThere(lock) === mark) rmSync(lock, { force: true });
  }
}

function take(lock: string, mark: string): boolean {
  const mine = `${lock}.${mark.replace(' ', '.')}`;
  try {
    writeFileSync(mine, mark, { mode: SECRET_FILE });
    linkSync(mine, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(mine, { force: true });
  }
}

/** Takes a dead holder's lock away. Moved aside first and looked at again: it may be another's by now. */
function clear(lock: string, dead: number): void {
  const aside = `${lock}.dead.${process.pid}`;
  try {
    renameSync(lock, aside);
  } catch {
    return;
  }
  const taken = readIfThere(aside);
  if (taken !== undefined && Number.parseInt(taken, 10) !== dead) {
    try {
      linkSync(aside, lock);
    } catch {
      // A third process holds it now; the one whose mark we moved away finds that out when it lets go.
    }
  }
  rmSync(aside, { force: true });
}
