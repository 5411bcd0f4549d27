/**
 * A mesh for a test: a real nats-server on a free loopback port, with JWT authentication and a provisioned space, in a
 * folder of its own. It starts in about 0.2 s and is gone, folder included, after `dispose`.
 */
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { describeDifference } from '../../src/domain/differences.ts';
import type { LayoutOptions } from '../../src/domain/layout.ts';
import type { Credential } from '../../src/services/credential.ts';
import { type OperatorKeys, operatorKeys, spaceKeys } from '../../src/services/local/auth-store.ts';
import { type BrokerOutcome, brokerLog, startBroker, stopBroker } from '../../src/services/local/broker.ts';
import type { Durability } from '../../src/services/local/broker-config.ts';
import { credsPath, keepCreds } from '../../src/services/local/mint.ts';
import { findNatsServer, type NatsServer } from '../../src/services/local/nats-binary.ts';
import { connectOptions } from '../../src/services/nats/connect.ts';
import { provision } from '../../src/services/nats/provision.ts';
import { selfSigned, type TestCertificate } from './certificate.ts';
import { type MeshSpace, spaceOf } from './mesh-space.ts';
import { until } from './until.ts';

export interface MeshOptions extends Partial<LayoutOptions> {
  /** `relaxed` unless told: most tests do not look at what is on disk. */
  readonly durability?: Durability;
  /** TLS with a certificate of the test's own; plaintext connections are refused. */
  readonly tls?: boolean;
  /** Writes `observer.creds` and `evictor.creds` into the root, as `cotal up` does; true unless told. */
  readonly sysAccountCreds?: boolean;
  /** No accounts and no credentials: everyone may do everything. */
  readonly open?: boolean;
  /** False leaves the store empty. */
  readonly provisioned?: boolean;
  /** Further spaces on the same broker, each with an account of its own, provisioned alike. */
  readonly besides?: readonly string[];
}

export interface Mesh extends MeshSpace {
  readonly binary: NatsServer;
  readonly operator: OperatorKeys;
  readonly tls: TestCertificate | undefined;
  /** Those of `besides`, in their order. */
  readonly others: readonly MeshSpace[];
  /** Stops the broker and starts it again on the same port and store. */
  restartBroker(): Promise<void>;
  stopBroker(): Promise<void>;
  /** SIGKILL. `startBroker` starts it again. */
  killBroker(): Promise<void>;
  startBroker(): Promise<void>;
  /** SIGSTOP: the sockets stay open and nothing is answered. */
  freeze(): void;
  thaw(): void;
  dispose(): Promise<void>;
}

export async function startMesh(options: MeshOptions = {}): Promise<Mesh> {
  const { space = 'main', durability = 'relaxed', open = false } = options;
  const root = mkdtempSync(join(tmpdir(), 'plane3-mesh-'));
  const tls = options.tls === true ? selfSigned(join(root, 'tls')) : undefined;
  const [binary, operator] = await Promise.all([findNatsServer(), operatorKeys({ root, create: true })]);
  const names = [space, ...(options.besides ?? [])];
  const connections = new Set<NatsConnection>();

  const dial = (credential: Credential | undefined, to: string, reconnect: boolean): Promise<NatsConnection> =>
    connect({
      ...connectOptions({
        url: to,
        name: 'test',
        ...(open || credential === undefined ? {} : { credential }),
        ...(tls === undefined ? {} : { tls: { caFile: tls.certFile } }),
      }),
      reconnect,
      ...(reconnect ? { maxReconnectAttempts: -1, reconnectTimeWait: 50, reconnectJitter: 0 } : {}),
    });

  const keysOf = (name: string) => spaceKeys({ root, space: name, create: false });
  const connectAs = async (credential: Credential): Promise<NatsConnection> => {
    const connection = await dial(credential, url, true);
    connections.add(connection);
    return connection;
  };
  const spaces: MeshSpace[] = [];
  for (const name of names) {
    const keys = await spaceKeys({ root, space: name, create: true });
    spaces.push(spaceOf({ root, space: name, keys, operator, url: () => url, pid: () => live().pid ?? 0, connectAs }));
  }
  const [first, ...others] = spaces;
  if (first === undefined) throw new Error('a mesh has a space');
  const provisioners = await Promise.all(spaces.map((each) => each.credsFor('provisioner', { lifeS: null })));
  let child: ChildProcess | undefined;
  let url = '';
  const start = async (port: number): Promise<void> => {
    const outcome = await startBroker({
      root,
      port,
      durability,
      binary,
      log: brokerLog(root, space),
      ...(open ? {} : { auth: { operator, spaces: await Promise.all(names.map(keysOf)) } }),
      ...(tls === undefined ? {} : { tls }),
      dial: (to) => dial(provisioners[0], to, false),
    });
    if (outcome.kind !== 'started') throw new Error(`the broker of the test: ${JSON.stringify(outcome)}`);
    child = outcome.child;
    url = outcome.url;
    running.add(child);
  };
  const live = (): Extract<BrokerOutcome, { kind: 'started' }>['child'] => {
    if (child === undefined) throw new Error('the broker is not running');
    return child;
  };
  const end = async (signal?: NodeJS.Signals): Promise<void> => {
    const ending = child;
    if (ending === undefined) return;
    if (signal !== undefined) ending.kill(signal);
    await stopBroker(ending);
    running.delete(ending);
    child = undefined;
  };
  /** The broker on the same port and store, with the test's own connections back on it: what is asked next arrives. */
  const again = async (): Promise<void> => {
    await start(Number(new URL(url).port));
    await Promise.all([...connections].map(isBack));
  };

  await start(-1);
  for (const [i, each] of open ? [] : spaces.entries()) {
    if (options.provisioned !== false) {
      const connection = await dial(provisioners[i], url, false);
      const outcome = await provision({ ...options, connection, space: each.space });
      await connection.close();
      if (outcome.kind === 'differs') throw new Error(outcome.differences.map(describeDifference).join('\n'));
      if (outcome.kind === 'failed') throw new Error(JSON.stringify(outcome));
    }
    const kept =
      options.sysAccountCreds === false ? ['delivery' as const] : (['delivery', 'observer', 'evictor'] as const);
    for (const name of kept) keepCreds(credsPath(root, each.space, name), await each.credsFor(name));
  }

  return {
    ...first,
    get url() {
      return url;
    },
    others,
    binary,
    operator,
    tls,
    restartBroker: async () => {
      await end();
      await again();
    },
    stopBroker: () => end(),
    killBroker: () => end('SIGKILL'),
    startBroker: again,
    freeze: () => void live().kill('SIGSTOP'),
    thaw: () => void live().kill('SIGCONT'),
    dispose: async () => {
      await Promise.all([...connections].map((connection) => connection.close().catch(() => {})));
      child?.kill('SIGCONT');
      await end('SIGKILL');
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Resolves when the connection has made a round trip, or is closed for good. */
async function isBack(connection: NatsConnection): Promise<void> {
  await until(
    async () => {
      if (connection.isClosed()) return true;
      const answered = connection.flush().then(
        () => true,
        () => false,
      );
      return Promise.race([answered, connection.closed().then(() => true)]);
    },
    () => 'a connection of the test did not come back to the broker',
  );
}

/** Brokers of this process: none may outlive it, whatever the test did. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
