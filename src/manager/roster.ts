/** Who is there: every lifecycle head of a space, with what its ACL row lets it read. */
import type { NatsConnection } from '@nats-io/nats-core';
import { headKey, headSchema } from '../domain/auth-rows.ts';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { readJson } from '../domain/message.ts';
import { memberKey } from '../domain/names.ts';
import { type AclState, readAcl } from '../domain/rows.ts';
import { buckets } from '../domain/subjects.ts';
import { type DriverFailure, wordsOfFailure } from '../services/nats/driver-errors.ts';
import { listKeys, readGuardedRow, readRow } from '../services/nats/rows.ts';

export interface ListedAgent {
  /** `owner.actor` */
  readonly principal: string;
  readonly state: 'active' | 'retiring' | 'retired' | 'unreadable';
  /** Null where the head cannot be read. */
  readonly lifecycleUid: string | null;
  /** Patterns of the ACL row; null where there is no row to tell from, or a tombstone. */
  readonly read: readonly string[] | null;
}

/**
 * The agents of a space, by principal.
 * @param of.connection With the manager's rights.
 * @throws Plane3Error `agent.list` when the broker does not answer for a row.
 */
export async function listAgents(of: { connection: NatsConnection; space: string }): Promise<ListedAgent[]> {
  const { connection, space } = of;
  const bucket = buckets(space);
  const fail = (what: string, failure: DriverFailure): never => {
    throw new Plane3Error('agent.list', { what, reason: wordsOfFailure(failure) });
  };
  const listed = await listKeys({ connection, bucket: bucket.auth, filter: headKey('*.*') });
  if (listed.kind === 'failed') return fail('the heads', listed.failure);
  const agents = await Promise.all(
    listed.keys.sort().map(async (key): Promise<ListedAgent | undefined> => {
      const principal = key.slice(headKey('').length);
      const row = await readGuardedRow({ connection, bucket: bucket.auth, key });
      if (row.kind === 'failed') return fail(key, row.failure);
      if (row.kind === 'absent') return undefined;
      const head = headSchema.safeParse(readJson(row.data));
      if (!head.success) return { principal, state: 'unreadable', lifecycleUid: null, read: null };
      const { owner, actor, lifecycleUid, state } = head.data;
      const aclKey = memberKey({ owner, actor, uid: lifecycleUid });
      const acl = await readRow({ connection, bucket: bucket.acl, key: aclKey });
      if (acl.kind === 'failed') return fail(aclKey, acl.failure);
      return { principal, state, lifecycleUid, read: readable(readAcl(acl.kind === 'found' ? acl.data : undefined)) };
    }),
  );
  return agents.filter((agent) => agent !== undefined);
}

const readable = (acl: AclState): readonly string[] | null => (acl.kind === 'grant' ? acl.allow : null);
