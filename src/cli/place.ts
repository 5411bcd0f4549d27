/**
 * Where a command works: workspace root and space, by one rule for all verbs.
 *
 *   root    --root, or the nearest `.cotal` at or above the working directory
 *   space   --space, or the only space of the root, else `main`
 *   broker  what the machine's registry has for the space, else the local default
 */
import { resolve } from 'node:path';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { parseSpace } from '../domain/names.ts';
import { spacesOf } from '../services/local/auth-store.ts';
import { findMesh, listMeshes, type MeshRecord } from '../services/local/mesh-registry.ts';
import { realFolder } from '../services/local/processes.ts';
import { nearestRoot, workspaceRoot } from '../services/local/workspace.ts';

export const LOCAL_BROKER = 'nats://127.0.0.1:4222';
const DEFAULT_SPACE = 'main';

/** What the shared options of every command say. */
export interface SharedOptions {
  readonly json?: boolean;
  readonly root?: string;
  readonly space?: string;
}

export interface Place {
  readonly root: string;
  readonly space: string;
}

/** @throws Plane3Error `place.root` or `start.root` where there is no workspace, `name.space` for a space outside its grammar. */
export function placeOf(options: SharedOptions): Place {
  const root = workspaceRoot(options.root === undefined ? {} : { root: options.root });
  return { root, space: spaceOf(options, root) };
}

/** The same for a command that makes the workspace where there is none: then it is `--root`, or the working directory. */
export function placeToMake(options: SharedOptions): Place {
  const root = options.root === undefined ? (nearestRoot(process.cwd()) ?? process.cwd()) : resolve(options.root);
  return { root, space: spaceOf(options, root) };
}

function spaceOf({ space }: SharedOptions, root: string): string {
  if (space !== undefined) return parseSpace(space);
  const recorded = listMeshes().flatMap((entry) =>
    entry.kind === 'mesh' && isSame(entry.record.root, root) ? [entry.record.space] : [],
  );
  const [only, ...others] = new Set([...spacesOf(root), ...recorded]);
  return only !== undefined && others.length === 0 ? only : DEFAULT_SPACE;
}

export interface BrokerAddress {
  readonly url: string;
  /** Present when the mesh demands TLS. */
  readonly tls?: { readonly caFile?: string };
  readonly record: MeshRecord | undefined;
}

/**
 * The broker of a space.
 * @throws Plane3Error `place.other-root` when the machine's registry has another root's mesh for this space.
 */
export function brokerOf({ root, space }: Place): BrokerAddress {
  const record = findMesh({ space });
  if (record === undefined) return { url: LOCAL_BROKER, record };
  if (!isSame(record.root, root)) {
    throw new Plane3Error('place.other-root', { space, recorded: record.root, root });
  }
  const { url, tls } = record;
  return { url, record, ...(tls === undefined ? {} : { tls: tls.caFile === undefined ? {} : { caFile: tls.caFile } }) };
}

/** Whether two paths are one folder, links looked through. */
function isSame(one: string, other: string): boolean {
  return realFolder(one) === realFolder(other);
}
