/** Renders the config of a mesh's nats-server. JSON, which the server reads as its own format. */
import { join } from 'node:path';
import { cotalFolder, type OperatorKeys, type SpaceKeys } from './auth-store.ts';

/** `strict`: what is acknowledged is on disk. `relaxed`: the server syncs every two minutes. */
export type Durability = 'strict' | 'relaxed';

export interface BrokerTls {
  readonly certFile: string;
  readonly keyFile: string;
  /** Authority that clients trust; the server itself asks no certificate of them. */
  readonly caFile?: string;
}

export interface BrokerCluster {
  /** Name of this server, unlike that of every other one in the cluster. */
  readonly serverName: string;
  readonly clusterName: string;
  /** Where it listens for the others. */
  readonly port: number;
  /** Where the others listen: `nats://host:port`. */
  readonly routes: readonly string[];
  /** Address that the others are told to reach it at, where that is not the one it listens on. */
  readonly advertise?: string;
  /** Clients are told of the other servers, and go there when this one goes; else they stay where they were sent. */
  readonly clientsMove?: boolean;
}

export interface BrokerSettings {
  readonly root: string;
  readonly host?: string;
  /** −1 takes a free one; the ports file tells which. */
  readonly port: number;
  readonly durability: Durability;
  readonly tls?: BrokerTls;
  /** One of several servers that keep one store together; absent: it is alone. */
  readonly cluster?: BrokerCluster;
  /** Keys for JWT mode; absent in open mode, where everyone may do everything and nothing is durable for anyone. */
  readonly auth?: { readonly operator: OperatorKeys; readonly spaces: readonly SpaceKeys[] };
}

export const LOOPBACK = '127.0.0.1';
/** Longest protocol line: a subject with a channel of 4096 characters, or a CONNECT with its JWT. */
export const MAX_CONTROL_LINE = 16 * 1024;

export const brokerFolder = (root: string): string => join(cotalFolder(root), 'broker');
export const configPath = (root: string): string => join(brokerFolder(root), 'nats-server.conf');

export function renderConfig(settings: BrokerSettings): string {
  const folder = brokerFolder(settings.root);
  return `${JSON.stringify(
    {
      server_name: settings.cluster?.serverName ?? 'plane3',
      host: settings.host ?? LOOPBACK,
      port: settings.port,
      ports_file_dir: folder,
      max_control_line: MAX_CONTROL_LINE,
      jetstream: {
        store_dir: join(folder, 'store'),
        ...(settings.durability === 'strict' ? { sync_interval: 'always' } : {}),
      },
      ...(settings.auth === undefined ? {} : authOf(folder, settings.auth)),
      ...(settings.tls === undefined ? {} : { tls: tlsOf(settings.tls) }),
      ...(settings.cluster === undefined ? {} : { cluster: clusterOf(settings.cluster, settings.host ?? LOOPBACK) }),
    },
    undefined,
    2,
  )}\n`;
}

const tlsOf = (tls: BrokerTls) => ({
  cert_file: tls.certFile,
  key_file: tls.keyFile,
  ...(tls.caFile === undefined ? {} : { ca_file: tls.caFile }),
  handshake_first: 'auto',
});

const clusterOf = ({ clusterName, port, routes, advertise, clientsMove = false }: BrokerCluster, host: string) => ({
  name: clusterName,
  host,
  port,
  no_advertise: !clientsMove,
  routes: [...routes],
  ...(advertise === undefined ? {} : { advertise }),
});

/** Preloaded accounts replace older ones in the resolver's folder, so that a revocation made without a broker holds. */
function authOf(folder: string, { operator, spaces }: NonNullable<BrokerSettings['auth']>) {
  return {
    operator: operator.operatorJwt,
    system_account: operator.system.publicKey,
    resolver: { type: 'full', dir: join(folder, 'accounts'), allow_delete: true, interval: '2m' },
    resolver_preload: Object.fromEntries([
      [operator.system.publicKey, operator.systemJwt],
      ...spaces.map((space) => [space.account.publicKey, space.accountJwt]),
    ]),
  };
}
