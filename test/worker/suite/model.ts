/**
 * Random lives of a node, checked against a model: connect, half-open, conflict, register, inventory, ack, post,
 * hibernation, crash. Whatever the order: nothing is delivered before it is ready, what is delivered on a connection
 * begins right above the cursor it was given and goes up by one, what was acknowledged never comes again, nothing is lost,
 * no gap is left for ever, and nobody is stamped default. A run is repeated by its seed.
 *
 * Longer than 300 lines: the model is only readable beside what it follows.
 */
import { until } from '../../support/until.ts';
import type { Heard, Peer } from '../support/peer.ts';
import { Site } from '../support/site.ts';
import type { Stage } from '../support/stage.ts';
import { retried } from './acceptance.ts';

const NAMES = ['Ann', 'Bob'] as const;
const STEPS = 30;

/** Small, fast, and the same everywhere: mulberry32. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface Connection {
  readonly peer: Peer;
  readonly freeze: () => void;
  isFrozen: boolean;
}

class Life {
  readonly site: Site;
  readonly ids = new Map<string, string>();
  readonly log: string[] = [];
  readonly all: Connection[] = [];
  current: Connection | undefined;
  /** Sequences given out, and the highest that the database took as acknowledged, by agent. */
  readonly posted = new Map<string, number>(NAMES.map((name) => [name, 0]));
  readonly acked = new Map<string, number>(NAMES.map((name) => [name, 0]));

  constructor(site: Site) {
    this.site = site;
  }

  get members() {
    return NAMES.map((name) => ({ agent_id: this.ids.get(name) ?? '', name }));
  }
}

/** Asks, and gives up when the connection is gone or frozen. */
async function asked(connection: Connection, frame: { readonly type: string; readonly [key: string]: unknown }) {
  if (connection.isFrozen || connection.peer.closed !== undefined) return undefined;
  const id = `m${connection.peer.frames.length}_${Math.round(performance.now() * 1000)}`;
  connection.peer.send({ id, ...frame });
  return until(
    () => connection.peer.frames.find((each) => each.id === id) ?? (connection.peer.closed && GONE),
    () => ({ frame, closed: connection.peer.closed }),
  );
}

const GONE: Heard = { type: 'gone' };

async function connect(life: Life, random: () => number): Promise<string> {
  const { peer, proxy } = await life.site.openThroughProxy();
  const connection: Connection = { peer, freeze: () => proxy.hold('toBroker', 'toClient'), isFrozen: false };
  life.all.push(connection);
  const instance = `i${Math.floor(random() * 3)}`;
  const answer = await asked(connection, life.site.registerFrame({ instance }));
  if (answer?.type !== 'reply') {
    connection.peer.close();
    return `register ${instance}: ${String(answer?.code ?? answer?.type)}`;
  }
  peer.beat();
  life.current = connection;
  return `register ${instance}: bound`;
}

async function inventory(life: Life): Promise<string> {
  if (life.current === undefined) return 'nobody';
  const answer = await asked(life.current, { type: 'inventory.sync', agents: life.members });
  return `inventory: ${answer?.type}`;
}

async function post(life: Life): Promise<string> {
  const recipients = await life.site.post('x');
  for (const { agent, seq } of recipients) {
    const last = life.posted.get(agent) ?? 0;
    if (seq !== last + 1) throw new Error(`${agent} got number ${seq} after ${last}`);
    life.posted.set(agent, seq);
  }
  return `post: ${recipients.map(({ agent, seq, state, reason }) => `${agent} ${seq} ${reason ?? state}`).join(', ')}`;
}

async function ack(life: Life, random: () => number): Promise<string> {
  const { current } = life;
  const name = NAMES[Math.floor(random() * NAMES.length)] ?? 'Ann';
  const seqs = current?.peer.seqs(name) ?? [];
  const upTo = seqs[Math.floor(random() * seqs.length)];
  if (current === undefined || upTo === undefined) return 'nothing to ack';
  current.peer.send({ type: 'delivery.ack', agent: name, up_to_seq: upTo });
  // Taken for sure once a later frame of the same connection is answered.
  const answer = await asked(current, { type: 'agent.recover', name: 'nobody', expected_agent_id: 'x' });
  if (answer === undefined || answer.type === 'gone') return `ack ${name} ${upTo}: not known`;
  const known = life.acked.get(name) ?? 0;
  const cursor = await life.site.cursor(life.ids.get(name) ?? '');
  if (cursor < Math.max(known, upTo) && answer.code === 'agent_not_found')
    throw new Error(`the ack of ${name} up to ${upTo} was not taken: the cursor is ${cursor}`);
  life.acked.set(name, Math.max(known, cursor));
  return `ack ${name} ${upTo}`;
}

async function ackBeyond(life: Life): Promise<string> {
  const { current } = life;
  current?.peer.send({ type: 'delivery.ack', agent: 'Ann', up_to_seq: (life.posted.get('Ann') ?? 0) + 5 });
  return 'ack beyond';
}

const steps: readonly (readonly [weight: number, step: (life: Life, random: () => number) => Promise<string>])[] = [
  [6, post],
  [5, ack],
  [4, connect],
  [4, inventory],
  [1, ackBeyond],
  [
    1,
    async ({ current }) => {
      current?.peer.quiet();
      current?.freeze();
      if (current !== undefined) current.isFrozen = true;
      return 'half-open';
    },
  ],
  [
    1,
    async ({ current }) => {
      current?.peer.close();
      return 'close';
    },
  ],
  [
    1,
    async ({ current }) => {
      current?.peer.cut();
      return 'cut';
    },
  ],
  [
    2,
    async ({ site }) => {
      await site.stage.hibernate(site.at);
      return 'hibernate';
    },
  ],
  [
    1,
    async ({ site }) => {
      await site.stage.reset(site.at);
      return 'crash';
    },
  ],
];

