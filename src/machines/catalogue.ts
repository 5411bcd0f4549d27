import type { AnyStateMachine } from 'xstate';
import { attachMachine } from './attach.machine.ts';
import { brokerWatchMachine } from './broker-watch.machine.ts';
import { childMachine } from './child.machine.ts';
import { credentialMachine } from './credential.machine.ts';
import { daemonMachine } from './daemon.machine.ts';
import { doorMachine } from './door.machine.ts';
import { durableMembershipMachine } from './durable-membership.machine.ts';
import { evictionMachine } from './eviction.machine.ts';
import { familyMachine } from './family.machine.ts';
import { fanoutMachine } from './fanout.machine.ts';
import { gateRepairMachine } from './gate-repair.machine.ts';
import { inventoryMachine } from './inventory.machine.ts';
import { laneMachine } from './lane.machine.ts';
import { launcherMachine } from './launcher.machine.ts';
import { leaseMachine } from './lease.machine.ts';
import { managerMachine } from './manager.machine.ts';
import { membershipMachine } from './membership.machine.ts';
import { nameWaitMachine } from './name-wait.machine.ts';
import { providerLinkMachine } from './provider-link.machine.ts';
import { providerSocketMachine } from './provider-socket.machine.ts';
import { railWaitMachine } from './rail-wait.machine.ts';
import { railsMachine } from './rails.machine.ts';
import { readerMachine } from './reader.machine.ts';
import { reaperMachine } from './reaper.machine.ts';
import { registrationMachine } from './registration.machine.ts';
import { registryMachine } from './registry.machine.ts';
import { renewalMachine } from './renewal.machine.ts';
import { repairRunMachine } from './repair-run.machine.ts';
import { retirementMachine } from './retirement.machine.ts';
import { stopMachine } from './stop.machine.ts';
import { storeProofMachine } from './store-proof.machine.ts';
import { systemMachine } from './system.machine.ts';
import { timerWriterMachine } from './timer-writer.machine.ts';

/**
 * Every machine of the project, for whatever walks over all of them: path tests, mutants, diagrams, the inspector.
 * A machine that is not here is not proved: a test compares this list with the `*.machine.ts` files.
 */

export interface CatalogueEntry {
  /** The machine's id, and the name of its samples, its test and its diagrams. */
  readonly name: string;
  readonly machine: AnyStateMachine;
  /**
   * Whether an actor of it may be started from a stored snapshot. Timers are not armed again on a restore, so a machine
   * with `after` never is: it starts anew and reads the facts from the broker.
   */
  readonly restorable: boolean;
}

/** Drawing of a machine in `diagrams/`; `system.svg` itself is the tree of actors. */
export const chartFile = (name: string): string => (name === 'system' ? 'system.chart.svg' : `${name}.svg`);

export const catalogue: readonly CatalogueEntry[] = [
  { name: 'brokerWatch', machine: brokerWatchMachine, restorable: false },
  { name: 'child', machine: childMachine, restorable: false },
  { name: 'credential', machine: credentialMachine, restorable: false },
  { name: 'daemon', machine: daemonMachine, restorable: false },
  { name: 'door', machine: doorMachine, restorable: false },
  { name: 'durable-membership', machine: durableMembershipMachine, restorable: false },
  { name: 'fanout', machine: fanoutMachine, restorable: false },
  { name: 'inventory', machine: inventoryMachine, restorable: false },
  { name: 'lane', machine: laneMachine, restorable: false },
  { name: 'launcher', machine: launcherMachine, restorable: false },
  { name: 'lease', machine: leaseMachine, restorable: false },
  { name: 'membership', machine: membershipMachine, restorable: false },
  { name: 'name-wait', machine: nameWaitMachine, restorable: false },
  { name: 'provider-link', machine: providerLinkMachine, restorable: false },
  { name: 'provider-socket', machine: providerSocketMachine, restorable: true },
  { name: 'rails', machine: railsMachine, restorable: false },
  { name: 'rail-wait', machine: railWaitMachine, restorable: false },
  { name: 'reader', machine: readerMachine, restorable: false },
  { name: 'reaper', machine: reaperMachine, restorable: true },
  { name: 'registry', machine: registryMachine, restorable: false },
  { name: 'repair-run', machine: repairRunMachine, restorable: false },
  { name: 'store-proof', machine: storeProofMachine, restorable: false },
  { name: 'eviction', machine: evictionMachine, restorable: false },
  { name: 'attach', machine: attachMachine, restorable: false },
  { name: 'family', machine: familyMachine, restorable: false },
  { name: 'gate-repair', machine: gateRepairMachine, restorable: false },
  { name: 'manager', machine: managerMachine, restorable: false },
  { name: 'registration', machine: registrationMachine, restorable: false },
  { name: 'renewal', machine: renewalMachine, restorable: false },
  { name: 'retirement', machine: retirementMachine, restorable: false },
  { name: 'stop', machine: stopMachine, restorable: false },
  { name: 'system', machine: systemMachine, restorable: false },
  { name: 'timer-writer', machine: timerWriterMachine, restorable: false },
];
