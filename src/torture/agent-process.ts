/**
 * An agent of a run, as a process of its own over `plane3/client`: it does what it is told on stdin, reads all the time, and
 * writes down everything that it did and saw before it does the next thing.
 */
import { readFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { type Agent, connectAgent, Plane3Error, type Standing, type Surfaced } from '../client/client.ts';
import type { AgentSetting, Order } from './agents.ts';
import { HistoryFile } from './history-file.ts';

const setting = JSON.parse(process.argv[2] ?? '') as AgentSetting;
const { agent: name, uid, life, limit } = setting;
const file = new HistoryFile(setting.histories, `agent.${name}`);
const me = () => ({ at: Date.now(), agent: name, uid });

const AGAIN_MS = 250;
/** Where whoever started it hears that it takes orders. */
const TOLD = 3;
/** A post that shall not be confirmed is held this long and then given back. */
const HELD_MS = 400;
let carelessUntil = 0;
let ending = false;

function refused(op: string, channel: string, since: number, error: unknown): void {
  const code = error instanceof Plane3Error ? error.code : 'unexpected';
  const reason = error instanceof Error ? error.message : String(error);
  file.write({ kind: 'refused', ...me(), op, channel, code, reason, since });
}

function standing({ channel, state, generation = 0, joinCursor = 0, reason = '' }: Standing): void {
  file.write({ kind: 'standing', ...me(), channel, state, generation, joinCursor, reason });
  if (state === 'left' && reason === '') file.write({ kind: 'left', ...me(), channel, dropped: 0 });
}

async function connected(): Promise<Agent> {
  for (;;) {
    const since = Date.now();
    try {
      return await connectAgent({
        url: setting.url,
        creds: readFileSync(setting.creds, 'utf8'),
        timeoutMs: setting.timeoutMs,
        watch: { urgentMs: 250, calmMs: 2_000 },
        onStanding: standing,
      });
    } catch (error) {
      refused('connect', '', since, error);
      await pause(AGAIN_MS);
    }
  }
}

async function post(agent: Agent, { channel, id, mentions }: Extract<Order, { do: 'post' }>): Promise<void> {
  const since = Date.now();
  file.write({ kind: 'posting', ...me(), channel, id });
  try {
    const { seq, duplicate } = await agent.post({ channel, id, mentions, text: `${name} says ${id}` });
    file.write({ kind: 'posted', ...me(), channel, id, seq: seq ?? 0, duplicate, since });
  } catch (error) {
    refused('post', channel, since, error);
  }
}

async function join(agent: Agent, channel: string): Promise<void> {
  const since = Date.now();
  file.write({ kind: 'joining', ...me(), channel });
  try {
    const outcome = await agent.join(channel);
    standing(outcome);
    if (outcome.state !== 'durable') {
      const reason = outcome.reason ?? outcome.state;
      file.write({ kind: 'refused', ...me(), op: 'join', channel, code: 'not-durable', reason, since });
    }
  } catch (error) {
    refused('join', channel, since, error);
  }
}

async function leave(agent: Agent, channel: string): Promise<void> {
  const since = Date.now();
  file.write({ kind: 'leaving', ...me(), channel });
  try {
    const { left, dropped, reason = '' } = await agent.leave(channel);
    if (left) file.write({ kind: 'left', ...me(), channel, dropped });
    else file.write({ kind: 'refused', ...me(), op: 'leave', channel, code: 'not-left', reason, since });
  } catch (error) {
    refused('leave', channel, since, error);
  }
}

async function surface(post: Surfaced, asked: number): Promise<'confirmed' | 'kept'> {
  const { channel, seq, source, redelivered, message } = post;
  const what = { channel, seq, from: message.from.id, id: message.id };
  file.write({ kind: 'surfaced', ...me(), life, asked, limit, ...what, source, redelivered });
  if (Date.now() < carelessUntil) {
    await pause(HELD_MS);
    return 'kept';
  }
  const { kind } = await post.confirm();
  file.write({ kind: 'confirmed', ...me(), ...what, how: kind });
  return 'confirmed';
}

async function read(agent: Agent): Promise<void> {
  while (!ending) {
    const asked = Date.now();
    try {
      for await (const post of agent.read({ limit, follow: true })) {
        if ((await surface(post, asked)) === 'kept') break;
      }
    } catch (error) {
      if (ending) return;
      refused('read', '', asked, error);
      if (error instanceof Plane3Error && (error.code === 'client.closed' || error.code === 'client.no-durable')) {
        process.exit(3);
      }
      await pause(AGAIN_MS);
    }
  }
}

/** Joins and leaves of one channel follow each other. */
const turns = new Map<string, Promise<void>>();
const inTurn = (channel: string, work: () => Promise<void>): void => {
  turns.set(channel, (turns.get(channel) ?? Promise.resolve()).then(work));
};

file.write({ kind: 'life', ...me(), life });
const agent = await connected();
createInterface({ input: process.stdin }).on('line', (line) => {
  const order = JSON.parse(line) as Order;
  switch (order.do) {
    case 'post':
      return void post(agent, order);
    case 'join':
      return inTurn(order.channel, () => join(agent, order.channel));
    case 'leave':
      return inTurn(order.channel, () => leave(agent, order.channel));
    case 'careless':
      carelessUntil = Date.now() + order.forMs;
      return;
    case 'end':
      ending = true;
      return void agent.close().then(() => process.exit(0));
  }
});
writeSync(TOLD, 'connected\n');
await read(agent);
