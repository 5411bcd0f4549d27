/** What is true of the store of a space: whether it is laid out as this version wants it, and what was not copied. */
import type { NatsConnection } from '@nats-io/nats-core';
import { describeDifference } from '../domain/differences.ts';
import { describeError } from '../domain/errors/catalogue.ts';
import type { MeshSettings } from '../domain/mesh-settings.ts';
import { inboxPrefix } from '../domain/permissions.ts';
import { GatedBroker } from '../services/nats/gated-broker.ts';
import { compareStore } from '../services/nats/provision.ts';
import { askRail } from '../services/nats/rail-client.ts';
import { type Fact, type FactOptions, fact, type Opened } from './fact.ts';

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

/** Posts that were not copied because the quota of a member was full, as its rows have it. The daemon is asked. */
export async function shortfallFact(of: {
  connection: NatsConnection;
  publicKey: string;
  space: string;
  principal: string;
  timeoutMs: number;
}): Promise<Fact> {
  const name = 'delivery.shortfall';
  const { connection, publicKey, space, principal, timeoutMs } = of;
  const broker = new GatedBroker({ connection, inboxPrefix: inboxPrefix(publicKey), gate: () => undefined, timeoutMs });
  const short: { member: string; count: number }[] = [];
  for (let after = ''; ; ) {
    const answer = await askRail({ broker, space, principal, op: 'owed', args: after === '' ? {} : { after } });
    if (answer.kind !== 'answered') return fact(name, null, null, `unknown: the rail is ${answer.kind}`);
    const { members, more } = answer.data;
    for (const { member, shortfall } of members) {
      if (shortfall !== undefined) short.push({ member, count: shortfall.count });
    }
    const last = members.at(-1)?.member;
    if (!more || last === undefined) break;
    after = last;
  }
  const total = short.reduce((sum, { count }) => sum + count, 0);
  const words = short.map(({ member, count }) => `${count} of ${member}`).join(', ');
  return fact(
    name,
    total === 0,
    short,
    total === 0 ? 'nothing was left out' : `not copied, the quota was full: ${words}`,
  );
}
