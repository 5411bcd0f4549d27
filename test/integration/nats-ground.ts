/** A real nats-server as a ground of the contracts. */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { createInbox, headers, type NatsConnection } from '@nats-io/nats-core';
import { type Member, memberKey } from '../../src/domain/names.ts';
import { inboxPrefix } from '../../src/domain/permissions.ts';
import {
  buckets,
  chatSubject,
  deliveryConsumer,
  FANOUT_CONSUMER,
  keySubject,
  railSubject,
  streams,
} from '../../src/domain/subjects.ts';
import type { Credential } from '../../src/services/credential.ts';
import type { Gate } from '../../src/services/fence.ts';
import { systemClock } from '../../src/services/local/clock.ts';
import { mint } from '../../src/services/local/mint.ts';
import { MemoryJournal } from '../../src/services/memory/journal.ts';
import { natsDeliveryPorts } from '../../src/services/nats/delivery-ports.ts';
import { GatedBroker } from '../../src/services/nats/gated-broker.ts';
import { natsLeaseRows } from '../../src/services/nats/lease-rows.ts';
import { Resident } from '../../src/services/nats/resident.ts';
import { Tally } from '../../src/services/tally.ts';
import type { Ground, Ports } from '../contract/ground.ts';
import { passOver } from '../support/delivery/store.ts';
import { type Mesh, startMesh } from '../support/mesh.ts';

/** Only what waits for it in vain comes near it: a machine that halts for seconds is no fault of what is tested. */
const TIMEOUT_MS = 10_000;
/** For what is known not to be answered. */
const SHORT_MS = 150;
/** An answer of a rail that must not come has come by then. */
const RAIL_MS = 5_000;

export interface NatsGround extends Ground {
  readonly mesh: Mesh;
  dispose(): Promise<void>;
}

