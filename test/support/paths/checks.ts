import type { AnyMachineSnapshot, AnyTransitionDefinition } from 'xstate';
import { eventName, isInert, pathOf, transitionName } from './anatomy.ts';
import { type Edge, type Exploration, isReal, type Spot, spotOf } from './explore.ts';
import { canCome } from './life.ts';
import { happyStep } from './samples.ts';
import type { Shot } from './shots.ts';

/** What can be wrong with a machine, found on an exploration. Each check answers with faults that a person can act upon. */

/** Everything that a chart itself can be wrong in: what must be red when one thing in it is changed. */
export function* faultsOf(exploration: Exploration): Generator<string> {
  for (const check of [unfinished, deaths, unreached, deadEnds]) yield* check(exploration);
  for (const promise of exploration.samples.promises) yield* broken(exploration, promise);
}

const matches = (descriptor: string, type: string): boolean =>
  descriptor === type ||
  descriptor === '*' ||
  (descriptor.endsWith('.*') && (type === descriptor.slice(0, -2) || type.startsWith(descriptor.slice(0, -1))));

/** Kind 1: every event type of the machine, every invoke and every timer has a sample. */
export function unsampled({ bench, anatomy, samples, shots, edges }: Exploration): string[] {
  const fired = new Set<string>(shots.map(({ event }) => event.type));
  // Facts that were raised, by an answer, a failure or an action, have been heard when a transition of theirs was taken.
  for (const { move } of edges) for (const { eventType } of move.taken) fired.add(eventType);
  for (const { event, by } of shots) {
    const { output } = event as { output?: { type?: unknown } };
    if (by === 'answer' && typeof output?.type === 'string') fired.add(output.type);
    if (by === 'failure') fired.add('effect.failed');
  }
  const faults = bench.machine.events
    .filter((descriptor: string) => !/^xstate\.done\.state\./.test(descriptor))
    .filter((descriptor: string) => ![...fired].some((type) => matches(descriptor, type)))
    .map((descriptor: string) => `no sample for ${eventName(descriptor)}`);
  for (const { id, node } of anatomy.invokes) {
    const where = `the invoke ${id} of ${pathOf(node) || '(root)'}`;
    if (/^\d+\./.test(id)) faults.push(`${where} has no id of its own`);
    if (!node.transitions.has(`xstate.error.actor.${id}`)) faults.push(`${where} has no onError`);
    if (id in samples.answers && !node.transitions.has(`xstate.done.actor.${id}`)) {
      faults.push(`${where} has no onDone, but answers in the samples`);
    }
  }
  const ids = new Set([...anatomy.invokes.map(({ id }) => id), ...(samples.spawned ?? [])]);
  for (const id of Object.keys(samples.answers)) {
    if (!ids.has(id)) faults.push(`the samples let "${id}" answer, which is no child of the machine`);
  }
  return faults;
}

/** Kind 2: every declared state is reached, every declared transition is taken. */
export function unreached({ anatomy, beginnings, edges, spots, samples }: Exploration): string[] {
  const reached = new Set(spots.flatMap(({ snapshot }) => snapshot._nodes.map(pathOf)));
  const taken = new Set<AnyTransitionDefinition>();
  for (const { move } of [...beginnings, ...edges]) {
    for (const path of move.through) reached.add(path);
    for (const transition of move.taken) taken.add(transition);
  }
  const excused = samples.untaken ?? {};
  return [
    ...anatomy.states.filter((state) => !reached.has(state)).map((state) => `the state ${state} is never reached`),
    ...anatomy.transitions
      .filter((transition) => !taken.has(transition) && excused[transitionName(transition)] === undefined)
      .map((transition) => `never taken: ${transitionName(transition)}`),
    ...anatomy.transitions
      .filter((transition) => taken.has(transition) && excused[transitionName(transition)] !== undefined)
      .map((transition) => `taken, though the samples say that it cannot be: ${transitionName(transition)}`),
  ];
}

/** What the samples name and the machine does not have. */
export function misnamed({ anatomy, samples }: Exploration): string[] {
  const names = new Set(anatomy.transitions.map(transitionName));
  const states = [
    ...(samples.goals ?? []),
    ...Object.keys(samples.bounded ?? {}),
    ...samples.happy.map((step) => happyStep(step).state),
  ];
  return [
    ...Object.keys(samples.untaken ?? {})
      .filter((name) => !names.has(name))
      .map((name) => `the samples excuse "${name}", which is no transition of the machine`),
    ...states
      .filter((path) => !anatomy.isState(path))
      .map((path) => `the samples speak of the state "${path}", which the machine does not have`),
  ];
}

