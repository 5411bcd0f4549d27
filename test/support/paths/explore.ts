import { adjacencyMapToArray, getAdjacencyMap, getShortestPaths, type TraversalOptions } from '@xstate/graph';
import type { ActorLogic, AnyEventObject, AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import { type Anatomy, anatomyOf } from './anatomy.ts';
import { type Bench, benchOf, type Move } from './bench.ts';
import type { AnySamples } from './samples.ts';
import { type Step, stepOf } from './seen.ts';
import { type Shot, shotsOf } from './shots.ts';

/** A snapshot as the exploration tells it from others: state value, remembered history, clamped context, children. */
export interface Spot {
  readonly key: string;
  readonly snapshot: AnyMachineSnapshot;
  readonly clamp: Readonly<Record<string, unknown>>;
}

export interface Edge {
  readonly input: string;
  readonly from: Spot;
  readonly to: Spot;
  readonly shot: Shot;
  readonly move: Move;
  readonly step: Step<never>;
}

/** The way to a spot: the shots that lead there from the beginning. */
export interface Route {
  readonly input: string;
  readonly shots: readonly Shot[];
  /** Key of the spot where it ends. */
  readonly ends: string;
}

export interface Beginning {
  readonly input: string;
  readonly spot: Spot;
  readonly move: Move;
  readonly step: Step<never>;
}

export interface Exploration {
  readonly bench: Bench;
  readonly samples: AnySamples;
  readonly anatomy: Anatomy;
  readonly shots: readonly Shot[];
  /** The first step of each run. */
  readonly beginnings: readonly Beginning[];
  readonly spots: readonly Spot[];
  readonly edges: readonly Edge[];
  /** Shortest routes, by `routeKey`. */
  readonly routes: ReadonlyMap<string, Route>;
  readonly limitHit: boolean;
}

const defaultLimit = 200_000;

export function spotOf(anatomy: Anatomy, samples: AnySamples, snapshot: AnyMachineSnapshot): Spot {
  const invoked = new Set(anatomy.invokes.map(({ id }) => id));
  const history = Object.fromEntries(
    Object.entries(snapshot.historyValue).map(([id, nodes]) => [
      id.split('.').at(-1) ?? id,
      (nodes ?? []).map((node) => node.path.at(-1)).join(' + '),
    ]),
  );
  const spawned = Object.keys(snapshot.children).filter((id) => !invoked.has(id));
  const clamp = {
    ...samples.clamp(snapshot.context as never),
    ...history,
    ...(spawned.length === 0 ? {} : { children: spawned.sort() }),
  };
  return { key: JSON.stringify([snapshot.status, snapshot.value, clamp]), snapshot, clamp };
}

/** The machine as @xstate/graph walks over it: its own transition function, each step calculated once and kept. */
function walkable(bench: Bench) {
  const moves = new WeakMap<AnyMachineSnapshot, Map<AnyEventObject, Move>>();
  const moveOf = (before: AnyMachineSnapshot, event: AnyEventObject): Move => {
    const known = moves.get(before) ?? new Map<AnyEventObject, Move>();
    moves.set(before, known);
    const move = known.get(event) ?? bench.step(before, event);
    known.set(event, move);
    return move;
  };
  const logic = {
    transition: (before: AnyMachineSnapshot, event: AnyEventObject) => moveOf(before, event).after,
    getInitialSnapshot: () => {
      throw new Error('every walk begins from a given snapshot');
    },
  } as unknown as ActorLogic<AnyMachineSnapshot, AnyEventObject>;
  return { logic, moveOf };
}

type Walk = TraversalOptions<AnyMachineSnapshot, AnyEventObject, unknown>;

/** Everything that can be reached, and the shortest routes; undefined when the limit was hit. */
function walk(logic: ActorLogic<AnyMachineSnapshot, AnyEventObject>, options: Walk) {
  try {
    return { steps: adjacencyMapToArray(getAdjacencyMap(logic, options)), paths: getShortestPaths(logic, options) };
  } catch (error) {
    if (error instanceof Error && error.message === 'Traversal limit exceeded') return undefined;
    throw error;
  }
}

const keep = <Key, Value>(known: Map<Key, Value>, key: Key, make: () => Value): Value => {
  const value = known.get(key) ?? make();
  known.set(key, value);
  return value;
};

/** Walks over the whole machine: every sample in every state, from every input. */
export function explore(machine: AnyStateMachine, samples: AnySamples): Exploration {
  const bench = benchOf(machine, samples.peers ?? []);
  const anatomy = anatomyOf(bench.machine);
  const shots = shotsOf(anatomy, samples);
  const byEvent = new Map(shots.map((shot) => [shot.event, shot]));
  const shotOf = (event: AnyEventObject): Shot => {
    const shot = byEvent.get(event);
    if (shot === undefined) throw new Error(`no sample for ${event.type}`);
    return shot;
  };
  const known = new Map<AnyMachineSnapshot, Spot>();
  const spot = (snapshot: AnyMachineSnapshot) => keep(known, snapshot, () => spotOf(anatomy, samples, snapshot));
  const { logic, moveOf } = walkable(bench);
  const spots = new Map<string, Spot>();
  const edges: Edge[] = [];
  const beginnings: Beginning[] = [];
  const routes = new Map<string, Route>();
  let limitHit = false;
  for (const [input, value] of Object.entries(samples.inputs)) {
    const move = bench.begin(value);
    beginnings.push({ input, spot: spot(move.after), move, step: stepOf<never>(anatomy, input, move) });
    const walked = walk(logic, {
      fromState: move.after,
      events: shots.map(({ event }) => event),
      serializeState: (snapshot) => spot(snapshot).key,
      serializeEvent: (event) => shotOf(event).label,
      stopWhen: (snapshot) => snapshot.status !== 'active',
      limit: samples.limit ?? defaultLimit,
    });
    limitHit ||= walked === undefined;
    keep(spots, spot(move.after).key, () => spot(move.after));
    for (const { state, event } of walked?.steps ?? []) {
      const taken = moveOf(state, event);
      const to = spot(taken.after);
      keep(spots, to.key, () => to);
      const step = stepOf<never>(anatomy, input, taken);
      edges.push({ input, from: spot(state), to, shot: shotOf(event), move: taken, step });
    }
    for (const { state, steps } of walked?.paths ?? []) {
      const { key } = spot(state);
      routes.set(routeKey(input, spot(state)), {
        input,
        shots: steps.slice(1).map(({ event }) => shotOf(event)),
        ends: key,
      });
    }
  }
  return { bench, samples, anatomy, shots, beginnings, spots: [...spots.values()], edges, routes, limitHit };
}

export const routeKey = (input: string, { key }: Spot): string => `${input} ${key}`;

/** An edge on which something happens. */
export const isReal = ({ from, to, move, step }: Edge): boolean =>
  !step.ignored || from.key !== to.key || move.effects.length > 0;
