/**
 * The node's own tables (rules 8 and 10), which outlive its memory:
 *
 *   bound   which connection holds which provider: after a reset it names those that are missing
 *   owed    a provider row that may say online on behalf of a connection that must not have it any more
 *   ready   the declared identities of a connection, with where their delivery stands
 *   retried when queued rows of live identities were last looked for
 */
import type { Delivery, DeliveryPhase } from '../../domain/provider/delivery.ts';
import type { ProviderBefore } from '../engine/providers.ts';
import type { ObjectStore } from './ports.ts';

const tables = `
CREATE TABLE IF NOT EXISTS bound (connection TEXT PRIMARY KEY, workspace TEXT NOT NULL, node TEXT NOT NULL,
  provider TEXT NOT NULL, instance TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS owed (connection TEXT NOT NULL, workspace TEXT NOT NULL, node TEXT NOT NULL,
  provider TEXT NOT NULL, instance TEXT NOT NULL, before TEXT, PRIMARY KEY (connection, provider));
CREATE TABLE IF NOT EXISTS ready (connection TEXT NOT NULL, agent_id TEXT NOT NULL, phase TEXT NOT NULL,
  base INTEGER NOT NULL, sent INTEGER NOT NULL, PRIMARY KEY (connection, agent_id));
CREATE TABLE IF NOT EXISTS retried (workspace TEXT NOT NULL, node TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (workspace, node));`;

export interface Binding {
  readonly connection: string;
  readonly provider: string;
  readonly instance: string;
}

export interface Owed extends Binding {
  readonly before: ProviderBefore | undefined;
}

export class NodeRecords {
  readonly #store: ObjectStore;
  readonly #workspace: string;
  readonly #node: string;

  constructor(store: ObjectStore, workspace: string, node: string) {
    this.#store = store;
    this.#workspace = workspace;
    this.#node = node;
    NodeRecords.prepare(store);
  }

  static prepare(store: ObjectStore): void {
    for (const table of tables.split(';').filter((each) => each.trim() !== '')) store.exec(table);
  }

  /** Nodes that have something to settle, for a server that starts anew. */
  static unsettled(store: ObjectStore): readonly { readonly workspace: string; readonly node: string }[] {
    NodeRecords.prepare(store);
    return store
      .exec('SELECT workspace, node FROM bound UNION SELECT workspace, node FROM owed')
      .map((row) => ({ workspace: String(row.workspace), node: String(row.node) }));
  }

  bindings(): readonly Binding[] {
    return this.#store
      .exec('SELECT connection, provider, instance FROM bound WHERE workspace = ? AND node = ?', ...this.#here)
      .map(bindingOf);
  }

  /** A connection holds one provider, and a provider one connection. */
  bind({ connection, provider, instance }: Binding): void {
    this.#store.exec(
      'DELETE FROM bound WHERE connection = ? OR (workspace = ? AND node = ? AND provider = ?)',
      connection,
      ...this.#here,
      provider,
    );
    this.#store.exec('INSERT INTO bound VALUES (?, ?, ?, ?, ?)', connection, ...this.#here, provider, instance);
  }

  unbind(connection: string): void {
    this.#store.exec('DELETE FROM bound WHERE connection = ?', connection);
  }

  owed(): readonly Owed[] {
    return this.#store
      .exec('SELECT connection, provider, instance, before FROM owed WHERE workspace = ? AND node = ?', ...this.#here)
      .map((row) => ({
        ...bindingOf(row),
        before: row.before === null ? undefined : (JSON.parse(String(row.before)) as ProviderBefore),
      }));
  }

  owe({ connection, provider, instance, before }: Owed): void {
    this.#store.exec(
      'INSERT OR REPLACE INTO owed VALUES (?, ?, ?, ?, ?, ?)',
      connection,
      ...this.#here,
      provider,
      instance,
      before === undefined ? null : JSON.stringify(before),
    );
  }

  discharge({ connection, provider }: Pick<Owed, 'connection' | 'provider'>): void {
    this.#store.exec('DELETE FROM owed WHERE connection = ? AND provider = ?', connection, provider);
  }

  deliveries(connection: string): Map<string, Delivery> {
    const rows = this.#store.exec('SELECT agent_id, phase, base, sent FROM ready WHERE connection = ?', connection);
    return new Map(
      rows.map((row) => [
        String(row.agent_id),
        // What was written since the last page is not known here: another look is due before anything new is written.
        { phase: row.phase as DeliveryPhase, base: Number(row.base), sent: Number(row.sent), dirty: true },
      ]),
    );
  }

  keepDeliveries(connection: string, entries: readonly (readonly [agent: string, delivery: Delivery])[]): void {
    if (entries.length === 0) return;
    this.#store.exec(
      `INSERT OR REPLACE INTO ready (connection, agent_id, phase, base, sent)
       SELECT ?, value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?)`,
      connection,
      JSON.stringify(entries.map(([agent, { phase, base, sent }]) => [agent, phase, base, sent])),
    );
  }

  forgetDelivery(connection: string, agent: string): void {
    this.#store.exec('DELETE FROM ready WHERE connection = ? AND agent_id = ?', connection, agent);
  }

  forgetDeliveries(connection: string): void {
    this.#store.exec('DELETE FROM ready WHERE connection = ?', connection);
  }

  isReplaying(connection: string): boolean {
    const rows = this.#store.exec(
      "SELECT 1 FROM ready WHERE connection = ? AND phase = 'Replaying' LIMIT 1",
      connection,
    );
    return rows.length > 0;
  }

  /** Milliseconds; 0 before the first time. */
  get retriedAt(): number {
    const [row] = this.#store.exec('SELECT at FROM retried WHERE workspace = ? AND node = ?', ...this.#here);
    return row === undefined ? 0 : Number(row.at);
  }

  set retriedAt(at: number) {
    this.#store.exec('INSERT OR REPLACE INTO retried VALUES (?, ?, ?)', ...this.#here, at);
  }

  get #here(): readonly [string, string] {
    return [this.#workspace, this.#node];
  }
}

const bindingOf = (row: Readonly<Record<string, unknown>>): Binding => ({
  connection: String(row.connection),
  provider: String(row.provider),
  instance: String(row.instance),
});