export async function natsGround(): Promise<NatsGround> {
  const space = 'main';
  const history = 200;
  const leaseTtlMs = 4_000;
  const mesh = await startMesh({ space, history, leaseTtlMs });
  const empty = await startMesh({ space, provisioned: false });
  const journal = new MemoryJournal();
  const tally = new Tally();
  const residents: Resident[] = [];
  const agents = new Map<string, NatsConnection>();
  const ackOf = new Map<string, string>();
  let count = 0;

  const portsAs = async (of: { on: Mesh; credential: Credential; timeoutMs: number; gate?: Gate }): Promise<Ports> => {
    const dial = { url: of.on.url, name: 'test', credential: of.credential };
    const resident = await Resident.open(dial, { clock: systemClock, pingIntervalMs: 60_000, maxPingOut: 2 }, 1);
    residents.push(resident);
    const { timeoutMs, gate = () => undefined } = of;
    const { connection, inboxPrefix: prefix } = resident;
    return {
      ...natsDeliveryPorts({ resident, gate, space, incarnation: 'test', timeoutMs, journal, tally }),
      leaseRows: natsLeaseRows({
        space,
        broker: new GatedBroker({ connection, gate, timeoutMs, inboxPrefix: prefix }),
      }),
    };
  };
  const delivery = await mesh.credsFor('delivery');
  const writer = await mesh.connect('delivery');
  const manager = await mesh.connect('manager');
  const provisioner = await mesh.connect('provisioner');
  const shared = await portsAs({ on: mesh, credential: delivery, timeoutMs: TIMEOUT_MS });
  /** A credential of the account that has every right elsewhere and none here. */
  const nobody = await mint(
    { operator: mesh.operator, space: mesh.keys },
    { profile: { profile: 'delivery', space: 'elsewhere' }, name: 'nobody' },
  );
  const posters = new Map<string, NatsConnection>();
  /** A connection that may post as this principal. */
  const posterOf = async (principal: string): Promise<NatsConnection> => {
    const known = posters.get(principal);
    if (known !== undefined) return known;
    const [owner = '', actor = ''] = principal.split('.');
    const { credential } = await mesh.addAgent({ name: actor, owner, read: [], post: ['>'] });
    const connection = await mesh.connect(credential);
    posters.set(principal, connection);
    return connection;
  };
  const publish = async (as: NatsConnection, subject: string, data: Uint8Array, head: Record<string, string> = {}) => {
    const all = headers();
    for (const [name, value] of Object.entries(head)) all.set(name, value);
    const reply = await as.request(subject, data, { headers: all, timeout: TIMEOUT_MS });
    const { seq } = reply.json<{ seq: number }>();
    if (typeof seq !== 'number') throw new Error(`${subject}: ${reply.string()}`);
    return seq;
  };
  const settle = async (member: Member, seq: number, how: '+ACK' | '+TERM') => {
    const reply = ackOf.get(`${memberKey(member)}/${seq}`);
    const agent = agents.get(memberKey(member));
    if (reply === undefined || agent === undefined) throw new Error(`copy ${seq} was not taken`);
    await agent.request(reply, how, { timeout: TIMEOUT_MS });
  };

  return {
    mesh,
    space,
    history,
    leaseTtlMs,
    journal,
    tally,
    ports: async (of = {}) =>
      of.gate === undefined
        ? shared
        : portsAs({ on: mesh, credential: delivery, timeoutMs: TIMEOUT_MS, gate: of.gate }),
    troubled: async (trouble, told) => {
      const timeoutMs = told === 'silent' ? SHORT_MS : TIMEOUT_MS;
      switch (trouble) {
        case 'gated':
          return portsAs({ on: mesh, credential: delivery, timeoutMs: TIMEOUT_MS, gate: () => 'in doubt' });
        case 'denied':
          return portsAs({ on: mesh, credential: nobody, timeoutMs });
        case 'missing':
          return portsAs({ on: empty, credential: await empty.credsFor('delivery'), timeoutMs });
        case 'silent': {
          const ports = await portsAs({ on: empty, credential: await empty.credsFor('delivery'), timeoutMs: SHORT_MS });
          await residents.at(-1)?.close();
          return ports;
        }
      }
    },
    member: async ({ allow = ['>'] } = {}) => {
      const { member, credential } = await mesh.addAgent({ name: `agent${++count}`, read: allow, post: [] });
      agents.set(memberKey(member), await mesh.connect(credential));
      return member;
    },
    post: async ({ from, channel, data }) => publish(await posterOf(from), chatSubject(space, from, channel), data),
    steer: ({ subject, data, headers: head = {} }) => publish(writer, subject, data, head),
    putRow: ({ bucket, key, row }) => {
      const name = buckets(space)[bucket];
      const as = bucket === 'channels' ? provisioner : bucket === 'delivery' ? writer : manager;
      const data = row === undefined ? new Uint8Array() : new TextEncoder().encode(JSON.stringify(row));
      const marker: Record<string, string> = row === undefined ? { 'KV-Operation': 'DEL' } : {};
      return publish(as, keySubject(name, key), data, marker);
    },
    take: async (member, limit) => {
      const agent = agents.get(memberKey(member));
      if (agent === undefined) throw new Error('no such member');
      const consumer = await jetstream(agent).consumers.get(streams(space).dlv, deliveryConsumer(member));
      const taken = [];
      for (let n = 0; n < limit; n++) {
        const copy = await consumer.next({ expires: TIMEOUT_MS });
        if (copy === null) break;
        ackOf.set(`${memberKey(member)}/${copy.seq}`, (copy as unknown as { reply: string }).reply);
        taken.push({ seq: copy.seq, data: copy.data });
      }
      return taken;
    },
    confirm: (member, seq) => settle(member, seq, '+ACK'),
    terminate: (member, seq) => settle(member, seq, '+TERM'),
    passOver: async (member, seqs) => {
      const agent = agents.get(memberKey(member));
      if (agent === undefined) throw new Error('no such member');
      const replies = seqs.map((seq) => ackOf.get(`${memberKey(member)}/${seq}`) ?? '');
      await passOver({ space, member, manager, agent, replies });
    },
    request: async ({ rail, principal, body, reply }) => {
      const credential = await mesh.credsFor('manager', { principal });
      const as = rail === 'delivery-admin' ? await mesh.connect(credential) : await posterOf(principal);
      const subject = railSubject(space, rail, principal);
      const inbox = reply ?? `${subject}.reply.${++count}`;
      const heard = reply === undefined ? inbox : createInbox(inboxPrefix('x'));
      return new Promise((resolve) => {
        const done = (value: unknown) => {
          clearTimeout(timer);
          subscription.unsubscribe();
          resolve(value);
        };
        const timer = setTimeout(() => done(undefined), RAIL_MS);
        const subscription = as.subscribe(heard, {
          callback: (error, message) => {
            if (error !== null || message.headers?.code === 503) return done(undefined);
            done(message.json());
          },
        });
        as.publish(subject, body, { reply: inbox });
      });
    },
    deleteFanout: async () => {
      const api = await jetstreamManager(writer, { checkAPI: false });
      await api.consumers.delete(streams(space).chat, FANOUT_CONSUMER);
    },
    restart: () => mesh.restartBroker(),
    elapse: async () => {},
    dispose: async () => {
      await Promise.all(residents.map((resident) => resident.close().catch(() => {})));
      await Promise.all([mesh.dispose(), empty.dispose()]);
    },
  };
}
