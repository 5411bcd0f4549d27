/**
 * NodeDO: the object of one node. Its sockets hibernate, their attachments are the snapshots of their machines, and its
 * own SQLite holds what is bound, owed and ready (rules 8 to 10). The rules themselves are the registry's, the same as
 * in-process. Its paths are reached by this worker only, and it refuses what names another workspace or node.
 */
import { DurableObject } from 'cloudflare:workers';
import { z } from 'zod';
import { parseLimits } from '../domain/provider/limits.ts';
import { name } from '../domain/provider/names.ts';
import type { SendableFrame } from '../domain/provider/server-frames.ts';
import { type Engine, randomId } from '../provider/engine/engine.ts';
import { type Policy, policy } from '../provider/registry/policy.ts';
import { type NodeSocket, noSteps, type ObjectStore, type Steps } from '../provider/registry/ports.ts';
import { NodeRecords } from '../provider/registry/records.ts';
import { NodeRegistry } from '../provider/registry/registry.ts';
import type { Storage } from '../provider/storage/port.ts';
import { d1Storage } from './d1-storage.ts';
import { objectSocket } from './do-socket.ts';
import { type Env, NODE_HEADER, objectName, WORKSPACE_HEADER } from './env.ts';
import { workerJournal } from './journal.ts';

const deliver = z.strictObject({
  v: z.literal(1),
  type: z.literal('deliver'),
  delivery_id: name,
  agent_id: name,
  agent: name,
  msg_id: name,
  seq: z.number().int().min(1),
  mode: z.enum(['wait', 'steer']),
  payload: z.strictObject({ type: name, data: z.unknown() }),
});
const invoke = z.strictObject({
  v: z.literal(1),
  type: z.literal('action.invoke'),
  invocation_id: name,
  action: name,
  input: z.unknown(),
  agent_id: name.optional(),
  agent_name: name.optional(),
});
const frame = z.union([deliver, invoke]);
const place = { workspace: name, node: name, provider: name };
const sendBody = z.union([
  z.strictObject({ ...place, frame }),
  z.strictObject({ ...place, frames: z.array(frame).max(10_000) }),
]);

export class NodeDO extends DurableObject<Env> {
  readonly #sockets = new Map<WebSocket, NodeSocket>();
  #registry: NodeRegistry | undefined;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#store.exec('CREATE TABLE IF NOT EXISTS identity (workspace TEXT NOT NULL, node TEXT NOT NULL)');
    const [row] = this.#store.exec('SELECT workspace, node FROM identity');
    if (row !== undefined) this.#open(String(row.workspace), String(row.node));
  }

  /** For tests: what stands between the engine and D1. */
  protected storage(database: Storage): Storage {
    return database;
  }

  /** For tests: the decisions that faults are planted in, and the named points. */
  protected decisions(): Policy {
    return policy;
  }

  protected steps(): Steps {
    return noSteps;
  }

  override async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/connect') return this.#connect(request);
    if (pathname === '/send' && request.method === 'POST') return this.#send(request);
    return Response.json({ error: 'not_found' }, { status: 404 });
  }

  override webSocketMessage(socket: WebSocket, data: string | ArrayBuffer): Promise<void> {
    return this.#registry?.received(this.#socket(socket), data) ?? Promise.resolve();
  }

  override webSocketClose(socket: WebSocket): Promise<void> {
    return this.#gone(socket);
  }

  override webSocketError(socket: WebSocket): Promise<void> {
    return this.#gone(socket);
  }

  override alarm(): Promise<void> {
    return this.#registry?.alarm() ?? Promise.resolve();
  }

  async #gone(socket: WebSocket): Promise<void> {
    await this.#registry?.closed(this.#socket(socket));
    this.#sockets.delete(socket);
  }

  async #connect(request: Request): Promise<Response> {
    const workspace = request.headers.get(WORKSPACE_HEADER);
    const node = request.headers.get(NODE_HEADER);
    if (workspace === null || node === null || !this.#isOurs(workspace, node))
      return Response.json({ error: 'another node' }, { status: 403 });
    const registry = this.#registry ?? this.#open(workspace, node, true);
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    registry.opened(this.#socket(server));
    return new Response(null, { status: 101, webSocket: client });
  }

  async #send(request: Request): Promise<Response> {
    const parsed = sendBody.safeParse(await request.json().catch(() => undefined));
    if (!parsed.success)
      return Response.json({ error: parsed.error.issues[0]?.message ?? 'malformed' }, { status: 400 });
    const { workspace, node, provider } = parsed.data;
    if (!this.#isOurs(workspace, node)) return Response.json({ error: 'another node' }, { status: 403 });
    const one = 'frame' in parsed.data;
    const frames = ('frame' in parsed.data ? [parsed.data.frame] : parsed.data.frames) as SendableFrame[];
    const results = (await this.#registry?.send(provider, frames)) ?? frames.map(() => NO_PROVIDER);
    return Response.json(one ? results[0] : { results });
  }

  #isOurs(workspace: string, node: string): boolean {
    return this.env.NODES.idFromName(objectName(workspace, node)).equals(this.ctx.id);
  }

  #socket(socket: WebSocket): NodeSocket {
    const known = this.#sockets.get(socket);
    if (known !== undefined) return known;
    const made = objectSocket(socket);
    this.#sockets.set(socket, made);
    return made;
  }

  get #store(): ObjectStore {
    const { sql } = this.ctx.storage;
    return {
      exec: (text, ...params) => sql.exec(text, ...params).toArray() as Record<string, string | number | null>[],
    };
  }

  /** The identity is written down with the first socket: an alarm and a reset tell no name. */
  #open(workspace: string, node: string, isNew = false): NodeRegistry {
    if (isNew) this.#store.exec('INSERT INTO identity VALUES (?, ?)', workspace, node);
    const limits = parseLimits({ ...this.env });
    const engine: Engine = {
      storage: this.storage(d1Storage(this.env.DB)),
      limits,
      now: () => Date.now(),
      newId: randomId,
    };
    this.#registry = new NodeRegistry({
      host: {
        workspace,
        node,
        now: engine.now,
        newId: randomId,
        sockets: () => this.ctx.getWebSockets().map((socket) => this.#socket(socket)),
        setAlarm: (at) => {
          void (at === null ? this.ctx.storage.deleteAlarm() : this.ctx.storage.setAlarm(at));
        },
        background: (work) => this.ctx.waitUntil(work),
      },
      engine,
      records: new NodeRecords(this.#store, workspace, node),
      limits,
      journal: workerJournal,
      steps: this.steps(),
      policy: this.decisions(),
    });
    return this.#registry;
  }
}

const NO_PROVIDER = { delivered: false, reason: 'no_provider' } as const;
