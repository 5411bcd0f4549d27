import {
  type AnyActorLogic,
  type AnyActorRef,
  type AnyActorScope,
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyTransitionDefinition,
  createActor,
} from 'xstate';
import { type AskedAction, type Effect, effectOf, spawnedSilently } from './effects.ts';
import { emptyStage, puppetLogic, type Stage } from './puppet.ts';

/** One step of a machine, calculated and not taken: nothing outside moves. */
export interface Move {
  readonly before: AnyMachineSnapshot | undefined;
  readonly event: AnyEventObject;
  readonly after: AnyMachineSnapshot;
  readonly effects: readonly Effect[];
  /** Every transition that was taken, eventless ones and those of raised facts included. */
  readonly taken: readonly AnyTransitionDefinition[];
}

/** A machine on the bench: puppets in the place of its effects and children, its own actions without hands. */
export interface Bench {
  readonly machine: AnyStateMachine;
  /** Where the puppets of a live run appear. */
  stage: Stage;
  begin(input: unknown): Move;
  step(before: AnyMachineSnapshot, event: AnyEventObject): Move;
}

/** Lets the machine believe that it has a parent, and that the peers it looks up in its system are there. */
function inertScope(peers: readonly string[], logic: AnyActorLogic): AnyActorScope {
  const root = createActor(logic);
  for (const systemId of peers) createActor(logic, { parent: root, systemId });
  const self = createActor(logic, { parent: root }) as AnyActorRef;
  return {
    self,
    id: self.id,
    sessionId: self.sessionId,
    system: self.system,
    logger: () => {},
    defer: () => {},
    emit: () => {},
    stopChild: () => {},
    actionExecutor: () => {},
  };
}

export function benchOf(original: AnyStateMachine, peers: readonly string[]): Bench {
  let stage = emptyStage();
  const puppet = puppetLogic(() => stage);
  const { actors, actions } = original.implementations;
  const silent = Object.entries(actions).flatMap(([name, action]) =>
    typeof action === 'function' && !('resolve' in action) ? [[name, () => {}] as const] : [],
  );
  const machine = original.provide({
    actors: Object.fromEntries(Object.keys(actors).map((name) => [name, puppet])),
    actions: Object.fromEntries(silent),
  });
  let scope: AnyActorScope | undefined;
  const calculate = (
    before: AnyMachineSnapshot | undefined,
    event: AnyEventObject,
    next: (scope: AnyActorScope) => AnyMachineSnapshot,
  ): Move => {
    // A child with a system id stays registered: the next step then needs a system of its own.
    if (scope === undefined || Object.keys(scope.system.getAll()).length > peers.length) {
      scope = inertScope(peers, puppet);
    }
    const parent = scope.self._parent;
    const asked: AskedAction[] = [];
    const taken: AnyTransitionDefinition[] = [];
    const watch = scope.system.inspect((inspected) => {
      if (inspected.type === '@xstate.microstep') taken.push(...inspected._transitions);
    });
    let after: AnyMachineSnapshot;
    try {
      after = next({ ...scope, actionExecutor: (action) => void asked.push(action) });
    } catch (error) {
      if (before === undefined) throw error;
      after = { ...before, status: 'error', error } as AnyMachineSnapshot;
    } finally {
      watch.unsubscribe();
    }
    const effects = asked.flatMap((action) => effectOf(action, parent) ?? []);
    return {
      before,
      event,
      after,
      taken,
      effects: [...effects, ...spawnedSilently(before?.children ?? {}, after.children, effects)],
    };
  };
  return {
    machine,
    get stage() {
      return stage;
    },
    set stage(next) {
      stage = next;
    },
    begin: (input) =>
      calculate(undefined, { type: 'xstate.init', input }, (inert) => machine.getInitialSnapshot(inert, input)),
    step: (before, event) => calculate(before, event, (inert) => machine.transition(before, event, inert)),
  };
}
