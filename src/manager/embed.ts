/**
 * `plane3/manager`: the manager's side, for a manager process that is not ours. Each piece of work is a promise here, and the
 * machine behind it is exported beside it. Every one takes a signal: once that is aborted the promise rejects with its
 * reason, and nothing is sent any more.
 *
 *   const { ports, store } = await openWorkstation({ root, space, url });      // or managerPorts({ … }) over one's own
 *   await waitForRail(ports, {}, { signal });
 *   await proveStore(ports, { store }, { signal });
 *   await repairGate(ports, { endpoint: 'manager', instance }, { signal });
 *   await register(ports, { endpoint: 'manager', instance, incarnation }, { signal });
 */
import { randomBytes } from 'node:crypto';
import { createActor } from 'xstate';
import { railWaitBounds } from '../domain/manager-numbers.ts';
import type { AttachInput, AttachOutcome } from '../machines/attach.machine.ts';
import type { EvictionOutcome, Freeze } from '../machines/eviction.machine.ts';
import type { FamilyOutcome } from '../machines/family.machine.ts';
import type { RepairOutcome } from '../machines/gate-repair.machine.ts';
import type { RailWaitOutcome } from '../machines/rail-wait.machine.ts';
import type { RegistrationOutcome } from '../machines/registration.machine.ts';
import type { RetirementOutcome } from '../machines/retirement.machine.ts';
import type { ProofOutcome } from '../machines/store-proof.machine.ts';
import type { Credential } from '../services/credential.ts';
import type { SecretStore } from '../services/ports.ts';
import { type AttachPorts, bindAttach } from './bind-attach.ts';
import { bindEviction, bindFamily, type Family } from './bind-family.ts';
import { bindGateRepair, bindRegistration } from './bind-gate.ts';
import { bindRailWait, bindStoreProof } from './bind-rail.ts';
import { bindRenewal, type RenewalPorts } from './bind-renewal.ts';
import { bindRetirement } from './bind-retirement.ts';
import type { EmbeddedPorts, ManagerPorts } from './ports.ts';
import { ADMIN_RAIL } from './rail-line.ts';
import { type Cancellable, runToEnd } from './run.ts';

export { attachMachine } from '../machines/attach.machine.ts';
export { evictionMachine } from '../machines/eviction.machine.ts';
export { familyMachine } from '../machines/family.machine.ts';
export { gateRepairMachine } from '../machines/gate-repair.machine.ts';
export { railWaitMachine } from '../machines/rail-wait.machine.ts';
export { registrationMachine } from '../machines/registration.machine.ts';
export { renewalMachine } from '../machines/renewal.machine.ts';
export { retirementMachine } from '../machines/retirement.machine.ts';
export { storeProofMachine } from '../machines/store-proof.machine.ts';
export { managerPorts } from './ports.ts';
export { revoker } from './revoker.ts';
export { standingCredentials } from './standing.ts';
export { openWorkstation } from './workstation.ts';
export type { Cancellable, EmbeddedPorts, ManagerPorts };

const opId = (): string => randomBytes(12).toString('hex');
export const railBounds = ({ numbers }: Pick<ManagerPorts, 'numbers'>, waitMs = numbers.railWaitMs) => ({
  rail: ADMIN_RAIL,
  wait: railWaitBounds(numbers, waitMs),
});

/** Asks the rail until a daemon answers it, at most `waitMs` (60 s unless told). By default for the store's identity. */
export function waitForRail(
  ports: Pick<ManagerPorts, 'line' | 'numbers'>,
  asked: { op?: string; args?: unknown; waitMs?: number } = {},
  cancel: Cancellable = {},
): Promise<RailWaitOutcome> {
  const { op = 'reloadStoreIdentity', args = { challenge: randomBytes(24).toString('hex') }, waitMs } = asked;
  const { rail, wait } = railBounds(ports, waitMs);
  return runToEnd(bindRailWait(ports), { ...wait, rail, op, args }, cancel);
}

/** Whether the lease holder re-reads `store`. */
export function proveStore(
  ports: Pick<ManagerPorts, 'line' | 'rows' | 'space' | 'numbers'>,
  { store, waitMs }: { store: SecretStore; waitMs?: number },
  cancel: Cancellable = {},
): Promise<ProofOutcome> {
  const challenge = randomBytes(24).toString('hex');
  return runToEnd(bindStoreProof({ ...ports, store }), { ...railBounds(ports, waitMs), challenge }, cancel);
}

