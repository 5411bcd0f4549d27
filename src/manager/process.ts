/** The manager process, put together: its machine over a workstation's keys, store and broker. */
import { randomBytes } from 'node:crypto';
import { type Actor, createActor, type InspectionEvent } from 'xstate';
import { readManagerNumbers } from '../domain/config.ts';
import { parseSpace } from '../domain/names.ts';
import { inboxPrefix } from '../domain/permissions.ts';
import { type ManagerEnd, managerMachine, type OpenFact, type RailHeard } from '../machines/manager.machine.ts';
import { ask, listen } from '../services/bind-effects.ts';
import { bindLease } from '../services/bind-lease.ts';
import { onceResolved } from '../services/bind-name-wait.ts';
import { Fence } from '../services/fence.ts';
import { systemClock } from '../services/local/clock.ts';
import { managerIdentity } from '../services/local/manager-identity.ts';
import { processRecord } from '../services/local/process-record.ts';
import { unresolvedName } from '../services/nats/driver-errors.ts';
import { GatedBroker } from '../services/nats/gated-broker.ts';
import { natsLeaseRows } from '../services/nats/lease-rows.ts';
import type { Journal, WritableStore } from '../services/ports.ts';
import { bindGateRepair, bindRegistration } from './bind-gate.ts';
import { bindStoreProof } from './bind-rail.ts';
import { bindRenewal } from './bind-renewal.ts';
import { railBounds } from './embed.ts';
import { KeptIdentities } from './kept-identities.ts';
import { serveManagerRail } from './manager-rail.ts';
import { managerHandlers } from './manager-work.ts';
import { standingCredentials } from './standing.ts';
import { openWorkstation } from './workstation.ts';

export const MANAGER_ENDPOINT = 'manager';

export interface ManagerOptions {
  readonly root: string;
  readonly space: string;
  readonly url: string;
  readonly tls?: { readonly caFile?: string };
  readonly journal: Journal;
  /** Name of this run on the lease row. */
  readonly incarnation?: string;
  /** Waits for the lease of another one instead of ending. */
  readonly standby?: boolean;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The store that the daemon re-reads, where it is not the files of the root. */
  readonly store?: WritableStore;
  /** Aborted: a start that waits for the name of the broker is over, and rejects with its reason. */
  readonly signal?: AbortSignal;
  /** Every step of its actors, for the inspector. */
  readonly inspect?: (event: InspectionEvent) => void;
}

export interface ManagerEnded {
  readonly end: ManagerEnd;
  readonly message: string;
  readonly code: 0 | 1 | 2;
}

export interface ManagerProcess {
  readonly actor: Actor<typeof managerMachine>;
  run(): Promise<ManagerEnded>;
  stop(signal: string): void;
}

/** Its own credentials are signed again this often. */
const OWN_RENEWAL_MS = 6 * 3_600_000;

