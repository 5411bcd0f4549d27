/** The manager of a space, asked from the command line; where none holds the lease, the same work is done here. */
import { nuid } from '@nats-io/nats-core';
import { readManagerNumbers } from '../domain/config.ts';
import { type ErrorCode, errorCatalogue, Plane3Error } from '../domain/errors/catalogue.ts';
import type { ManagerArgs, ManagerOp } from '../domain/manager-rail.ts';
import { readJson, shaped } from '../domain/message.ts';
import { replySchema } from '../domain/rail.ts';
import { buckets, LEASE_KEY, managerSubject, replyPrefix } from '../domain/subjects.ts';
import { managerHandlers } from '../manager/manager-work.ts';
import { MANAGER_ENDPOINT } from '../manager/process.ts';
import { openWorkstation } from '../manager/workstation.ts';
import { managerIdentity } from '../services/local/manager-identity.ts';
import { parseDriverError, wordsOfFailure } from '../services/nats/driver-errors.ts';
import { readRow } from '../services/nats/rows.ts';
import type { Journal } from '../services/ports.ts';
import { CLI_PRINCIPAL, isOpen, withRights } from './open-mesh.ts';
import { brokerOf, type Place } from './place.ts';

/** Longer than the longest of what it does: a retirement that waits for the daemon. */
const TIMEOUT_MS = 90_000;
/** Codes of refusals that the manager took from our own catalogue are told with the command's own exit code. */
const silentJournal: Journal = { tell: () => {} };

/**
 * What the manager answered, or what the same work here came to.
 * @throws Plane3Error `manager.unknown` where its lease row was not read, `manager.silent`, and what the work is refused with.
 */
export async function askManager<O extends ManagerOp>(
  place: Place,
  op: O,
  args: ManagerArgs<O>,
): Promise<Record<string, unknown>> {
  const answered = await withRights(place, 'operator', async ({ connection }) => {
    const lease = await readRow({ connection, bucket: buckets(place.space).manager, key: LEASE_KEY });
    // Unknown is not gone: the work of a manager that serves is not done beside it.
    if (lease.kind === 'failed') throw new Plane3Error('manager.unknown', { reason: wordsOfFailure(lease.failure) });
    if (lease.kind === 'absent') return undefined;
    const subject = managerSubject(place.space, CLI_PRINCIPAL);
    const from = { id: CLI_PRINCIPAL, name: CLI_PRINCIPAL.split('.')[1] };
    try {
      const message = await connection.request(subject, JSON.stringify({ op, args, from }), {
        timeout: TIMEOUT_MS,
        noMux: true,
        reply: `${replyPrefix(subject)}${nuid.next()}`,
      });
      const reply = shaped(replySchema, readJson(message.data));
      if (reply === undefined) throw new Plane3Error('manager.silent', { reason: 'its reply cannot be read' });
      if (!reply.ok) throw relayed(reply.error ?? { code: '', message: 'without a reason' });
      return reply.data as Record<string, unknown>;
    } catch (error) {
      if (error instanceof Plane3Error) throw error;
      const failure = parseDriverError(error);
      // It holds the lease and is not bound yet, or the row is that of a dead one: the work is done here then.
      if (failure.kind === 'no-responders') return undefined;
      throw new Plane3Error('manager.silent', { reason: failure.kind }, { cause: error });
    }
  });
  return answered ?? workHere(place, op, args);
}

/** A refusal of our own catalogue as it was thrown there; any other one in its words. */
function relayed({ code, message, facts }: { code: string; message: string; facts?: unknown }): Plane3Error {
  return Object.hasOwn(errorCatalogue, code) && typeof facts === 'object' && facts !== null
    ? new Plane3Error(code as ErrorCode, facts as never)
    : (new Plane3Error('manager.refused', { reason: message }) as unknown as Plane3Error);
}

async function workHere<O extends ManagerOp>(
  place: Place,
  op: O,
  args: ManagerArgs<O>,
): Promise<Record<string, unknown>> {
  const { root, space } = place;
  const address = brokerOf(place);
  if (isOpen(address)) throw new Plane3Error('mesh.open', { space });
  const identity = await managerIdentity({ root, space });
  const { url, tls } = address;
  const numbers = readManagerNumbers(process.env);
  const station = await openWorkstation({ root, space, url, numbers, ...(tls === undefined ? {} : { tls }) });
  try {
    const handlers = managerHandlers({
      root,
      space,
      family: { endpoint: MANAGER_ENDPOINT, instance: identity.instance },
      lifecycleUid: identity.lifecycleUid,
      incarnation: '',
      keys: station.keys,
      ports: station.ports,
      goals: () => station.connection,
      journal: silentJournal,
      processEpoch: () => 0,
      mayRenew: () => false,
      serves: false,
    });
    const handler = handlers[op] as (args: ManagerArgs<O>) => Promise<object>;
    return { ...(await handler(args)) };
  } finally {
    await station.close();
  }
}
