/** What a run stands on: a throw-away workspace with keys, a broker of one or several servers, a provisioned space. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { encodeUser } from '@nats-io/jwt';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { headKey, headSchema } from '../domain/auth-rows.ts';
import { memberConsumer } from '../domain/layout.ts';
import { readJson } from '../domain/message.ts';
import { permissionsOf } from '../domain/permissions.ts';
import type { Profile } from '../domain/profiles.ts';
import { bucketStream, buckets, streams } from '../domain/subjects.ts';
import { type AddedAgent, addAgent } from '../manager/lifecycle.ts';
import { type Credential, credsText, newPair, readCreds } from '../services/credential.ts';
import { type OperatorKeys, operatorKeys, type SpaceKeys, spaceKeys } from '../services/local/auth-store.ts';
import type { Durability } from '../services/local/broker-config.ts';
import { credsPath, keepCreds, mint } from '../services/local/mint.ts';
import { findNatsServer } from '../services/local/nats-binary.ts';
import { connectOptions } from '../services/nats/connect.ts';
import { provision } from '../services/nats/provision.ts';
import { readGuardedRow, writeRow } from '../services/nats/rows.ts';
import { Brokers } from './brokers.ts';
import type { StepOf } from './schedule.ts';

export const SPACE = 'torture';
export const MANAGER = 'local.manager';
/** What the broker says again of everything it stored goes here. */
export const AUDIT = 'audit';
/** What a run stands on may take so long to be made, on a machine that does a lot besides. */
const PATIENCE_MS = 60_000;
/** A request that was sent while servers elected a leader is not answered at all: it is sent again. */
const ANSWER_MS = 10_000;

export interface GroundOptions {
  readonly folder: string;
  readonly servers: number;
  readonly durability: Durability;
  readonly leaseTtlMs: number;
  /** How long a member may take to confirm before the broker hands a copy out again. */
  readonly ackWaitMs: number;
  readonly diskMiB?: number;
  /** Daemons and agents may go to another server than the one they were sent to. */
  readonly clientsMove?: boolean;
}

export class Ground {
  readonly root: string;
  readonly replicas: number;
  readonly version: string;
  readonly brokers: Brokers;
  readonly #keys: { operator: OperatorKeys; space: SpaceKeys };
  readonly #ackWaitMs: number;
  readonly #open = new Map<string, Promise<NatsConnection>>();
  /** Public key of the manager's connection: its replies come under it. */
  managerKey = '';

  private constructor(of: {
    root: string;
    brokers: Brokers;
    version: string;
    keys: { operator: OperatorKeys; space: SpaceKeys };
    options: GroundOptions;
  }) {
    this.root = of.root;
    this.brokers = of.brokers;
    this.version = of.version;
    this.#keys = of.keys;
    this.replicas = of.options.servers === 1 ? 1 : 3;
    this.#ackWaitMs = of.options.ackWaitMs;
  }

  static async make(options: GroundOptions): Promise<Ground> {
    const { folder, servers, durability, leaseTtlMs, diskMiB, clientsMove } = options;
    const root = join(folder, 'root');
    mkdirSync(root, { recursive: true, mode: 0o700 });
    const [binary, operator] = await Promise.all([findNatsServer(), operatorKeys({ root, create: true })]);
    const space = await spaceKeys({ root, space: SPACE, create: true });
    const keys = { operator, space };
    const provisioner = await mint(keys, {
      profile: { profile: 'provisioner', space: SPACE },
      name: 'provisioner',
      lifeS: null,
    });
    const brokers = await Brokers.start({
      folder,
      servers,
      durability,
      binary,
      auth: { operator, spaces: [space] },
      dial: (url) => dial(url, provisioner, false),
      ...(diskMiB === undefined ? {} : { diskMiB }),
      ...(clientsMove === undefined ? {} : { clientsMove }),
    });
    const ground = new Ground({ root, brokers, version: binary.version, keys, options });
    try {
      const connection = await dial(brokers.url(), provisioner, true);
      await provisioned(connection, { leaseTtlMs, replicas: ground.replicas });
      await connection.close();
      await ground.#audit();
      for (const name of ['observer', 'evictor'] as const) {
        const profile: Profile =
          name === 'observer' ? { profile: name, account: space.account.publicKey } : { profile: name };
        keepCreds(credsPath(root, SPACE, name), await mint(keys, { profile, name: `local.${name}` }));
      }
    } catch (error) {
      await ground.dispose();
      throw error;
    }
    return ground;
  }