/** @throws Plane3Error for a setting or keys that are not there, the client's error for a broker that is not; nothing is begun. */
export async function openManager(options: ManagerOptions): Promise<ManagerProcess> {
  const { root, journal } = options;
  const space = parseSpace(options.space);
  const numbers = readManagerNumbers(options.env ?? process.env);
  const clock = systemClock;
  const incarnation = options.incarnation ?? randomBytes(12).toString('hex');
  const identity = await managerIdentity({ root, space });
  const { url, tls } = options;
  const record = processRecord({ root, what: 'manager', space });
  record.begin();
  const opened = onceResolved(
    () =>
      openWorkstation({
        root,
        space,
        url,
        numbers,
        clock,
        ...(tls === undefined ? {} : { tls }),
        ...(options.store === undefined ? {} : { store: options.store }),
      }),
    {
      clock,
      numbers,
      unresolved: unresolvedName,
      tell: (facts) => journal.tell('manager.nameless', facts),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    },
  );
  opened.catch(() => record.remove());
  const station = await opened;
  const { ports, keys, store } = station;
  const family = { endpoint: MANAGER_ENDPOINT, instance: identity.instance };
  const fence = new Fence({ clock, fenceMs: numbers.leaseFenceMs });
  let processEpoch = 0;

  const kept = new KeptIdentities({ root, space, identity, family, station, clock, numbers });
  const own = setInterval(() => {
    void station.renewOwn().catch(() => {});
    kept.renew();
  }, OWN_RENEWAL_MS);
  own.unref();

  const handlers = managerHandlers({
    root,
    space,
    family,
    lifecycleUid: identity.lifecycleUid,
    incarnation,
    keys,
    ports,
    goals: () => kept.get('goal_writer')?.connection ?? station.connection,
    journal,
    processEpoch: () => processEpoch,
    mayRenew: () => actor.getSnapshot().context.mayRenew,
    serves: true,
  });
  const standing = standingCredentials({ keys, space, store });

  const machine = managerMachine.provide({
    actors: {
      lease: bindLease({
        clock,
        fence,
        numbers: { ...numbers, standbyProbeMs: 1_000, releaseMs: numbers.drainMs },
        proof: () => ({ proofKey: '', proofAttestation: '' }),
        rows: () => {
          const { connection } = station;
          const gate = () => (connection.isClosed() ? 'the connection is closed' : undefined);
          const prefix = inboxPrefix(station.credential().publicKey);
          const broker = new GatedBroker({ connection, inboxPrefix: prefix, gate, timeoutMs: numbers.effectTimeoutMs });
          return natsLeaseRows({ broker, space, whose: 'manager' });
        },
      }),
      storeProof: bindStoreProof({ ...ports, store }),
      gateRepair: bindGateRepair(ports),
      registration: bindRegistration(ports),
      renewal: bindRenewal({
        ...ports,
        holder: ports.principal,
        journal,
        ...standing,
      }),
      openServices: ask<OpenFact, { processEpoch: number }>(async (registered, signal) => {
        processEpoch = registered.processEpoch;
        try {
          await kept.open();
          // One that was frozen past its lease would write over the record of whoever has it by now.
          record.write(() => fence.holds() && !signal.aborted);
          return { type: 'services.open' };
        } catch (error) {
          return { type: 'services.refused', reason: error instanceof Error ? error.message : String(error) };
        }
      }),
      serveRail: listen<RailHeard, undefined>((tell) => {
        const serve = kept.get('serve');
        if (serve === undefined) throw new Error('the serve identity is not connected');
        return serveManagerRail({
          connection: serve.connection,
          losses: serve.losses,
          space,
          handlers,
          holds: () => fence.holds(),
          journal,
          bound: () => tell({ type: 'rail.bound' }),
          lost: (why) => tell({ type: 'rail.lost', why }),
        });
      }),
      closeServices: ask<{ type: 'services.closed' }, undefined>(async () => {
        record.leave();
        await kept.close();
        return { type: 'services.closed' };
      }),
      leaveBroker: ask<{ type: 'broker.left' }, undefined>(async () => {
        await station.close();
        return { type: 'broker.left' };
      }),
    },
    actions: {
      tellProof: (_, { end, message }) => {
        journal.tell('manager.proof', { end, message });
        if (end !== 'matched') journal.tell('manager.not-owner', { message });
      },
      tellRepair: (_, { end }) => {
        if (end === 'repaired' || end === 'completed') journal.tell('manager.repaired', { end });
      },
      tellRegistered: (_, { processEpoch: epoch, holders, requests }) =>
        journal.tell('manager.registered', { processEpoch: epoch, holders, requests }),
      tellServing: () => journal.tell('manager.serving', { space }),
      tellDoubt: (_, { why }) => journal.tell('manager.doubt', { why }),
      tellStopping: (_, { signal }) => journal.tell('manager.signalled', { signal, space }),
    },
    delays: { drain: numbers.drainMs },
  });
  const place = { ...family, ...railBounds(ports), batch: numbers.evictionBatch };
  const actor = createActor(machine, {
    ...(options.inspect === undefined ? {} : { inspect: options.inspect }),
    input: {
      lease: { holder: ports.principal, incarnation, standby: options.standby === true },
      proof: { ...railBounds(ports), challenge: randomBytes(24).toString('hex') },
      repair: place,
      registration: {
        ...place,
        opId: randomBytes(12).toString('hex'),
        by: ports.principal,
        incarnation,
        windowMs: numbers.executorWindowMs,
      },
      renewal: { ...railBounds(ports, numbers.commandWaitMs), retryMs: numbers.renewalRetryMs },
    },
  });
  return {
    actor,
    stop: (signal) => {
      if (actor.getSnapshot().status === 'active') actor.send({ type: 'stop.requested', signal });
    },
    run: () =>
      new Promise((resolve, reject) => {
        actor.subscribe({
          error: reject,
          complete: () => {
            clearInterval(own);
            const { end, message } = actor.getSnapshot().output ?? { end: 'faulted' as const, message: 'no output' };
            if (end !== 'stopped') journal.tell('manager.refused', { message });
            journal.tell('manager.ended', { end, message });
            const code = end === 'stopped' ? 0 : end === 'repair-refused' ? 2 : 1;
            void station.close().finally(() => {
              record.remove();
              resolve({ end, message, code });
            });
          },
        });
        actor.start();
      }),
  };
}
