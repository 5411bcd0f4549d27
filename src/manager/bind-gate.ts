/** Registration and repair over the gate's row: what is seen, what is written, at which revision. */
import {
  endpointGateKey,
  frozenGate,
  type Gate,
  gateSchema,
  registrationKey,
  registrationSchema,
  reopenedGate,
} from '../domain/auth-rows.ts';
import { clearedKey, clearedSchema, cursorKey, cursorSchema } from '../domain/eviction.ts';
import {
  type ForgottenFact,
  type FrozenFact,
  gateRepairMachine,
  type Instance,
  type JudgeFact,
  type ReopenFact,
  type SeenFreeze,
} from '../machines/gate-repair.machine.ts';
import {
  type CommitFact,
  type ForgetFact,
  type GateCoordinates,
  type GateFact,
  type ObserveFact,
  type RegistrationOperation,
  registrationMachine,
} from '../machines/registration.machine.ts';
import { ask } from '../services/bind-effects.ts';
import type { Written } from './auth-rows.ts';
import { bindFamily, forgetCursor, keepCleared } from './bind-family.ts';
import { bindRailWait, lookForHolder } from './bind-rail.ts';
import type { ManagerPorts } from './ports.ts';

const settledBy = (gate: Gate): string => (typeof gate.settled === 'string' ? gate.settled : '');
const keyOf = ({ endpoint, instance }: Instance): string => endpointGateKey(endpoint, instance);

export function bindRegistration(ports: ManagerPorts) {
  const { rows, numbers } = ports;
  return registrationMachine.provide({
    actors: {
      family: bindFamily(ports),
      observeGate: ask<ObserveFact, RegistrationOperation>(async (operation, signal) => {
        const read = await rows.read({ key: keyOf(operation), schema: gateSchema, signal });
        if (read.type === 'store.unanswered' || read.type === 'store.refused') return read;
        if (read.type === 'unreadable') return { type: 'gate.unusable', reason: 'the gate cannot be read' };
        if (read.type === 'absent') {
          return { type: 'gate.open', revision: read.revision, generation: 0, processEpoch: 0 };
        }
        const { row: gate, revision } = read;
        const at = { generation: gate.generation, processEpoch: gate.processEpoch ?? 0 };
        if (gate.state === 'retired') return { type: 'gate.unusable', reason: 'the gate is retired' };
        if (gate.state === 'frozen') {
          const { opId, kind } = gate.op;
          if (opId === operation.opId) return { type: 'gate.ours', revision, ...at };
          return { type: 'gate.frozen', kind, opId, holder: gate.principal ?? 'somebody who is not named' };
        }
        return settledBy(gate) === operation.opId
          ? { type: 'gate.settled', ...at }
          : { type: 'gate.open', revision, ...at };
      }),
      freezeGate: ask<GateFact, GateCoordinates>(async (of, signal) => {
        // While the gate is open no freeze is current: a cursor that is left here belongs to one that has ended.
        const left = await rows.read({ key: cursorKey(of.endpoint, of.instance), schema: cursorSchema, signal });
        if (left.type === 'store.unanswered' || left.type === 'store.refused') return left;
        if (left.type !== 'absent') {
          const key = cursorKey(of.endpoint, of.instance);
          const removed = await rows.remove({ key, expect: left.revision, signal });
          if (removed.type === 'conflict') return { type: 'gate.raced' };
          if (removed.type !== 'removed') return removed;
        }
        const { opId, by, incarnation } = of;
        const op = { opId, kind: 'registration' as const, successor: incarnation };
        const value = frozenGate(of, { principal: by, op });
        return gateFact(await rows.write({ key: keyOf(of), value, expect: of.revision, signal }));
      }),
      commitRegistration: ask<CommitFact, GateCoordinates>(async (of, signal) => {
        const key = registrationKey(of.endpoint, of.instance);
        const read = await rows.read({ key, schema: registrationSchema, signal });
        if (read.type === 'store.unanswered' || read.type === 'store.refused') return read;
        if (read.type === 'unreadable') return { type: 'store.refused', reason: `${key} cannot be read` };
        const before = read.type === 'found' ? read.row : undefined;
        if (before?.opId === of.opId) return { type: 'registration.committed', processEpoch: before.processEpoch };
        const processEpoch = Math.max(of.processEpoch, before?.processEpoch ?? 0) + 1;
        const { opId, incarnation } = of;
        const value = { opId, processEpoch, incarnation, committedAt: ports.clock.now().wallMs };
        const written = await rows.write({ key, value, expect: read.revision, signal });
        if (written.type === 'conflict') return { type: 'registration.raced' };
        return written.type === 'written' ? { type: 'registration.committed', processEpoch } : written;
      }),
      reopenGate: ask<GateFact, GateCoordinates>(async (of, signal) => {
        const value = reopenedGate({ ...of, principal: of.by }, { opId: of.opId, processEpoch: of.processEpoch });
        return gateFact(await rows.write({ key: keyOf(of), value, expect: of.revision, signal }));
      }),
      forgetCursor: ask<ForgetFact, RegistrationOperation>(async (of, signal) => {
        // From here on holders get credentials again: what a repair had found out of them is used up.
        const key = clearedKey(of.endpoint, of.instance);
        const read = await rows.read({ key, schema: clearedSchema, signal });
        if (read.type === 'store.unanswered' || read.type === 'store.refused') return read;
        const removed = read.type === 'absent' ? undefined : await rows.remove({ key, expect: read.revision, signal });
        if (removed?.type === 'store.unanswered' || removed?.type === 'store.refused') return removed;
        return forgetCursor(ports, of, signal);
      }),
    },
    delays: { askAgain: numbers.askAgainMs },
  });
}

