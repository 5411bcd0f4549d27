/** What is true of the store of a space: whether it takes writes, whether it is laid out as this version wants it, what was not copied. */
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/nats-core';
import { describeDifference } from '../domain/differences.ts';
import { describeError } from '../domain/errors/catalogue.ts';
import type { MeshSettings } from '../domain/mesh-settings.ts';
import { inboxPrefix } from '../domain/permissions.ts';
import type { Discarded } from '../domain/rows.ts';
import { streams } from '../domain/subjects.ts';
import { brokerFolder } from '../services/local/broker-config.ts';
import { GatedBroker } from '../services/nats/gated-broker.ts';
import { compareStore } from '../services/nats/provision.ts';
import { askRail } from '../services/nats/rail-client.ts';
import { askStoreHealth, type StoppedStore } from '../services/nats/store-health.ts';
import { type Fact, type FactOptions, fact, type Opened } from './fact.ts';

const ASK_MS = 2_000;

/** Whether the broker has stopped a stream of the space. Posts go to CHAT, entries to INBOX, copies to DLV: each by itself. */
export async function writesFact(of: {
  options: FactOptions;
  account: string | undefined;
  health(): Promise<Opened | string>;
}): Promise<Fact> {
  const name = 'store.writes';
  const { chat, inbox, dlv } = streams(of.options.space);
  const unknown = (why: string): Fact =>
    fact(name, null, { chat: null, inbox: null, dlv: null, stopped: null }, `unknown: ${why}`);
  if (of.account === undefined) return unknown('this root has no keys of the space');
  const opened = await of.health();
  if (typeof opened === 'string') return unknown(opened);
  try {
    const health = await askStoreHealth({ connection: opened.connection, account: of.account, timeoutMs: ASK_MS });
    if (health.kind === 'unknown') return unknown(health.why);
    const { stopped } = health;
    const takes = (stream: string): boolean => stopped.every(({ store }) => store !== stream);
    const value = { chat: takes(chat), inbox: takes(inbox), dlv: takes(dlv), stopped };
    if (stopped.length > 0) return fact(name, false, value, `stopped: ${wordsOfStopped(stopped)}`);
    return fact(name, true, value, `no write to ${chat}, ${inbox}, ${dlv} or another stream was refused`);
  } finally {
    await opened.connection.close();
  }
}

export const wordsOfStopped = (stopped: readonly StoppedStore[]): string =>
  stopped.map(({ store, why }) => `${store} (${why})`).join(', ');

const MIB = 1024 * 1024;

/** Whether one more message of the largest size fits on the broker's disk. Without `broker` it does not run on this machine. */
export function spaceFact({ root }: FactOptions, broker: Opened | undefined): Fact {
  const name = 'store.space';
  if (broker === undefined) return fact(name, null, null, 'unknown: the broker does not answer here');
  try {
    const { bavail, bsize } = statfsSync(join(brokerFolder(root), 'store'));
    const free = bavail * bsize;
    const isEnough = free >= (broker.connection.info?.max_payload ?? MIB);
    const words = `${Math.floor(free / MIB)} MiB are free`;
    return fact(name, isEnough, { freeBytes: free }, isEnough ? words : `${words}: the disk is full`);
  } catch (error) {
    return fact(name, null, null, `unknown: ${describeError(error).message}`);
  }
}

/** Compared with what `cotal up` would make with the settings that this root keeps. Nothing is made or changed. */
export async function layoutFact(of: {
  options: FactOptions;
  settings: MeshSettings | undefined;
  provisioner(): Promise<Opened | string>;
}): Promise<Fact> {
  const name = 'store.layout';
  const { space, numbers } = of.options;
  if (of.settings?.mode !== 'auth') return fact(name, null, null, 'unknown: this root has no keys of the space');
  const opened = await of.provisioner();
  if (typeof opened === 'string') return fact(name, null, null, `unknown: ${opened}`);
  const { connection } = opened;
  try {
    const { leaseTtlMs } = numbers;
    const seen = await compareStore({ connection, space, ...of.settings.spaces[space], leaseTtlMs });
    if (seen.kind === 'failed') return fact(name, null, null, `unknown: ${seen.what}: ${seen.failure.kind}`);
    const differences = seen.differences.map(describeDifference);
    const wrong = [...seen.missing.map((what) => `${what} is missing`), ...differences];
    return fact(name, wrong.length === 0, wrong, wrong.length === 0 ? 'as this version makes it' : wrong.join('; '));
  } catch (error) {
    return fact(name, null, null, `unknown: ${describeError(error).message}`);
  } finally {
    await connection.close();
  }
}

/** How long a loss to retention makes its fact false; it is told for ever. */
const DISCARD_NEWS_MS = 24 * 3_600_000;

/** Posts that were not copied: the quota of a member was full, or retention took them first. The daemon is asked. */
export async function shortfallFacts(of: {
  connection: NatsConnection;
  publicKey: string;
  space: string;
  principal: string;
  timeoutMs: number;
}): Promise<Fact[]> {
  const names = ['delivery.shortfall', 'delivery.discarded'] as const;
  const { connection, publicKey, space, principal, timeoutMs } = of;
  const broker = new GatedBroker({ connection, inboxPrefix: inboxPrefix(publicKey), gate: () => undefined, timeoutMs });
  const short: { member: string; count: number }[] = [];
  let discarded: Discarded | undefined;
  for (let after = ''; ; ) {
    const answer = await askRail({ broker, space, principal, op: 'owed', args: after === '' ? {} : { after } });
    if (answer.kind !== 'answered')
      return names.map((name) => fact(name, null, null, `unknown: the rail is ${answer.kind}`));
    const { members, more } = answer.data;
    discarded = answer.data.discarded;
    for (const { member, shortfall } of members) {
      if (shortfall !== undefined) short.push({ member, count: shortfall.count });
    }
    const last = members.at(-1)?.member;
    if (!more || last === undefined) break;
    after = last;
  }
  const total = short.reduce((sum, { count }) => sum + count, 0);
  const words = short.map(({ member, count }) => `${count} of ${member}`).join(', ');
  return [
    fact(
      names[0],
      total === 0,
      short,
      total === 0 ? 'nothing was left out' : `not copied, the quota was full: ${words}`,
    ),
    discardedFact(names[1], discarded),
  ];
}

function discardedFact(name: string, discarded: Discarded | undefined): Fact {
  if (discarded === undefined) return fact(name, true, null, 'retention took nothing that was not copied');
  const { count, firstSeq, lastSeq, last } = discarded;
  const when = new Date(last).toISOString();
  const words = `${count} posts between ${firstSeq} and ${lastSeq} were discarded before they were copied, the last ${when}`;
  return fact(name, Date.now() - last > DISCARD_NEWS_MS, discarded, words);
}
