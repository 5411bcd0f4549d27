/**
 * Frames through gate, queue and engine, in-process, with a socket that costs nothing: of a hundred 80 heartbeats, 18
 * acknowledgements and 2 inventories of ten agents, over a database file that is synced at every write.
 */
import { parseLimits } from '../../src/domain/provider/limits.ts';
import { registerAgent } from '../../src/provider/engine/agents.ts';
import { type Engine, randomId } from '../../src/provider/engine/engine.ts';
import type { NodeSocket, SocketRecord } from '../../src/provider/registry/ports.ts';
import { sqliteObjectStore } from '../../src/provider/server/object-store.ts';
import { Registries } from '../../src/provider/server/registries.ts';
import { type Storage, sql } from '../../src/provider/storage/port.ts';
import { openSqlite, sqliteStorage } from '../../src/provider/storage/sqlite.ts';

const AT = { workspace: 'w', node: 'n', provider: 'broker' };
const AGENTS = 10;
const AT_A_TIME = 200;

export async function engineFrames(file: string, count: number) {
  const database = openSqlite(file);
  const inner = sqliteStorage(database);
  let writes = 0;
  const storage: Storage = {
    query: (statement) => inner.query(statement),
    batch(statements) {
      writes += 1;
      return inner.batch(statements);
    },
  };
  const engine: Engine = { storage, limits: parseLimits({}), now: () => Date.now(), newId: randomId };
  await storage.batch([
    sql("INSERT INTO workspaces (id, name, key_hash, created_at) VALUES ('w', 'w', 'k', 1)"),
    sql("INSERT INTO nodes (id, workspace_id, name, token_hash, created_at) VALUES ('n', 'w', 'n', 't', 1)"),
  ]);
  const journal = { tell: () => undefined };
  const registries = new Registries({ engine, store: sqliteObjectStore(database), journal });
  const { registry, sockets } = registries.of(AT.workspace, AT.node);
  const socket = idleSocket();
  sockets.add(socket);
  registry.opened(socket);
  const give = (frame: object) => registry.received(socket, JSON.stringify({ v: 1, ...frame }));
  await give({
    type: 'node.register',
    name: 'n',
    node_id: 'n',
    provider: { name: 'broker', instance_id: 'i' },
    capabilities: [{ name: 'relay:delivery-cursor-v1' }],
    max_agents: AGENTS,
    tags: [],
    version: '1',
  });
  const members = await Promise.all(
    Array.from({ length: AGENTS }, async (_, index) => {
      const made = await registerAgent(engine, AT, { name: `agent ${index}`, joinGeneral: false });
      if (made.outcome !== 'done') throw new Error(made.code);
      return { agent_id: made.agent, name: made.name };
    }),
  );
  const beat = { type: 'node.heartbeat', active_agents: AGENTS, handlers_live: 1 };
  const sync = { type: 'inventory.sync', agents: members };
  await give(beat);
  const frames = Array.from({ length: count }, (_, index) => {
    if (index % 50 === 0) return sync;
    return index % 100 > 81 ? { type: 'delivery.ack', agent: `agent ${index % AGENTS}`, up_to_seq: 0 } : beat;
  });
  const framesPerSecond = await timed(frames, give);
  writes = 0;
  const beats = frames.map(() => beat);
  const heartbeatsPerSecond = await timed(beats, give);
  const writesPerHeartbeat = writes / beats.length;
  await registries.stop();
  database.close();
  return { framesPerSecond, heartbeatsPerSecond, writesPerHeartbeat };
}

async function timed(frames: readonly object[], give: (frame: object) => Promise<void>): Promise<number> {
  const started = performance.now();
  for (let index = 0; index < frames.length; index += AT_A_TIME)
    await Promise.all(frames.slice(index, index + AT_A_TIME).map(give));
  return frames.length / ((performance.now() - started) / 1_000);
}

function idleSocket(): NodeSocket {
  let kept: SocketRecord | undefined;
  return {
    isOpen: true,
    send: () => true,
    close: () => undefined,
    readRecord: () => kept,
    writeRecord(record) {
      kept = record;
    },
  };
}
