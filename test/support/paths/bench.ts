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
import { pathOf } from './anatomy.ts';
import { type AskedAction, type Effect, effectOf, spawnedSilently } from './effects.ts';
import { canCome, endOf, isSameLife, type Life, lifeAfter, noLife } from './life.ts';
import { emptyStage, puppetLogic, type Stage } from './puppet.ts';

/** One step of a machine, calculated and not taken: nothing outside moves. */
export interface Move {
  readonly before: AnyMachineSnapshot | undefined;
  readonly event: AnyEventObject;
  readonly after: AnyMachineSnapshot;
  readonly effects: readonly Effect[];
  /** Every transition that was taken, eventless ones and those of raised facts included. */
  readonly taken: readonly AnyTransitionDefinition[];
  /** Paths of the states that were active in between: an eventless transition may leave a state at once. */
  readonly through: ReadonlySet<string>;
  readonly lifeBefore: Life;
  readonly life: Life;
}

/** A machine on the bench: puppets in the place of its effects and children, its own actions without hands. */
export interface Bench {
  readonly machine: AnyStateMachine;
  /** Where the puppets of a live run appear. */
  stage: Stage;
  /** What still moves the machine in a snapshot that this bench has calculated. */
  lifeOf(snapshot: AnyMachineSnapshot): Life;
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
  const lives = new WeakMap<AnyMachineSnapshot, Life>();
  const lifeOf = (snapshot: AnyMachineSnapshot | undefined) =>
    (snapshot === undefined ? undefined : lives.get(snapshot)) ?? noLife;
  /** The late end of a child that has already ended, or of a timer that has elapsed: XState never delivers one. */
  const isSpent = (before: AnyMachineSnapshot, event: AnyEventObject) =>
    !canCome(lifeOf(before), event) && (endOf(event) === undefined || (endOf(event) as string) in before.children);
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
    const through = new Set<string>();
    const watch = scope.system.inspect((inspected) => {
      if (inspected.type !== '@xstate.microstep') return;
      taken.push(...inspected._transitions);
      for (const node of (inspected.snapshot as AnyMachineSnapshot)._nodes) through.add(pathOf(node));
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
    const actions = asked.flatMap((action) => effectOf(action, parent) ?? []);
    const effects = [...actions, ...spawnedSilently(before?.children ?? {}, after.children, actions)];
    const lifeBefore = lifeOf(before);
    const life = lifeAfter(lifeBefore, { before, event, after, effects });
    // A snapshot stands for its life too: where only that changed, it becomes another one.
    if (after === before && !isSameLife(life, lifeBefore)) after = { ...after };
    lives.set(after, life);
    return { before, event, after, taken, through, effects, lifeBefore, life };
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
    lifeOf,
    step: (before, event) => {
      if (!isSpent(before, event)) return calculate(before, event, (inert) => machine.transition(before, event, inert));
      const life = lifeOf(before);
      return { before, event, after: before, taken: [], through: new Set(), effects: [], lifeBefore: life, life };
    },
  };
}
