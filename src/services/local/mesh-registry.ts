/**
 * The meshes that this user runs on this machine: `<COTAL_HOME>/meshes/space.<key>.json`, one record a space. It says where
 * a space's broker is and how to speak to it, so that a daemon started by hand dials what `up` started.
 */
import { readdirSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { Plane3Error } from '../../domain/errors/catalogue.ts';
import { spaceKey } from '../../domain/names.ts';
import { isPublicKey } from '../../domain/nkeys.ts';
import { readJsonFile, SECRET_FILE, SECRET_FOLDER, writeAtomic } from './files.ts';
import { cotalHome } from './nats-binary.ts';

const recordSchema = z.object({
  version: z.literal(1),
  space: z.string(),
  /** Absolute path of the workspace root. */
  root: z.string().refine(isAbsolute),
  url: z.string().regex(/^(nats|tls):\/\/\S+$/),
  /** Present when the mesh demands TLS. */
  tls: z.object({ caFile: z.string().optional() }).optional(),
  durability: z.enum(['strict', 'relaxed']),
  /** Public key of the space's account; absent in open mode. */
  accountKey: z
    .string()
    .refine((key) => isPublicKey('account', key))
    .optional(),
  updatedAt: z.number(),
});
export type MeshRecord = z.infer<typeof recordSchema>;

export type MeshEntry =
  | { kind: 'mesh'; record: MeshRecord }
  /** A file that is there and cannot be read as a record. */
  | { kind: 'corrupt'; path: string; reason: string };

const folderOf = (home: string): string => join(home, 'meshes');
const pathOf = (home: string, space: string): string => join(folderOf(home), `space.${spaceKey(space)}.json`);

/** Writes the record of a space, replacing an older one. */
export function recordMesh({
  record,
  home = cotalHome(),
}: {
  record: Omit<MeshRecord, 'version'>;
  home?: string;
}): void {
  const text = `${JSON.stringify({ version: 1, ...record }, undefined, 2)}\n`;
  writeAtomic(pathOf(home, record.space), text, SECRET_FILE, SECRET_FOLDER);
}

/**
 * The record of a space, or undefined when there is none.
 * @throws Plane3Error `file.unreadable` naming a record that is corrupt or another space's.
 */
export function findMesh({ space, home = cotalHome() }: { space: string; home?: string }): MeshRecord | undefined {
  const path = pathOf(home, space);
  const record = readJsonFile(path, recordSchema);
  if (record !== undefined && record.space !== space) {
    throw new Plane3Error('file.unreadable', { path, reason: `it is the record of space ${record.space}` });
  }
  return record;
}

/** Every record of the machine, corrupt ones by name, in the order of their files. */
export function listMeshes({ home = cotalHome() }: { home?: string } = {}): MeshEntry[] {
  return namesIn(folderOf(home)).map((name): MeshEntry => {
    const path = join(folderOf(home), name);
    try {
      const record = readJsonFile(path, recordSchema);
      if (record !== undefined && `space.${spaceKey(record.space)}.json` === name) return { kind: 'mesh', record };
      return { kind: 'corrupt', path, reason: 'it is the record of another space' };
    } catch (error) {
      return { kind: 'corrupt', path, reason: error instanceof Error ? error.message : String(error) };
    }
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /^space\.[0-9a-f]+\.json$/.test(name))
      .sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
