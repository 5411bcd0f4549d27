/**
 * The worker under test: the real NodeDO and edge, with a door for the tests. Faults are planted here, at build time of
 * the test's worker, by `FAULT`; production code has no switch for any of it.
 */

import { describeError } from '../../../src/domain/errors/catalogue.ts';
import type { Policy } from '../../../src/provider/registry/policy.ts';
import type { StepName, Steps } from '../../../src/provider/registry/ports.ts';
import type { Statement, Storage } from '../../../src/provider/storage/port.ts';
import { d1Storage } from '../../../src/worker/d1-storage.ts';
import { serveEdge } from '../../../src/worker/edge.ts';
import { type Env, objectName } from '../../../src/worker/env.ts';
import { NodeDO as RealNodeDO } from '../../../src/worker/node-do.ts';
import { type FaultName, faulty, silent } from '../support/faults.ts';
import { Parking } from '../support/parking.ts';
import { TroubledStorage } from '../support/troubled-storage.ts';

interface TestEnv extends Env {
  readonly FAULT?: string;
}

/** Kept outside of the object: the real constructor asks for them before a field of ours exists. */
const parkings = new WeakMap<object, Parking>();
const troubles = new WeakMap<object, TroubledStorage>();

export class NodeDO extends RealNodeDO {
  protected override steps(): Steps {
    const parking = new Parking();
    parkings.set(this, parking);
    return parking;
  }

  protected override storage(database: Storage): Storage {
    const storage = new TroubledStorage(database);
    troubles.set(this, storage);
    return storage;
  }

  protected override decisions(): Policy {
    return faulty((this.env as TestEnv).FAULT as FaultName | undefined);
  }

  override async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const value = searchParams.get('value') ?? '';
    switch (pathname) {
      case '/test/park':
        parkings.get(this)?.park(value as StepName);
        return Response.json(null);
      case '/test/parked':
        return Response.json(parkings.get(this)?.parked ?? null);
      case '/test/release':
        parkings.get(this)?.release();
        return Response.json(null);
      case '/test/silence':
        silent.add(value);
        return Response.json(null);
      case '/test/trouble':
        troubles.get(this)?.plan(JSON.parse(value) ?? undefined);
        return Response.json(null);
      case '/test/abort':
        this.ctx.abort('reset by a test');
        return Response.json(null);
      case '/test/alarm':
        return Response.json(await this.ctx.storage.getAlarm());
      case '/test/dump':
        return Response.json(await this.#dump());
      default:
        return super.fetch(request);
    }
  }

  async #dump(): Promise<object> {
    const tables = this.ctx.storage.sql
      .exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY name")
      .toArray();
    return {
      alarm: await this.ctx.storage.getAlarm(),
      tables: Object.fromEntries(
        tables.map(({ name }) => [name, this.ctx.storage.sql.exec(`SELECT * FROM ${name} ORDER BY 1, 2`).toArray()]),
      ),
    };
  }
}

/** A bare echo in the same runtime, for the benchmark's ratio. */
export class EchoDO extends RealNodeDO {
  override async fetch(): Promise<Response> {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }

  override async webSocketMessage(socket: WebSocket, data: string | ArrayBuffer): Promise<void> {
    socket.send(data);
  }
}

interface Door extends TestEnv {
  readonly ECHO: DurableObjectNamespace;
}

export default {
  async fetch(request, env): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    if (pathname === '/test/echo') return env.ECHO.getByName('echo').fetch(request);
    if (pathname === '/test/sql') {
      const { statements, alone } = (await request.json()) as { statements: Statement[]; alone?: boolean };
      const storage = d1Storage(env.DB);
      const [first] = statements;
      const work = alone === true && first !== undefined ? storage.query(first) : storage.batch(statements);
      return work.then(
        (rows) => Response.json({ rows }),
        (error: unknown) => Response.json({ error: describeError(error) }),
      );
    }
    const door = /^\/test\/([^/]+)\/([^/]+)\/(.+)$/.exec(pathname);
    if (door === null) return serveEdge(request, env);
    const [, workspace = '', node = '', verb = ''] = door;
    const path = verb === 'send' ? '/send' : `/test/${verb}`;
    const body = request.method === 'POST' ? { body: await request.text() } : {};
    const object = env.NODES.getByName(objectName(decodeURIComponent(workspace), decodeURIComponent(node)));
    return object.fetch(`https://node${path}${search}`, { method: request.method, ...body });
  },
} satisfies ExportedHandler<Door>;
