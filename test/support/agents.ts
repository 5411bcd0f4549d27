/** A mesh, a daemon when asked for, and agents: what the tests of the client begin with. */
import { readFileSync } from 'node:fs';
import { encodeUser } from '@nats-io/jwt';
import type { NatsConnection } from '@nats-io/nats-core';
import { afterEach, beforeEach, expect } from 'vitest';
import { type Agent, type AgentOptions, connectAgent, type Surfaced } from '../../src/client/client.ts';
import { CHANNEL_DEFAULTS, type DeliveryClass } from '../../src/domain/rows.ts';
import { buckets } from '../../src/domain/subjects.ts';
import type { AddedAgent } from '../../src/manager/lifecycle.ts';
import { credsText, newPair, readCreds } from '../../src/services/credential.ts';
import { writeRow } from '../../src/services/nats/rows.ts';
import { type InProcess, startInProcess } from './delivery/daemon.ts';
import { type Mesh, type MeshOptions, startMesh } from './mesh.ts';
import { until } from './until.ts';

export interface Ground {
  readonly mesh: Mesh;
  /** Starts the delivery daemon and waits until it serves. */
  serve(env?: Record<string, string>): Promise<InProcess>;
  /** Stops the daemon that serves. */
  unserve(): Promise<void>;
  add(name: string, rights?: { read?: string[]; post?: string[] }): Promise<AddedAgent>;
  /** Connects an agent; it is closed after the test. */
  connect(added: AddedAgent, more?: Partial<AgentOptions>): Promise<Agent>;
  setClass(channel: string, deliveryClass: DeliveryClass): Promise<void>;
}

/** A fresh ground for every test of the file. */
export function groundOfEachTest(options: MeshOptions = {}): Ground {
  let mesh: Mesh | undefined;
  let daemon: InProcess | undefined;
  let agents: Agent[] = [];
  const present = (): Mesh => {
    if (mesh === undefined) throw new Error('the mesh is not there yet');
    return mesh;
  };
  beforeEach(async () => {
    mesh = await startMesh(options);
  });
  afterEach(async () => {
    await Promise.all(agents.map((agent) => agent.close()));
    agents = [];
    await daemon?.stop();
    daemon = undefined;
    await mesh?.dispose();
  });
  return {
    get mesh() {
      return present();
    },
    serve: async (env) => {
      daemon = await startInProcess(present(), env);
      return daemon;
    },
    unserve: async () => {
      await daemon?.stop();
      daemon = undefined;
    },
    add: (name, { read = ['team.>'], post = ['team.>'] } = {}) => present().addAgent({ name, read, post }),
    connect: async (added, more = {}) => {
      const agent = await connectAgent({
        url: present().url,
        creds: credsText(added.credential),
        timeoutMs: 5_000,
        watch: { urgentMs: 50, calmMs: 100 },
        ...more,
      });
      agents.push(agent);
      return agent;
    },
    setClass: async (channel, deliveryClass) => {
      const connection = await present().connect('provisioner');
      const bucket = buckets(present().space).channels;
      const written = await writeRow({ connection, bucket, key: channel, value: { deliveryClass } });
      expect(written.kind).toBe('stored');
      await connection.close();
    },
  };
}

/** Freezes the broker, and answers when it really stands still. */
export async function freezeBroker(mesh: Mesh): Promise<void> {
  mesh.freeze();
  const state = () => readFileSync(`/proc/${mesh.pid()}/stat`, 'utf8').split(') ')[1]?.[0];
  await until(
    () => state() === 'T',
    () => `the broker is in state ${state()}`,
  );
}

/** A connection with every right in the space's account: for looking at what nobody else may read. */
export async function connectAsAccount(mesh: Mesh): Promise<NatsConnection> {
  const pair = newPair('user');
  const rights = { pub: { allow: ['>'], deny: [] }, sub: { allow: ['>'], deny: [] } };
  const jwt = await encodeUser('everything', pair, mesh.keys.account, rights, { signer: mesh.keys.signing });
  return mesh.connect(readCreds(credsText({ jwt, pair }), '(test)'));
}

export const DEFAULTS = CHANNEL_DEFAULTS;

export const textOf = ({ message }: Surfaced): unknown => (message.parts[0] as { text?: unknown }).text;

/** Joins, and waits for the grant: a join that the daemon is late to answer is live first, and nothing is owed yet. */
export async function joinDurably(agent: Agent, channel: string, options: { backfill?: number } = {}): Promise<void> {
  await agent.join(channel, options);
  await until(
    () => agent.standings().some((standing) => standing.channel === channel && standing.state === 'durable'),
    () => agent.standings(),
  );
}

/** Waits until so many copies are there to be pulled: who reads then needs to wait for none. */
export async function untilHandedOff(agent: Agent, count: number): Promise<void> {
  await until(
    async () => (await agent.pendingCount()).handedOff === count,
    () => agent.pendingCount(),
  );
}

/** Reads to the end and confirms each. */
export async function readAll(agent: Agent, options: { limit?: number; idleMs?: number } = {}): Promise<Surfaced[]> {
  const read: Surfaced[] = [];
  for await (const post of agent.read({ idleMs: 1_000, ...options })) {
    expect((await post.confirm()).kind).not.toBe('unanswered');
    read.push(post);
  }
  return read;
}
