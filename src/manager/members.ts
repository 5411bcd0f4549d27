/** Who is a member of a channel: the registry's durable members, and who the broker says is subscribed. */
import type { NatsConnection } from '@nats-io/nats-core';
import { ledgerKey, ledgerSchema } from '../domain/auth-rows.ts';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { readJson, shaped } from '../domain/message.ts';
import { covers, principalOf } from '../domain/names.ts';
import { memberRowSchema } from '../domain/rows.ts';
import { buckets, chatOfChannel, readMemberRowKey } from '../domain/subjects.ts';
import { type DriverFailure, wordsOfFailure } from '../services/nats/driver-errors.ts';
import { listKeys, readGuardedRow, readRow } from '../services/nats/rows.ts';
import type { Subscriber } from '../services/nats/subscribers.ts';

export interface DurableMember {
  readonly principal: string;
  readonly state: 'pending' | 'active';
  readonly generation: number;
}

/**
 * The open memberships of a channel, by principal.
 * @param of.connection With the manager's rights.
 * @throws Plane3Error `agent.list` when the broker does not answer for a row.
 */
export async function durableMembers(of: {
  connection: NatsConnection;
  space: string;
  channel: string;
}): Promise<DurableMember[]> {
  const { connection, space, channel } = of;
  const bucket = buckets(space).members;
  const fail = (what: string, failure: DriverFailure): never => {
    throw new Plane3Error('agent.list', { what, reason: wordsOfFailure(failure) });
  };
  // The last segment of a channel and the owner share one token of the key, which no wildcard can take apart.
  const above = channel.split('.').slice(0, -1);
  const listed = await listKeys({ connection, bucket, filter: [...above, '*', '*', '*'].join('.') });
  if (listed.kind === 'failed') return fail('the member rows', listed.failure);
  const members = await Promise.all(
    listed.keys
      .filter((key) => readMemberRowKey(key)?.channel === channel)
      .map(async (key): Promise<DurableMember[]> => {
        const read = await readRow({ connection, bucket, key });
        if (read.kind === 'failed') return fail(key, read.failure);
        const place = readMemberRowKey(key);
        const row = read.kind === 'found' ? shaped(memberRowSchema, readJson(read.data)) : undefined;
        if (row === undefined || place === undefined || row.state === 'left') return [];
        return [{ principal: principalOf(place.member), state: row.state, generation: row.generation }];
      }),
  );
  return members.flat().sort((a, b) => (a.principal < b.principal ? -1 : 1));
}

/**
 * Who is subscribed to a channel now, by itself or by a pattern. The broker knows the key of a connection, the ledger whose it
 * is; one that stands in no ledger row of an agent is counted, not named.
 *
 * @param of.connection With the manager's rights.
 */
export async function subscribedTo(of: {
  connection: NatsConnection;
  space: string;
  channel: string;
  subscribers: readonly Subscriber[];
}): Promise<{ principals: string[]; unnamed: number }> {
  const { connection, space, channel, subscribers } = of;
  // Any sender will do: what the pattern says of the sender is not asked.
  const subject = chatOfChannel(space, channel).replaceAll('*', 'any');
  const present = subscribers.filter(({ subjects }) => subjects.some((pattern) => covers(pattern, subject)));
  const bucket = buckets(space).auth;
  const listed = await listKeys({ connection, bucket, filter: ledgerKey('*', '*') });
  if (listed.kind === 'failed')
    throw new Plane3Error('agent.list', { what: 'the ledger', reason: wordsOfFailure(listed.failure) });
  const keys = new Map(listed.keys.map((key) => [key.slice(key.lastIndexOf('.') + 1), key]));
  const holders = await Promise.all(
    present.map(async ({ user }) => {
      const key = keys.get(user);
      const read = key === undefined ? undefined : await readGuardedRow({ connection, bucket, key });
      const row = read?.kind === 'found' ? shaped(ledgerSchema, readJson(read.data)) : undefined;
      return row?.holderPrincipal;
    }),
  );
  const principals = [...new Set(holders.filter((holder) => holder !== undefined))].sort();
  return { principals, unnamed: holders.filter((holder) => holder === undefined).length };
}