export function bindGateRepair(ports: ManagerPorts) {
  const { rows, numbers } = ports;
  return gateRepairMachine.provide({
    actors: {
      family: bindFamily(ports),
      railWait: bindRailWait(ports),
      lookForHolder: lookForHolder(ports),
      lookAtGate: ask<FrozenFact, Instance>(async (of, signal) => {
        const read = await rows.read({ key: keyOf(of), schema: gateSchema, signal });
        if (read.type === 'store.unanswered' || read.type === 'store.refused') return read;
        if (read.type === 'absent') return { type: 'gate.absent' };
        if (read.type === 'unreadable') return { type: 'gate.unreadable' };
        const { row: gate, revision } = read;
        if (gate.state === 'open') return { type: 'gate.open', settled: settledBy(gate) };
        const { opId, kind } = gate.op;
        if (gate.state === 'retired') return { type: 'gate.otherwise', kind: 'retired' };
        if (kind !== 'registration') return { type: 'gate.otherwise', kind: `frozen by a ${kind}` };
        return { type: 'freeze.seen', revision, opId, holder: gate.principal ?? '' };
      }),
      lookAtRegistration: ask<JudgeFact, SeenFreeze>(async (of, signal) => {
        const key = registrationKey(of.endpoint, of.instance);
        const read = await rows.read({ key, schema: registrationSchema, signal });
        if (read.type === 'store.unanswered' || read.type === 'store.refused') return read;
        if (read.type === 'unreadable') return { type: 'store.refused', reason: `${key} cannot be read` };
        return { type: 'registration.seen', landed: read.type === 'found' && read.row.opId === of.opId };
      }),
      openGate: ask<ReopenFact, SeenFreeze>(async (of, signal) => {
        const read = await rows.read({ key: keyOf(of), schema: gateSchema, signal });
        if (read.type === 'store.unanswered' || read.type === 'store.refused') return read;
        if (read.type !== 'found' || read.revision !== of.revision || read.row.op?.opId !== of.opId) {
          return { type: 'gate.raced' };
        }
        const trouble = await keepCleared(ports, of, signal);
        if (trouble !== undefined) return trouble;
        const epoch = of.landed ? await committedEpoch(ports, of, signal) : undefined;
        if (epoch !== undefined && typeof epoch !== 'number') return epoch;
        const value = reopenedGate(read.row, { opId: of.opId, processEpoch: epoch });
        return gateFact(await rows.write({ key: keyOf(of), value, expect: of.revision, signal }));
      }),
      forgetCursor: ask<ForgottenFact, SeenFreeze>((of, signal) => forgetCursor(ports, of, signal)),
    },
    delays: { askAgain: numbers.askAgainMs },
  });
}

async function committedEpoch({ rows }: ManagerPorts, of: SeenFreeze, signal: AbortSignal) {
  const key = registrationKey(of.endpoint, of.instance);
  const read = await rows.read({ key, schema: registrationSchema, signal });
  if (read.type === 'found') return read.row.processEpoch;
  if (read.type === 'store.unanswered' || read.type === 'store.refused') return read;
  return { type: 'store.refused', reason: `${key} cannot be read` } as const;
}

const gateFact = (written: Written): GateFact => {
  if (written.type === 'written') return { type: 'gate.written', revision: written.revision };
  return written.type === 'conflict' ? { type: 'gate.raced' } : written;
};