const heaviest = steps.reduce((sum, [weight]) => sum + weight, 0);

function drawn(random: () => number) {
  let left = random() * heaviest;
  for (const [weight, step] of steps) {
    left -= weight;
    if (left < 0) return step;
  }
  return post;
}

/** The agents are registered by whoever lives long enough for it. */
async function born(life: Life): Promise<void> {
  const { site } = life;
  while (life.ids.size < NAMES.length) {
    const { peer } = await retried(site, 'i0');
    const connection: Connection = { peer, freeze: () => peer.quiet(), isFrozen: false };
    life.all.push(connection);
    life.current = connection;
    for (const name of NAMES) await asked(connection, { type: 'agent.register', name });
    for (const row of await site.rows('SELECT id, name FROM agents WHERE workspace_id = ?', site.workspace))
      life.ids.set(String(row.name), String(row.id));
  }
}

/** One life by its seed. Rejects with the seed, what was done, and what was broken. */
export async function liveOnce(stage: Stage, seed: number): Promise<void> {
  const random = randomOf(seed);
  const site = await Site.make(stage);
  const life = new Life(site);
  try {
    await born(life);
    for (let count = 0; count < STEPS; count += 1) {
      const step = drawn(random);
      life.log.push(await step(life, random));
    }
    await settle(life);
    for (const { peer } of life.all) checkConnection(peer, life);
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}\n${life.log.join('\n')}`);
  } finally {
    await site.leave();
  }
}

/** However it ended: a new instance gets everything that is owed, once, and then nothing is owed. */
async function settle(life: Life): Promise<void> {
  const { site } = life;
  for (let tries = 0; !(await settledBy(life)); tries += 1)
    if (tries === 5) throw new Error('five last connections in a row were lost');
  for (const name of NAMES) {
    const end = life.posted.get(name) ?? 0;
    const statuses = await site.statuses(life.ids.get(name) ?? '');
    if (statuses.length !== end || statuses.some((status) => status !== 'acked'))
      throw new Error(`${name} of ${end}: ${statuses.join()}`);
  }
  const stamped = await site.rows(
    "SELECT id FROM agents WHERE workspace_id = ? AND provider_name = 'default'",
    site.workspace,
  );
  if (stamped.length > 0) throw new Error('an agent was stamped default');
}

/** One last connection; false when it was lost on the way, as on a machine that is busy with other things. */
async function settledBy(life: Life): Promise<boolean> {
  const { site } = life;
  for (const { peer, freeze } of life.all) {
    peer.quiet();
    freeze();
  }
  const { peer } = await retried(site, 'last');
  const last: Connection = { peer, freeze: () => undefined, isFrozen: false };
  life.all.push(last);
  await asked(last, { type: 'inventory.sync', agents: life.members });
  for (const name of NAMES) {
    const id = life.ids.get(name) ?? '';
    const end = life.posted.get(name) ?? 0;
    const from = await site.cursor(id);
    if (from < (life.acked.get(name) ?? 0)) throw new Error(`the cursor of ${name} moved back to ${from}`);
    const heard = () => peer.seqs(name).length >= end - from;
    const told = async () => ({
      name,
      end,
      from,
      got: peer.seqs(name),
      cursor: await site.cursor(id),
      statuses: await site.statuses(id),
    });
    await until(() => heard() || peer.closed !== undefined, told);
    if (!heard()) return false;
    if (end > 0) peer.send({ type: 'delivery.ack', agent: name, up_to_seq: end });
    const isTaken = async () => (await site.cursor(id)) === end;
    await until(async () => (await isTaken()) || peer.closed !== undefined, told);
    if (!(await isTaken())) return false;
  }
  return true;
}

/** What one connection heard, in its order. */
function checkConnection(peer: Peer, life: Life): void {
  const next = new Map<string, number>();
  for (const frame of peer.frames) {
    const data = (frame.data ?? {}) as Readonly<Record<string, unknown>>;
    for (const { agent_id: id, delivery_ack_seq: cursor } of cursorsOf(data)) {
      const expected = next.get(id);
      if (expected === undefined) next.set(id, cursor + 1);
      else if (cursor + 1 > expected)
        throw new Error(`the cursor ${cursor} passed over ${expected}, which was not sent`);
    }
    if (frame.type !== 'deliver') continue;
    const id = String(frame.agent_id);
    const expected = next.get(id);
    if (expected === undefined) throw new Error(`${frame.agent} ${frame.seq} was delivered before it was ready`);
    if (frame.seq !== expected) throw new Error(`${frame.agent} got ${frame.seq}, expected ${expected}`);
    if (life.ids.get(String(frame.agent)) !== id) throw new Error(`${frame.agent} has another id`);
    next.set(id, expected + 1);
  }
}

/** The cursors that a reply certifies. */
function cursorsOf(data: Readonly<Record<string, unknown>>): readonly { agent_id: string; delivery_ack_seq: number }[] {
  if (Array.isArray(data.cursors)) return data.cursors as { agent_id: string; delivery_ack_seq: number }[];
  return typeof data.delivery_ack_seq === 'number'
    ? [{ agent_id: String(data.agent_id), delivery_ack_seq: data.delivery_ack_seq }]
    : [];
}

/** Runs the seeds, some at a time. */
export async function liveAll(stage: Stage, seeds: readonly number[], atATime: number): Promise<readonly string[]> {
  const failures: string[] = [];
  const waiting = [...seeds];
  const work = async (): Promise<void> => {
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift())
      await liveOnce(stage, seed).catch((error: unknown) => failures.push(String(error)));
  };
  await Promise.all(Array.from({ length: atATime }, work));
  return failures;
}