/** Holders of one freeze, verified gone in requests of at most 256, each recorded before the next leaves. */
export function evictHolders(
  ports: Pick<ManagerPorts, 'line' | 'rows' | 'numbers'>,
  { holders, waitMs, ...freeze }: Freeze & { holders: readonly string[]; waitMs?: number },
  cancel: Cancellable = {},
): Promise<EvictionOutcome> {
  const { rail, wait } = railBounds(ports, waitMs);
  return runToEnd(bindEviction(ports), { ...freeze, holders, rail, wait, batch: ports.numbers.evictionBatch }, cancel);
}

/** Revokes every credential of a frozen family, then evicts its holders. */
export function evictFamily(
  ports: ManagerPorts,
  { waitMs, ...freeze }: Freeze & { waitMs?: number },
  cancel: Cancellable = {},
): Promise<FamilyOutcome> {
  const bounds = railBounds(ports, waitMs);
  return runToEnd(bindFamily(ports), { ...freeze, ...bounds, batch: ports.numbers.evictionBatch }, cancel);
}

/** Opens a registration gate that a manager froze and left. Refuses by name, and leaves the gate as it is. */
export function repairGate(
  ports: ManagerPorts,
  { endpoint, instance, waitMs }: Family & { waitMs?: number },
  cancel: Cancellable = {},
): Promise<RepairOutcome> {
  const bounds = railBounds(ports, waitMs);
  return runToEnd(bindGateRepair(ports), { endpoint, instance, ...bounds, batch: ports.numbers.evictionBatch }, cancel);
}

/** One registration: freeze, revoke, evict, epoch, reopen. */
export function register(
  ports: EmbeddedPorts,
  of: Family & { incarnation: string; opId?: string; waitMs?: number },
  cancel: Cancellable = {},
): Promise<RegistrationOutcome> {
  const { endpoint, instance, incarnation, waitMs } = of;
  const input = {
    endpoint,
    instance,
    incarnation,
    opId: of.opId ?? opId(),
    by: ports.principal,
    ...railBounds(ports, waitMs),
    batch: ports.numbers.evictionBatch,
    windowMs: ports.numbers.executorWindowMs,
  };
  return runToEnd(bindRegistration(ports), input, cancel);
}

/** The terminal steps of one lifecycle. Done again, it goes on where the last attempt stood, and then reports zero. */
export function retire(
  ports: EmbeddedPorts,
  { principal, waitMs }: { principal: string; waitMs?: number },
  cancel: Cancellable = {},
): Promise<RetirementOutcome> {
  const input = {
    principal,
    opId: opId(),
    by: ports.principal,
    ...railBounds(ports, waitMs),
    batch: ports.numbers.evictionBatch,
  };
  return runToEnd(bindRetirement(ports), input, cancel);
}

/** Renews standing credentials for as long as it is not cancelled; the promise never resolves, it rejects with the reason. */
export function renewCredentials(
  ports: RenewalPorts,
  { waitMs }: { waitMs?: number } = {},
  cancel: Cancellable = {},
): Promise<never> {
  const input = { ...railBounds(ports, waitMs), retryMs: ports.numbers.renewalRetryMs };
  return runToEnd(bindRenewal(ports), input, cancel) as Promise<never>;
}

export interface Attached {
  readonly principal: string;
  readonly credential: Credential;
  /** Ends the session: its holder is revoked, verified gone and forgotten. */
  end(): Promise<AttachOutcome>;
}

/**
 * One serving holder for a session. Cancelled while it is issued, what was issued is ended again.
 * @returns `refused` with the outcome, when the session has a holder already or its row was not written.
 */
export function attach(
  ports: Omit<AttachPorts, 'issued'>,
  { session, waitMs }: { session: string; waitMs?: number },
  { signal }: Cancellable = {},
): Promise<Attached | { refused: AttachOutcome }> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    let credential: Credential | undefined;
    const machine = bindAttach({
      ...ports,
      issued: (issued) => {
        credential = issued;
      },
    });
    const input: AttachInput = { session, ...railBounds(ports, waitMs) };
    const actor = createActor(machine, { input });
    const ended = new Promise<AttachOutcome>((tell, fail) => {
      actor.subscribe({
        error: fail,
        complete: () => tell(actor.getSnapshot().output ?? { type: 'attach.ended', end: 'failed', reason: '' }),
      });
    });
    const cancel = () => {
      actor.send({ type: 'session.ended' });
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', cancel, { once: true });
    const following = actor.subscribe((snapshot) => {
      if (!snapshot.matches('Attached') || credential === undefined) return;
      following.unsubscribe();
      signal?.removeEventListener('abort', cancel);
      resolve({
        principal: snapshot.context.principal,
        credential,
        end: () => {
          actor.send({ type: 'session.ended' });
          return ended;
        },
      });
    });
    ended.then((outcome) => resolve({ refused: outcome }), reject);
    actor.start();
  });
}
