import {
  type ActorLogic,
  type AnyActorRef,
  type AnyEventObject,
  type AnyMachineSnapshot,
  createActor,
  type Snapshot,
} from 'xstate';
import type { Move } from './bench.ts';
import { PathClock } from './clock.ts';
import { type Effect, effectOf, spawnedSilently } from './effects.ts';
import { type Exploration, isReal, type Route, routeKey } from './explore.ts';
import { canCome } from './life.ts';
import { emptyStage, type PuppetCommand, puppetLogic } from './puppet.ts';
import type { Shot } from './shots.ts';

/**
 * Kind 4: routes taken by a live actor. It has a parent that keeps what is reported, puppets that answer when they are
 * told to, and a simulated clock. After every shot the live actor is compared with what was calculated: state, context,
 * effects in their order, what the parent heard, which children run and which timers are armed.
 */

/** A parent, and no more: it keeps what it hears. */
function parentLogic(heard: AnyEventObject[]): ActorLogic<Snapshot<unknown>, AnyEventObject> {
  const snapshot = { status: 'active', output: undefined, error: undefined } as Snapshot<unknown>;
  return {
    getInitialSnapshot: () => snapshot,
    getPersistedSnapshot: () => snapshot,
    transition: (same, event, scope) => {
      if (event.type === 'parent.dismiss') scope.stopChild(event.child);
      else heard.push(event);
      return same;
    },
  };
}

interface LiveRun {
  readonly actor: AnyActorRef;
  readonly clock: PathClock;
  /** What was asked for since the last look. */
  effects(): readonly Effect[];
  /** What the parent heard since the last look. */
  heard(): readonly AnyEventObject[];
  fire(shot: Shot): void;
  /** The parent stops it; what is then still running or armed was left behind. */
  dismiss(): { readonly running: readonly string[]; readonly armed: readonly string[] };
}

export function startLive({ bench, samples }: Exploration, input: unknown): LiveRun {
  bench.stage = emptyStage();
  const { stage } = bench;
  const clock = new PathClock();
  const heard: AnyEventObject[] = [];
  const asked: { type: string; params: unknown }[] = [];
  const parent: AnyActorRef = createActor(parentLogic(heard), { clock });
  clock.serve(parent.system);
  let children: AnyMachineSnapshot['children'] = {};
  const actor: AnyActorRef = createActor(bench.machine, { parent, input, id: bench.machine.id });
  parent.system.inspect((event) => {
    if (event.type === '@xstate.action' && event.actorRef === actor) asked.push(event.action);
  });
  parent.start();
  const deaf = puppetLogic(emptyStage);
  for (const systemId of samples.peers ?? []) createActor(deaf, { parent, systemId }).start();
  (actor as AnyActorRef & { start(): void }).start();
  return {
    actor,
    clock,
    effects: () => {
      const { children: now } = actor.getSnapshot() as AnyMachineSnapshot;
      const effects = asked.splice(0).flatMap((action) => effectOf(action, parent) ?? []);
      const all = [...effects, ...spawnedSilently(children, now, effects)];
      children = now;
      return all;
    },
    heard: () => heard.splice(0),
    fire: ({ by, event, child }) => {
      if (by === 'timer') return clock.elapse(event.type);
      if (child === undefined) return actor.send(event);
      const puppet = stage.running.get(child);
      if (puppet === undefined) throw new Error(`${child} does not run, so it cannot end`);
      const command: PuppetCommand =
        by === 'answer' ? { type: 'puppet.answer', output: event.output } : { type: 'puppet.fail', error: event.error };
      puppet.send(command);
    },
    dismiss: () => {
      parent.send({ type: 'parent.dismiss', child: actor });
      return { running: [...stage.running.keys()], armed: clock.armed() };
    },
  };
}

/** Routes that together take every edge on which something happens; none is the beginning of another. */
export function routesOver({ edges, routes }: Exploration): Route[] {
  const all = edges
    .filter((edge) => isReal(edge) && canCome(edge.from.life, edge.shot.event))
    .map((edge): Route => {
      const way = routes.get(routeKey(edge.input, edge.from));
      if (way === undefined) throw new Error('a spot without a route to it');
      return { input: edge.input, shots: [...way.shots, edge.shot], moves: [...way.moves, edge.move] };
    });
  const known = new Set<string>();
  return all
    .sort((a, b) => b.shots.length - a.shots.length)
    .filter(({ input, shots }) => {
      const prefixes = shots.map((_, n) => [input, ...shots.slice(0, n + 1).map(({ label }) => label)].join('\n'));
      if (known.has(prefixes.at(-1) ?? input)) return false;
      for (const prefix of prefixes) known.add(prefix);
      return true;
    });
}

const isAfter = (timer: string): boolean => timer.startsWith('xstate.after.');

const json = (value: unknown): string =>
  JSON.stringify(value, (_key, field: unknown) => (field instanceof Error ? `Error: ${field.message}` : field)) ?? '';

/** What was calculated along each way that a live actor has gone, by its shots: what routes share is compared once. */
const gone = new WeakMap<Exploration, Map<string, Move>>();

/** What a live actor does otherwise than calculated along this route; none when it does the same. */
export function differences(exploration: Exploration, { input, shots, moves }: Route): string[] {
  const { bench, samples } = exploration;
  const known = gone.get(exploration) ?? new Map<string, Move>();
  gone.set(exploration, known);
  const live = startLive(exploration, samples.inputs[input]);
  const faults: string[] = [];
  /** Looks at the live actor after the shots of this way, unless an earlier route came the same way. */
  const look = (way: string, calculate: () => Move): Move => {
    const seen = { effects: live.effects(), heard: live.heard() };
    const before = known.get(way);
    if (before !== undefined) return before;
    const move = calculate();
    known.set(way, move);
    const { after, effects, life } = move;
    const now = live.actor.getSnapshot() as AnyMachineSnapshot;
    const reports = effects.flatMap((effect) => (effect.kind === 'report' ? [effect.event] : []));
    const pairs: [what: string, calculated: unknown, live: unknown][] = [
      ['state', [after.status, after.value], [now.status, now.value]],
      ['context', after.context, now.context],
      ['effects', effects, seen.effects],
      ['reports', reports, seen.heard.filter(({ type }) => !type.startsWith('xstate.'))],
      ['children', [...life.children], [...bench.stage.running.keys()].sort()],
      ['timers', [...life.timers].filter(isAfter).sort(), live.clock.armed().filter(isAfter)],
    ];
    for (const [what, calculated, lived] of pairs) {
      if (json(calculated) === json(lived)) continue;
      faults.push(`${what} after ${way}\n    calculated ${json(calculated)}\n    live       ${json(lived)}`);
    }
    return move;
  };
  let way = `[${input}]`;
  let move = look(way, () => moves[0] ?? bench.begin(samples.inputs[input]));
  for (const [n, shot] of shots.entries()) {
    if (faults.length > 0) break;
    way = `${way} · ${shot.label}`;
    const { after } = move;
    try {
      live.fire(shot);
    } catch (error) {
      // It went another way than the last time: nothing that is the same twice would.
      faults.push(`the live actor cannot go on with ${way}: ${error instanceof Error ? error.message : String(error)}`);
      break;
    }
    // The walk has gone on from one of the snapshots that are one to it; where that is another one, it is calculated here.
    const walked = moves[n + 1];
    move = look(way, () => (walked?.before === after ? walked : bench.step(after, shot.event)));
  }
  const left = live.dismiss();
  if (left.running.length + left.armed.length > 0) faults.push(`left behind when stopped: ${json(left)}`);
  return faults;
}
