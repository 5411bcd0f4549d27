/** Three nats-servers with one space of three replicas, for a test: each can be cut off from the others and stays reachable. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/nats-core';
import { inboxPrefix } from '../../src/domain/permissions.ts';
import type { Credential } from '../../src/services/credential.ts';
import { operatorKeys, type SpaceKeys, spaceKeys } from '../../src/services/local/auth-store.ts';
import { mint } from '../../src/services/local/mint.ts';
import { findNatsServer } from '../../src/services/local/nats-binary.ts';
import { connectOnce } from '../../src/services/nats/connect.ts';
import { GatedBroker } from '../../src/services/nats/gated-broker.ts';
import { provision } from '../../src/services/nats/provision.ts';
import { Brokers } from '../../src/torture/brokers.ts';
import { until } from './until.ts';

const SPACE = 'main';
export const SERVERS = ['broker.1', 'broker.2', 'broker.3'] as const;
export type ServerName = (typeof SERVERS)[number];

export interface Cluster {
  readonly space: string;
  readonly keys: SpaceKeys;
  /** The broker as a delivery daemon has it that is connected to this server, and to no other. */
  delivery(server: ServerName, of: { timeoutMs: number }): Promise<GatedBroker>;
  url(server: ServerName): string;
  /** The server that leads a stream, as the asked one knows it. */
  leaderOf(connection: NatsConnection, stream: string): Promise<ServerName>;
  /** Cuts a server off from the other two, or lets it back. */
  partition(server: ServerName, cut: boolean): void;
  dispose(): Promise<void>;
}

export async function startCluster(): Promise<Cluster> {
  const root = mkdtempSync(join(tmpdir(), 'plane3-cluster-'));
  const [binary, operator] = await Promise.all([findNatsServer(), operatorKeys({ root, create: true })]);
  const space = await spaceKeys({ root, space: SPACE, create: true });
  const keys = { operator, space };
  const provisioner = await mint(keys, {
    profile: { profile: 'provisioner', space: SPACE },
    name: 'provisioner',
    lifeS: null,
  });
  const connections: NatsConnection[] = [];
  const dial = async (url: string, credential: Credential): Promise<NatsConnection> => {
    const connection = await connectOnce({ url, name: 'test', credential });
    connections.push(connection);
    return connection;
  };
  const brokers = await Brokers.start({
    folder: root,
    servers: SERVERS.length,
    durability: 'relaxed',
    binary,
    auth: { operator, spaces: [space] },
    dial: (url) => connectOnce({ url, name: 'test', credential: provisioner }),
  });
  const dispose = async () => {
    await Promise.all(connections.map((connection) => connection.close().catch(() => {})));
    await brokers.dispose();
    rmSync(root, { recursive: true, force: true });
  };
  try {
    const connection = await dial(brokers.url(), provisioner);
    await until(
      async () => {
        const outcome = await provision({ connection, space: SPACE, replicas: SERVERS.length }).catch(() => undefined);
        return outcome?.kind === 'ready';
      },
      () => 'the cluster has no leader',
      60_000,
    );
  } catch (error) {
    await dispose();
    throw error;
  }
  return {
    space: SPACE,
    keys: space,
    delivery: async (server, { timeoutMs }) => {
      const profile = { profile: 'delivery', space: SPACE } as const;
      const credential = await mint(keys, { profile, name: 'local.delivery' });
      const connection = await dial(brokers.find(server).url, credential);
      return new GatedBroker({
        connection,
        gate: () => undefined,
        timeoutMs,
        inboxPrefix: inboxPrefix(credential.publicKey),
      });
    },
    url: (server) => brokers.find(server).url,
    leaderOf: async (connection, stream) => {
      const reply = await connection.request(`$JS.API.STREAM.INFO.${stream}`, '', { timeout: 5_000 });
      const leader = reply.json<{ cluster: { leader: string } }>().cluster.leader.replace('-', '.');
      const server = SERVERS.find((name) => name === leader);
      if (server === undefined) throw new Error(`"${leader}" leads ${stream}`);
      return server;
    },
    partition: (server, cut) => brokers.partition(server, cut),
    dispose,
  };
}