export const where = ({ input, from, shot, to }: Pick<Edge, 'input' | 'from' | 'shot' | 'to'>): string =>
  `[${input}] ${placeOf(from)} — ${shot.label} → ${placeOf(to)}`;

export function placeOf({ snapshot, clamp }: Spot): string {
  const leaves = snapshot._nodes.filter((node) => Object.keys(node.states).length === 0).map(pathOf);
  const remembered = Object.entries(clamp).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return `${leaves.join(' + ')}${remembered.length === 0 ? '' : ` (${remembered.join(' ')})`}`;
}

/** Kind 3: one promise on every visited edge, the first steps included. Not exercised is a fault too. */
export function broken(exploration: Exploration, promise: Exploration['samples']['promises'][number]): string[] {
  const faults: string[] = [];
  let exercised = 0;
  const ask = (step: Edge['step'], at: () => string) => {
    if (!promise.when(step)) return;
    exercised += 1;
    const verdict = promise.holds(step);
    if (verdict !== true) faults.push(`${promise.clause} ${promise.says}: ${verdict}\n    at ${at()}`);
  };
  for (const { input, step, spot } of exploration.beginnings)
    ask(step, () => `[${input}] the beginning → ${placeOf(spot)}`);
  for (const edge of exploration.edges) ask(edge.step, () => where(edge));
  if (exercised === 0) faults.push(`${promise.clause} ${promise.says}: never exercised`);
  return faults;
}

/** Kind 5: from every state a final or serving state can be reached, and no state waits for what cannot come. */
export function deadEnds({ edges, spots, samples }: Exploration): string[] {
  const comesFrom = new Map<string, Set<string>>();
  const good: string[] = [];
  for (const { from, to } of edges) {
    if (from.key === to.key) continue;
    const sources = comesFrom.get(to.key) ?? new Set();
    comesFrom.set(to.key, sources.add(from.key));
  }
  const goals = new Set(samples.goals ?? []);
  for (const { key, snapshot } of spots) {
    const isGoal = snapshot.hasTag('serving') || snapshot._nodes.some((node) => goals.has(pathOf(node)));
    // A machine that died is a fault of its own, see `deaths`.
    if (snapshot.status !== 'active' || isGoal) good.push(key);
  }
  const alive = new Set(good);
  for (const key of alive) for (const source of comesFrom.get(key) ?? []) alive.add(source);
  return [
    ...spots.filter(({ key }) => !alive.has(key)).map((spot) => `a dead end: ${placeOf(spot)}`),
    ...unbounded(spots, samples.bounded ?? {}),
  ];
}

/** Where no child runs and no timer is armed, the machine waits for somebody: the samples say for whom. */
function unbounded(spots: readonly Spot[], bounded: Readonly<Record<string, string>>): string[] {
  const waiting = new Set<string>();
  for (const spot of spots) {
    const { snapshot, life } = spot;
    if (snapshot.status !== 'active' || life.children.size + life.timers.size > 0) continue;
    if (!snapshot._nodes.some((node) => pathOf(node) in bounded)) waiting.add(placeOf({ ...spot, clamp: {} }));
  }
  return [...waiting].map((state) => `${state} waits with no effect and no timer: say in \`bounded\` who bounds it`);
}

/** Nothing ends a machine but its own final states, and every failure of a child that runs is answered (PTH-09). */
export function deaths({ beginnings, edges }: Exploration): string[] {
  const died = edges.filter(({ to }) => to.snapshot.status === 'error');
  const unanswered = edges.filter(
    ({ shot, step, move }) =>
      shot.by === 'failure' &&
      shot.child !== undefined &&
      step.before.running(shot.child) &&
      step.after.status !== 'error' &&
      move.taken.every(isInert),
  );
  const reason = ({ to, shot, step }: Edge) =>
    shot.by === 'failure' && shot.child !== undefined && !step.before.running(shot.child)
      ? 'a late failure ends the machine: spread `deafToLateFailures` into the `on` of its root'
      : `the machine dies (${String(to.snapshot.error)})`;
  return [
    ...beginnings
      .filter(({ spot }) => spot.snapshot.status === 'error')
      .map(({ input, spot }) => `the machine dies at its beginning [${input}]: ${String(spot.snapshot.error)}`),
    ...died.map((edge) => `${reason(edge)}\n    at ${where(edge)}`),
    ...unanswered.map((edge) => `a failure is not answered\n    at ${where(edge)}`),
  ];
}

