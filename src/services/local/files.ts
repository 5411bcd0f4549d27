/** Files that are there whole or not at all, and are read through a schema. */
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { z } from 'zod';
import { Plane3Error } from '../../domain/errors/catalogue.ts';

export const SECRET_FILE = 0o600;
export const SECRET_FOLDER = 0o700;

/**
 * Writes a file by one rename, synced first; its folder is made when it is missing.
 * `may` is asked when everything but the rename is done; false leaves what was there.
 * @throws Plane3Error `file.unwritable` naming the path; what was there before is there still.
 */
export function writeAtomic(
  path: string,
  data: string | Uint8Array,
  mode = 0o644,
  folderMode = 0o755,
  may: () => boolean = () => true,
): void {
  const fresh = `${path}.${process.pid}.${randomBytes(4).toString('hex')}.new`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: folderMode });
    const file = openSync(fresh, 'wx', mode);
    try {
      writeFileSync(file, data);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    if (may()) renameSync(fresh, path);
    else rmSync(fresh);
  } catch (error) {
    discard(fresh);
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new Plane3Error('file.unwritable', { path, reason }, { cause: error });
  }
}

/** Takes away what was not finished. What kept it from being written may keep it from being removed too: the first reason is told. */
function discard(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {}
}

/** A file's text, or undefined when there is none. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new Plane3Error('file.unreadable', { path, reason: code ?? String(error) }, { cause: error });
  }
}

/**
 * A JSON file through its schema, or undefined when there is none.
 * @throws Plane3Error `file.unreadable` naming the path and what is wrong; values are not repeated, they may be secrets.
 */
export function readJsonFile<T>(path: string, schema: z.ZodType<T>): T | undefined {
  const text = readIfThere(path);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Plane3Error('file.unreadable', { path, reason: 'it is not JSON' });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? 'it' : issue.path.join('.');
  throw new Plane3Error('file.unreadable', { path, reason: `${where} is not what it should be` });
}

/** True while a process of this pid is there, whoever it belongs to. A zombie counts: it still has its pid. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
