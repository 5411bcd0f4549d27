/** One workspace with one node of its own on a stage: tests share a stage, and nothing else. */
import { createHash, randomUUID } from 'node:crypto';
import { type Row, type Statement, sql } from '../../../src/provider/storage/port.ts';
import { TcpProxy } from '../../../src/torture/proxy.ts';
import { until } from '../../support/until.ts';
import { CURSOR, GUIDANCE, type Heard, Peer } from './peer.ts';
import { requested } from './requested.ts';
import type { Stage } from './stage.ts';

const hash = (text: string) => createHash('sha256').update(text).digest('hex');

export interface RegisterOptions {
  readonly provider?: string | undefined;
  readonly instance?: string;
  readonly capabilities?: readonly object[];
}

export class Site {
  readonly stage: Stage;
  readonly workspace: string;
  readonly node: string;
  readonly #key: string;
  #token = '';
  readonly #peers: Peer[] = [];
  readonly #proxies: TcpProxy[] = [];

  private constructor(stage: Stage) {
    const mark = randomUUID().slice(0, 8);
    this.stage = stage;
    this.workspace = `ws_${mark}`;
    this.node = `node_${mark}`;
    this.#key = `rk_live_${mark}`;
  }

  static async make(stage: Stage): Promise<Site> {
    const site = new Site(stage);
    await stage.sql(
      sql(
        'INSERT INTO workspaces (id, name, key_hash, created_at) VALUES (?, ?, ?, ?)',
        site.workspace,
        'test',
        hash(site.#key),
        1,
      ),
    );
    const made = await site.api('POST', '/v1/nodes', {
      node_id: site.node,
      name: site.node,
      kind: 'ws',
      role: 'broker',
      version: 'test',
    });
    site.#token = String(made.data.token);
    return site;
  }

  get at() {
    return { workspace: this.workspace, node: this.node };
  }

  /** The key of the workspace. */
  get key(): string {
    return this.#key;
  }

  get token(): string {
    return this.#token;
  }

  async api(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
    const { status, text } = await requested(new URL(path, this.stage.url), {
      method,
      headers: { authorization: `Bearer ${this.#key}`, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status, ...(JSON.parse(text) as { ok: boolean; data: Row & { recipients: Recipient[] }; error: Row }) };
  }

  async open(url: string = this.stage.url): Promise<Peer> {
    const peer = await Peer.open(url, this.#token);
    this.#peers.push(peer);
    return peer;
  }

  /** A peer behind a proxy. Held both ways, its connection is half-open to both ends. */
  async openThroughProxy(): Promise<{ readonly peer: Peer; readonly proxy: TcpProxy }> {
    const proxy = await TcpProxy.to(this.stage.url);
    this.#proxies.push(proxy);
    return { proxy, peer: await this.open(proxy.urlOf('http')) };
  }

  /** Whoever is bound as this provider is stale from now on, for whoever wants to write to it. */
  async silence(provider = 'broker'): Promise<void> {
    const { tables } = await this.stage.objectDump(this.at);
    const bound = (tables.bound ?? []).filter((row) => row.provider === provider);
    if (bound.length === 0) throw new Error(`nobody is bound as ${provider}`);
    for (const { connection } of bound) await this.stage.silence(this.at, String(connection));
  }

  registerFrame({ provider = 'broker', instance = 'i1', capabilities }: RegisterOptions = {}) {
    return {
      type: 'node.register',
      name: this.node,
      node_id: this.node,
      provider: { name: provider, instance_id: instance },
      capabilities: capabilities ?? [{ name: CURSOR }, { name: GUIDANCE }],
      max_agents: 10,
      tags: [],
      version: '1.0.0',
    };
  }

  /** What a peer of before sends: no provider, no cursors. */
  oldRegisterFrame() {
    const { provider: _, ...frame } = this.registerFrame({ capabilities: [{ name: 'spawn:old' }] });
    return frame;
  }

  /** A peer that is bound and beats its heart. */
  async bound(options: RegisterOptions = {}): Promise<Peer> {
    const peer = await this.open();
    const reply = await peer.ask(this.registerFrame(options));
    if (reply.type !== 'reply') throw new Error(`not registered: ${JSON.stringify(reply)}`);
    peer.beat();
    return peer;
  }

  /** Registers an agent, which joins `general`. */
  async agent(peer: Peer, name: string): Promise<string> {
    const reply = await peer.ask({ type: 'agent.register', name });
    if (reply.type !== 'reply') throw new Error(`agent ${name} not registered: ${JSON.stringify(reply)}`);
    return String((reply.data as Row).agent_id);
  }

  inventory(peer: Peer, agents: readonly { readonly id: string; readonly name: string }[]): Promise<Heard> {
    return peer.ask({ type: 'inventory.sync', agents: agents.map(({ id, name }) => ({ agent_id: id, name })) });
  }

  async post(text: string, channel = 'general'): Promise<readonly Recipient[]> {
    const posted = await this.api('POST', `/v1/channels/${channel}/messages`, { text });
    if (!posted.ok) throw new Error(`not posted: ${JSON.stringify(posted)}`);
    return posted.data.recipients;
  }

  async rows(text: string, ...params: Statement['params']): Promise<readonly Row[]> {
    const [rows] = await this.stage.sql(sql(text, ...params));
    return rows ?? [];
  }

  async providerRow(name: string): Promise<Row | undefined> {
    const [row] = await this.rows('SELECT * FROM node_providers WHERE node_id = ? AND name = ?', this.node, name);
    return row;
  }

  /** Status of each row of an agent, in the order of its sequences. */
  async statuses(agent: string): Promise<readonly string[]> {
    const rows = await this.rows('SELECT status FROM deliveries WHERE agent_id = ? ORDER BY seq', agent);
    return rows.map((row) => String(row.status));
  }

  /** The rows of an agent come to stand so: a frame is out before the page after it marks its row. */
  async marked(agent: string, statuses: readonly string[]): Promise<void> {
    await until(
      async () => (await this.statuses(agent)).join() === statuses.join(),
      async () => ({ wanted: statuses, are: await this.statuses(agent) }),
    );
  }

  async cursor(agent: string): Promise<number> {
    const [row] = await this.rows('SELECT delivery_ack_seq FROM agents WHERE id = ?', agent);
    return Number(row?.delivery_ack_seq);
  }

  /** Every row of the workspace and of the node's own tables, ordered by key, and the alarm: what a refusal must not change. */
  async dump(): Promise<string> {
    const tables = ['nodes', 'node_providers', 'agents', 'agent_node_bindings', 'channels', 'messages', 'deliveries']
      .concat(['actions', 'action_invocations', 'workspace_events'])
      .map((table) =>
        sql(
          `SELECT '${table}' AS "table", t.* FROM ${table} t WHERE t.workspace_id = ? ORDER BY 2, 3, 4`,
          this.workspace,
        ),
      );
    const members = sql(
      `SELECT m.* FROM channel_members m JOIN channels c ON c.id = m.channel_id WHERE c.workspace_id = ? ORDER BY 1, 2`,
      this.workspace,
    );
    const database = await this.stage.sql(...tables, members);
    return JSON.stringify({ database, object: await this.stage.objectDump(this.at) }, undefined, 1);
  }

  async leave(): Promise<void> {
    for (const peer of this.#peers) peer.cut();
    for (const proxy of this.#proxies) await proxy.close();
  }
}

export interface Recipient {
  readonly agent: string;
  readonly seq: number;
  readonly state: string;
  readonly reason?: string;
}