  /** Has the broker say everything again that it stores of the daemon's work. */
  async #audit(): Promise<void> {
    const manager = await jetstreamManager(await this.connect('everything'), { checkAPI: false, timeout: ANSWER_MS });
    for (const stream of audited(SPACE)) {
      await untilTaken(`the audit of ${stream}`, async () => {
        const { config } = await manager.streams.info(stream);
        await manager.streams.update(stream, { ...config, republish: { src: '>', dest: `${AUDIT}.${stream}.>` } });
      });
    }
  }

  /** A connection of the director's own, straight to the broker; it comes back by itself. */
  connect(who: 'manager' | 'everything'): Promise<NatsConnection> {
    const known = this.#open.get(who) ?? this.#dial(who);
    this.#open.set(who, known);
    return known;
  }
  async #dial(who: 'manager' | 'everything'): Promise<NatsConnection> {
    const profile: Profile = { profile: 'manager', space: SPACE, principal: MANAGER };
    const credential =
      who === 'manager' ? await mint(this.#keys, { profile, name: MANAGER }) : await this.#everything();
    if (who === 'manager') this.managerKey = credential.publicKey;
    return dial(
      this.brokers.servers.map(({ url }) => url),
      credential,
      true,
    );
  }
  async #everything(): Promise<Credential> {
    const pair = newPair('user');
    const rights = { pub: { allow: ['>'], deny: [] }, sub: { allow: ['>'], deny: [] } };
    const { account, signing } = this.#keys.space;
    const jwt = await encodeUser('recorder', pair, account, rights, { signer: signing });
    return readCreds(credsText({ jwt, pair }), '(torture)');
  }

  /** The delivery credential, in a file of the daemon's own: whole, or without a right, or with a short life. */
  async deliveryCreds(of: { daemon: string; without?: StepOf<'deny'>['right']; lifeS?: number }): Promise<string> {
    const path = join(this.root, `${of.daemon}.creds`);
    const { account, signing } = this.#keys.space;
    const pair = newPair('user');
    const rights = permissionsOf({ profile: 'delivery', space: SPACE }, pair.publicKey);
    const publish = rights.publish.filter((line) => of.without === undefined || !DENIED[of.without].includes(line));
    const jwt = await encodeUser(
      'local.delivery',
      pair,
      account,
      { pub: { allow: publish, deny: [] }, sub: { allow: [...rights.subscribe], deny: [] } },
      { signer: signing, exp: Math.floor(Date.now() / 1000) + (of.lifeS ?? 86_400) },
    );
    keepCreds(path, readCreds(credsText({ jwt, pair }), path));
    return path;
  }

  /** A lifecycle, its credential in a file, its durable with a short wait. */
  async addAgent(
    name: string,
    grants: { read: readonly string[]; post: readonly string[] },
  ): Promise<AddedAgent & { creds: string }> {
    const connection = await this.connect('manager');
    const by = { managerInstance: 'torture', processEpoch: 1 };
    const added = await untilTaken(`agent ${name}`, async () => {
      try {
        return await addAgent({ connection, keys: this.#keys, name, ...grants, by });
      } catch (error) {
        await freeName(connection, `local.${name}`);
        throw error;
      }
    });
    const creds = credsPath(this.root, SPACE, `agents/${added.principal}`);
    keepCreds(creds, added.credential);
    const manager = await jetstreamManager(await this.connect('everything'), { checkAPI: false, timeout: PATIENCE_MS });
    const { stream, config } = memberConsumer(SPACE, added.member);
    await manager.consumers.update(stream, config.durable_name, { ack_wait: this.#ackWaitMs * 1_000_000 });
    return { ...added, creds };
  }

  async dispose(): Promise<void> {
    for (const open of this.#open.values()) await open.then((connection) => connection.close()).catch(() => {});
    await this.brokers.dispose();
  }
}

const { inbox, dlv } = streams(SPACE);
const DENIED: Readonly<Record<StepOf<'deny'>['right'], readonly string[]>> = {
  entries: [`cotal.${SPACE}.dinbox.>`],
  copies: [`cotal.${SPACE}.dlv.>`],
  removal: [inbox, dlv].flatMap((stream) => [`$JS.API.STREAM.PURGE.${stream}`, `$JS.API.STREAM.MSG.DELETE.${stream}`]),
  memberships: [`$KV.${buckets(SPACE).members}.>`],
};

/** Streams whose every message is written into the broker's history. */
export const audited = (space: string): string[] => [
  streams(space).inbox,
  streams(space).dlv,
  bucketStream(buckets(space).members),
  bucketStream(buckets(space).acl),
  bucketStream(buckets(space).delivery),
];

const dial = (servers: string | string[], credential: Credential, reconnect: boolean): Promise<NatsConnection> =>
  connect({
    ...connectOptions({ url: '', name: 'torture', credential }),
    servers,
    reconnect,
    ...(reconnect ? { maxReconnectAttempts: -1, reconnectTimeWait: 100, reconnectJitter: 0, pingInterval: 2_000 } : {}),
  });

/** What an addition that was not answered left behind is nobody's: its name may be taken again. */
async function freeName(connection: NatsConnection, principal: string): Promise<void> {
  const row = { connection, bucket: buckets(SPACE).auth, key: headKey(principal) };
  const head = await readGuardedRow(row);
  if (head.kind !== 'found') return;
  await writeRow({
    ...row,
    value: { ...headSchema.parse(readJson(head.data)), state: 'retired' },
    expect: head.revision,
  });
}

const provisioned = (connection: NatsConnection, of: { leaseTtlMs: number; replicas: number }): Promise<void> =>
  untilTaken('the space', async () => {
    const outcome = await provision({ connection, space: SPACE, ...of });
    if (outcome.kind !== 'ready') throw new Error(JSON.stringify(outcome));
  });

/** A cluster needs a moment until it has a leader, and until each of its servers knows where that is. */
export async function untilTaken<T>(what: string, work: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + PATIENCE_MS; ; await pause(500)) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > deadline) throw new Error(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
