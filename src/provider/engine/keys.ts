/** Keys and tokens: made here, shown once, stored as SHA-256 only. */
import { type Row, sql, textIn } from '../storage/port.ts';
import { type Engine, randomHex, seconds } from './engine.ts';

const digits = { rk_live: 48, at_live: 32, nt_live: 48 } as const;

/** `rk_live` workspace, `at_live` agent, `nt_live` node. */
export const newToken = (kind: keyof typeof digits): string => `${kind}_${randomHex(digits[kind])}`;

export async function hashToken(token: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token)));
  return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

export type Caller =
  | { readonly kind: 'workspace'; readonly workspace: string }
  | { readonly kind: 'agent'; readonly workspace: string; readonly agent: string; readonly name: string }
  | { readonly kind: 'node'; readonly workspace: string; readonly node: string };

/** Who a token belongs to; undefined for a token that is nobody's, whatever it looks like. */
export async function callerOf(engine: Engine, token: string): Promise<Caller | undefined> {
  const hash = await hashToken(token);
  if (token.startsWith('rk_live_')) {
    const row = await first(engine, 'SELECT id FROM workspaces WHERE key_hash = ?', hash);
    return row && { kind: 'workspace', workspace: textIn(row, 'id') ?? '' };
  }
  if (token.startsWith('nt_live_')) {
    const row = await first(engine, 'SELECT id, workspace_id FROM nodes WHERE token_hash = ?', hash);
    return row && { kind: 'node', workspace: textIn(row, 'workspace_id') ?? '', node: textIn(row, 'id') ?? '' };
  }
  if (!token.startsWith('at_live_')) return undefined;
  const row = await first(
    engine,
    'SELECT id, workspace_id, name FROM agents WHERE token_hash = ? AND released_at IS NULL',
    hash,
  );
  return (
    row && {
      kind: 'agent',
      workspace: textIn(row, 'workspace_id') ?? '',
      agent: textIn(row, 'id') ?? '',
      name: textIn(row, 'name') ?? '',
    }
  );
}

const first = async (engine: Engine, text: string, hash: string): Promise<Row | undefined> =>
  (await engine.storage.query(sql(text, hash)))[0];

/** Makes a workspace and its key; the key is shown only here. */
export async function addWorkspace(engine: Engine, { name }: { name: string }): Promise<{ id: string; key: string }> {
  const id = engine.newId('ws');
  const key = newToken('rk_live');
  await engine.storage.batch([
    sql(
      'INSERT INTO workspaces (id, name, key_hash, created_at) VALUES (?, ?, ?, ?)',
      id,
      name,
      await hashToken(key),
      seconds(engine),
    ),
  ]);
  return { id, key };
}
