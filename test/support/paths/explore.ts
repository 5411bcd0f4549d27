import { adjacencyMapToArray, getAdjacencyMap, getShortestPaths, type TraversalOptions } from '@xstate/graph';
import type { ActorLogic, AnyEventObject, AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import { type Anatomy, anatomyOf } from './anatomy.ts';
import { type Bench, benchOf, type Move } from './bench.ts';
import type { Life } from './life.ts';
import type { AnySamples } from './samples.ts';
import { type Step, stepOf } from './seen.ts';
import { type Shot, shotsOf } from './shots.ts';

/** A snapshot as the exploration tells it from others: state value, remembered history, clamped context, children. */
export interface Spot {
  readonly key: string;
  readonly snapshot: AnyMachineSnapshot;
  readonly clamp: Readonly<Record<string, unknown>>;
  readonly life: Life;
}

/** What a walk goes over. */
interface Ground {
  readonly bench: Bench;
  readonly samples: AnySamples;
  readonly anatomy: Anatomy;
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
  /** What the walk calculated on the way: the beginning, then a move a shot. */
  readonly moves: readonly Move[];
}

export interface Beginning {
  readonly input: string;
  readonly spot: Spot;
  readonly move: Move;
  readonly step: Step<never>;
}

export interface Exploration extends Ground {
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

export function spotOf({ anatomy, samples, bench }: Ground, snapshot: AnyMachineSnapshot): Spot {
  const invoked = new Set(anatomy.invokes.map(({ id }) => id));
  const history = Object.fromEntries(
    Object.entries(snapshot.historyValue).map(([id, nodes]) => [
      id.split('.').at(-1) ?? id,
      (nodes ?? []).map((node) => node.path.at(-1)).join(' + '),
    ]),
  );
  const life = bench.lifeOf(snapshot);
  const clampChild = samples.clampChild ?? ((id: string) => id);
  const spawned = [...life.children].filter((id) => !invoked.has(id)).map(clampChild);
  const ended = Object.keys(snapshot.children).filter((id) => invoked.has(id) && !life.children.has(id));
  const clamp = {
    ...samples.clamp(snapshot.context as never),
    ...history,
    ...(spawned.length === 0 ? {} : { children: spawned }),
    ...(snapshot.status !== 'active' || ended.length === 0 ? {} : { ended }),
  };
  const key = JSON.stringify([snapshot.status, snapshot.value, clamp, [...life.timers].sort()]);
  return { key, snapshot, clamp, life };
}

interface Taken {
  readonly move: Move;
  readonly step: Step<never>;
}

/** Is shown every step of a walk as soon as it is calculated, and may end the walk by throwing. */
export type Witness = (step: Step<never>) => void;

/** The machine as @xstate/graph walks over it: its own transition function, each step calculated once and kept. */
function walkable({ bench, anatomy }: Ground, input: string, witness: Witness) {
  const known = new WeakMap<AnyMachineSnapshot, Map<AnyEventObject, Taken>>();
  const take = (before: AnyMachineSnapshot, event: AnyEventObject): Taken => {
    const from = known.get(before) ?? new Map<AnyEventObject, Taken>();
    known.set(before, from);
    return keep(from, event, () => {
      const move = bench.step(before, event);
      const step = stepOf<never>(anatomy, input, move);
      witness(step);
      return { move, step };
    });
  };
  const logic = {
    transition: (before: AnyMachineSnapshot, event: AnyEventObject) => take(before, event).move.after,
    getInitialSnapshot: () => {
      throw new Error('every walk begins from a given snapshot');
    },
  } as unknown as ActorLogic<AnyMachineSnapshot, AnyEventObject>;
  return { logic, take };
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

function keep<Key, Value>(known: Map<Key, Value>, key: Key, make: () => Value): Value {
  const value = known.get(key) ?? make();
  known.set(key, value);
  return value;
}

/** Walks over the whole machine: every sample in every state, from every input. */
export function explore(machine: AnyStateMachine, samples: AnySamples, witness: Witness = () => {}): Exploration {
  const bench = benchOf(machine, samples.peers ?? []);
  const anatomy = anatomyOf(bench.machine);
  const ground: Ground = { bench, samples, anatomy };
  const shots = shotsOf(anatomy, samples);
  const byEvent = new Map(shots.map((shot) => [shot.event, shot]));
  const shotOf = (event: AnyEventObject): Shot => {
    const shot = byEvent.get(event);
    if (shot === undefined) throw new Error(`no sample for ${event.type}`);
    return shot;
  };
  const known = new Map<AnyMachineSnapshot, Spot>();
  const spot = (snapshot: AnyMachineSnapshot) => keep(known, snapshot, () => spotOf(ground, snapshot));
  const spots = new Map<string, Spot>();
  const edges: Edge[] = [];
  const beginnings: Beginning[] = [];
  const routes = new Map<string, Route>();
  let limitHit = false;
  for (const [input, value] of Object.entries(samples.inputs)) {
    const move = bench.begin(value);
    const first = stepOf<never>(anatomy, input, move);
    witness(first);
    beginnings.push({ input, spot: spot(move.after), move, step: first });
    const { logic, take } = walkable(ground, input, witness);
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
      const taken = take(state, event);
      const to = spot(taken.move.after);
      keep(spots, to.key, () => to);
      edges.push({ input, from: spot(state), to, shot: shotOf(event), ...taken });
    }
    for (const { state, steps } of walked?.paths ?? []) {
      const taken = steps.slice(1).map(({ event }, n) => ({ event, from: steps[n]?.state ?? state }));
      routes.set(routeKey(input, spot(state)), {
        input,
        shots: taken.map(({ event }) => shotOf(event)),
        moves: [move, ...taken.map(({ from, event }) => take(from, event).move)],
      });
    }
  }
  return { ...ground, shots, beginnings, spots: [...spots.values()], edges, routes, limitHit };
}

export const routeKey = (input: string, { key }: Spot): string => `${input} ${key}`;

/** An edge on which something happens. */
export const isReal = ({ from, to, move, step }: Edge): boolean =>
  !step.ignored || from.key !== to.key || move.effects.length > 0;
