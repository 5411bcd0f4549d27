/**
 * Where a process of a root may be looked at: `<root>/.cotal/inspect.<what>.<key>.json`, readable by its owner alone, because
 * the token is in it. Whoever reads it verifies the process before believing it.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { spaceKey } from '../domain/names.ts';
import { isSame } from '../domain/process-record.ts';
import { cotalFolder } from '../services/local/auth-store.ts';
import { readJsonFile, SECRET_FILE, writeAtomic } from '../services/local/files.ts';
import { lookAt, startOf } from '../services/local/processes.ts';

/** Processes that can be inspected. */
export const inspected = ['delivery', 'manager', 'up', 'provider', 'hosted'] as const;
export type Inspected = (typeof inspected)[number];

export interface AddressName {
  readonly root: string;
  readonly what: Inspected;
  readonly space: string;
}

const addressSchema = z.object({
  pid: z.number().int().positive(),
  start: z.string(),
  port: z.number().int().positive(),
  token: z.string().min(1),
});
export type Address = z.infer<typeof addressSchema>;

export const addressPath = ({ root, what, space }: AddressName): string =>
  join(cotalFolder(root), `inspect.${what}.${spaceKey(space)}.json`);

export function writeAddress(name: AddressName, { port, token }: { port: number; token: string }): void {
  const address: Address = { pid: process.pid, start: startOf(process.pid), port, token };
  writeAtomic(addressPath(name), `${JSON.stringify(address)}\n`, SECRET_FILE);
}

/** Takes the address away while it is still this process's. */
export function removeAddress(name: AddressName): void {
  const path = addressPath(name);
  if (readJsonFile(path, addressSchema)?.pid === process.pid) rmSync(path, { force: true });
}

/** Of a process that runs; undefined for one that has gone. */
export function readAddress(name: AddressName): Address | undefined {
  const address = readJsonFile(addressPath(name), addressSchema);
  return address !== undefined && isSame(address, lookAt(address.pid)) ? address : undefined;
}

export const urlOf = ({ port, token }: Pick<Address, 'port' | 'token'>): string => `http://127.0.0.1:${port}/${token}/`;