/** Kind 6: the walk came to its end. */
export const unfinished = ({ limitHit }: Exploration): string[] =>
  limitHit ? ['the limit was hit: clamp the context further, or raise `limit` in the samples'] : [];

/** How far, and over how many snapshots, those that the walk took for one are compared. */
const comparing = { depth: 3, snapshots: 1_500 };

/** The spot that a shot leads to: from those that the walk went on from it is known. */
function stepsOver(exploration: Exploration): (from: Spot, shot: Shot) => Spot {
  const known = new Map<AnyMachineSnapshot, Map<Shot, Spot>>();
  const from = (snapshot: AnyMachineSnapshot) => {
    const steps = known.get(snapshot) ?? new Map<Shot, Spot>();
    known.set(snapshot, steps);
    return steps;
  };
  for (const { from: spot, shot, to } of exploration.edges) from(spot.snapshot).set(shot, to);
  return (spot, shot) => {
    const there = known.get(spot.snapshot)?.get(shot);
    if (there !== undefined) return there;
    const { after } = exploration.bench.step(spot.snapshot, shot.event);
    return after === spot.snapshot ? spot : spotOf(exploration, after);
  };
}

/**
 * Kind 6, its other half: the clamp left out nothing that matters. Snapshots that are one to the walk go to the same state
 * by every sample, and nowhere where the walk was not; and so do those that they lead to.
 */
export function hidden(exploration: Exploration): string[] {
  const { edges, spots, shots } = exploration;
  const stepOver = stepsOver(exploration);
  const chosen = new Map(spots.map((spot) => [spot.key, spot]));
  const compared = new Set<string>();
  const waiting: { spot: Spot; depth: number }[] = [];
  const pairOf = ({ key, snapshot }: Spot) => `${key}\n${JSON.stringify(snapshot.context)}`;
  const compare = (spot: Spot, depth: number) => {
    if (spot.snapshot.status !== 'active' || depth > comparing.depth || compared.size >= comparing.snapshots) return;
    const pair = pairOf(spot);
    if (!compared.has(pair)) waiting.push({ spot, depth });
    compared.add(pair);
  };
  for (const spot of spots) compared.add(pairOf(spot));
  for (const { to } of edges) compare(to, 1);
  for (const { spot, depth } of waiting) {
    const one = chosen.get(spot.key);
    if (one === undefined) continue;
    for (const shot of shots) {
      // A child that counts up runs under another name here: its end cannot be compared.
      if (canCome(one.life, shot.event) !== canCome(spot.life, shot.event)) continue;
      const here = stepOver(one, shot);
      const there = stepOver(spot, shot);
      compare(there, depth + 1);
      if (here.key === there.key) continue;
      // A counter that is clamped at its top goes down by one here and stays at the top there: both were walked over.
      const standsAlike = JSON.stringify(here.snapshot.value) === JSON.stringify(there.snapshot.value);
      if (standsAlike && chosen.has(there.key)) continue;
      const ends = `${placeOf(here)}, or to ${placeOf(there)}`;
      return [`the clamp hides what a guard reads: ${shot.label} in ${placeOf(spot)} goes to ${ends}`];
    }
  }
  return [];
}

/** The happy path that is drawn straight down is one that can be walked. */
export function unhappy({ edges, beginnings, samples: { happy } }: Exploration): string[] {
  const faults: string[] = [];
  const [first, ...rest] = happy.map(happyStep);
  if (first === undefined || !beginnings.some(({ step }) => step.after.is(first.state))) {
    faults.push(`the happy path does not begin where the machine does: ${first?.state ?? '(nowhere)'}`);
  }
  let before = first?.state ?? '';
  for (const { state, by } of rest) {
    const isStep = ({ step }: Edge) =>
      step.before.is(before) && step.after.is(state) && (by === undefined || step.fact.type === by);
    if (!edges.some((edge) => isReal(edge) && isStep(edge))) {
      faults.push(`the happy path goes from ${before} to ${state}, but no step does`);
    }
    before = state;
  }
  return faults;
}
