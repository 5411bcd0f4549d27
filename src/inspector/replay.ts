/**
 * Replays a recording through the machines as they are today: each recorded actor gets its input and, one after the other,
 * the events that it met; where it would now come to other states, ask for other effects or tell others something else, that
 * is a difference. Nothing is done: effects are asked for and not carried out.
 */
import {
  type AnyActorLogic,
  type AnyActorRef,
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  fromCallback,
} from 'xstate';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { headSchema, type RecordedStep, type RecordingHead, stepSchema } from '../domain/recording.ts';
import { catalogue } from '../machines/catalogue.ts';
import { leavesOf } from './ring.ts';

/** What came of one step. */
export interface Outcome {
  readonly to: readonly string[];
  readonly asked: readonly string[];
  readonly said: readonly string[];
}
export interface Difference {
  /** Line of the recording. */
  readonly line: number;
  readonly machine: string;
  readonly id: string;
  readonly on: string;
  readonly was: Outcome;
  readonly now: Outcome;
  /** Steps of this actor after it: from here on its history is another one. */
  readonly rest: number;
}
export interface Replay {
  readonly head: RecordingHead;
  readonly actors: number;
  readonly steps: number;
  readonly differences: readonly Difference[];
  /** Machines of the recording that are in no catalogue any more. */
  readonly unknown: readonly string[];
}

interface Recorded {
  readonly machine: string;
  readonly id: string;
  readonly steps: { readonly line: number; readonly step: RecordedStep }[];
}

/** @throws Plane3Error `replay.file`, naming the line that cannot be read. The last line may be cut short: a crash does that. */
export function replay(path: string, text: string): Replay {
  const lines = text.split('\n').filter((line) => line !== '');
  const refuse = (reason: string) => new Plane3Error('replay.file', { path, reason });
  const [first, ...others] = lines;
  const head = headSchema.safeParse(read(first ?? ''));
  if (!head.success) throw refuse('its first line is not the head of a recording');
  const actors = new Map<string, Recorded>();
  for (const [n, text] of others.entries()) {
    const line = n + 2;
    const parsed = stepSchema.safeParse(read(text));
    if (!parsed.success) {
      if (line === lines.length) break;
      throw refuse(`line ${line} is not a step`);
    }
    const step = parsed.data;
    const { machine, id = step.actor } = step;
    const known = actors.get(step.actor) ?? (machine === undefined ? undefined : { machine, id, steps: [] });
    // An actor that began before the recording has no beginning in it.
    if (known === undefined) continue;
    actors.set(step.actor, known);
    known.steps.push({ line, step });
  }
  const recorded = [...actors.values()];
  const machines = new Map(catalogue.map(({ name, machine }) => [name, machine]));
  return {
    head: head.data,
    actors: recorded.length,
    steps: recorded.reduce((sum, { steps }) => sum + steps.length, 0),
    differences: recorded
      .flatMap((actor) => {
        const machine = machines.get(actor.machine);
        return machine === undefined ? [] : (differenceOf(machine, actor) ?? []);
      })
      .sort((a, b) => a.line - b.line),
    unknown: [...new Set(recorded.flatMap(({ machine }) => (machines.has(machine) ? [] : [machine])))],
  };
}

/** The first step that comes out otherwise. */
function differenceOf(original: AnyStateMachine, { machine: name, id, steps }: Recorded): Difference | undefined {
  const machine = withoutHands(original);
  let before: AnyMachineSnapshot | undefined;
  for (const [n, { line, step }] of steps.entries()) {
    const was = { to: step.to, asked: [...(step.asked ?? [])].sort(), said: step.said ?? [] };
    let now: Outcome;
    try {
      const { after, ...outcome } = take(machine, before, step);
      before = after;
      now = after.status === 'error' ? failed(after.error) : outcome;
    } catch (error) {
      now = failed(error);
    }
    if (JSON.stringify(was) !== JSON.stringify(now)) {
      return { line, machine: name, id, on: step.on.type, was, now, rest: steps.length - n - 1 };
    }
  }
  return undefined;
}

const failed = (error: unknown): Outcome => ({
  to: [`(fails: ${error instanceof Error ? error.message : String(error)})`],
  asked: [],
  said: [],
});

/** Stands in for every effect and every child: it is asked for, and does nothing. */
const nothing: AnyActorLogic = fromCallback(() => {});

/** A machine whose own actions do nothing outside of it. */
function withoutHands(original: AnyStateMachine): AnyStateMachine {
  const { actors, actions } = original.implementations;
  const silent = Object.entries(actions).flatMap(([name, action]) =>
    typeof action === 'function' && !('resolve' in action) ? [[name, () => {}] as const] : [],
  );
  return original.provide({
    actors: Object.fromEntries(Object.keys(actors).map((name) => [name, nothing])),
    actions: Object.fromEntries(silent),
  });
}

interface Asked {
  readonly type: string;
  readonly params?: unknown;
}

function take(machine: AnyStateMachine, before: AnyMachineSnapshot | undefined, { on }: RecordedStep) {
  const actions: Asked[] = [];
  const scope: AnyActorScope = { ...inertScope(), actionExecutor: (action) => void actions.push(action) };
  const { input } = on as { input?: unknown };
  const after = before === undefined ? machine.getInitialSnapshot(scope, input) : machine.transition(before, on, scope);
  // By the children themselves: not every one is asked for by an action.
  const asked = Object.entries(after.children as Readonly<Record<string, AnyActorRef | undefined>>).flatMap(
    ([id, child]) => (child === undefined || child === before?.children[id] ? [] : [id]),
  );
  const said = actions.flatMap(({ type, params }) => {
    const { event, delay } = (params ?? {}) as { event?: { type: string }; delay?: number };
    return type === 'xstate.sendTo' && delay === undefined && event !== undefined ? [event.type] : [];
  });
  return { after, to: leavesOf(after.value), asked: asked.sort(), said };
}

/** Lets a machine believe that it has a parent. A system of its own for each step: a system id can be taken once. */
function inertScope(): AnyActorScope {
  const parent = createActor(nothing);
  const self = createActor(nothing, { parent }) as AnyActorRef;
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

function read(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
