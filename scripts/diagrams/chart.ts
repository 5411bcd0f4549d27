import type { AnyMachineSnapshot, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { eventName, isInert, pathOf } from '../../test/support/paths/anatomy.ts';
import type { Exploration } from '../../test/support/paths/explore.ts';

/** A machine as it is drawn: states in states, arrows between them. What `toDirectedGraph` leaves out is in it. */

export interface ChartState {
  /** Path below the machine; unique. */
  readonly path: string;
  readonly name: string;
  readonly kind: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  readonly tags: readonly string[];
  /** What happens inside: entry, exit, effects, events that change no state. */
  readonly lines: readonly string[];
  readonly children: readonly ChartState[];
  /** The path of the child where it begins. */
  readonly begins?: string;
}

export interface ChartArrow {
  readonly from: string;
  readonly to: string;
  /** One line for each event that leads along it. */
  readonly texts: readonly string[];
  readonly isHappy: boolean;
  /** The leaf from which the happy path takes it, where the arrow is a composite state's. */
  readonly happyTail?: string;
}

export interface Chart {
  readonly name: string;
  readonly begins: string;
  readonly states: readonly ChartState[];
  readonly arrows: readonly ChartArrow[];
}

/** Where the arrows of the machine itself come from. */
export const everyState = '(every state)';

interface NamedAction {
  readonly type: string;
  readonly params?: unknown;
}

const actionOf = (action: unknown): NamedAction =>
  typeof action === 'object' && action !== null
    ? (action as NamedAction)
    : { type: typeof action === 'function' ? ((action as { type?: string }).type ?? action.name) : String(action) };

/** The house's own plumbing: every effect's end becomes a fact, timers are armed and disarmed by XState. */
const isPlumbing = ({ type }: NamedAction): boolean =>
  ['told', 'faulted', 'xstate.raise', 'xstate.cancel'].includes(type);

const staticReport = ({ params }: NamedAction): string | undefined => {
  const type = typeof params === 'object' && params !== null ? (params as { type?: unknown }).type : undefined;
  return typeof type === 'string' ? `↑ ${type}` : undefined;
};

const nameAction = (action: NamedAction): string => staticReport(action) ?? action.type.replace('xstate.', '');

/** What a guard is asked with, where that is said in the chart and not only by the event: `plans` with `kind: 'open'`. */
function saidIn(params: unknown): string {
  let said = params;
  try {
    if (typeof params === 'function') said = params({ event: {}, context: {} });
  } catch {
    return '';
  }
  const values = typeof said === 'object' && said !== null ? Object.values(said) : [];
  return values
    .filter((value) => typeof value === 'string')
    .map((value) => ` ${value}`)
    .join('');
}

export function guardName(guard: unknown): string {
  if (typeof guard === 'string') return guard;
  if (typeof guard === 'function' && 'guards' in guard) {
    const parts = (guard.guards as unknown[]).map(guardName);
    return guard.name === 'not' ? `not ${parts.join()}` : parts.join(guard.name === 'or' ? ' or ' : ' and ');
  }
  if (typeof guard !== 'object' || guard === null) return 'inline';
  const { type, params } = guard as { type?: unknown; params?: unknown };
  return `${String(type)}${saidIn(params)}`;
}

const leafIn = (snapshot: AnyMachineSnapshot | undefined): string =>
  snapshot?._nodes.filter((node) => Object.keys(node.states).length === 0).map(pathOf)[0] ?? '';

export function lengthOf(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  return ms % 60_000 === 0 ? `${ms / 60_000} min` : `${ms / 1_000} s`;
}

export function chartOf(name: string, exploration: Exploration): Chart {
  const { bench, anatomy, edges, samples } = exploration;
  const { delays } = bench.machine.implementations;
  const entryReports = new Set(
    anatomy.nodes.flatMap((node) =>
      [...node.entry, ...node.exit].flatMap((action) => staticReport(actionOf(action)) ?? []),
    ),
  );
  /** Reports seen on every edge that takes this transition, other than those of states that are entered. */
  const reportsOn = (transition: AnyTransitionDefinition): string[] => {
    const seen = edges.filter(({ move }) => move.taken.includes(transition));
    const reports = seen.map(({ move }) =>
      move.effects.flatMap((effect) => (effect.kind === 'report' ? [`↑ ${effect.event.type}`] : [])),
    );
    return [...new Set(reports.flat())].filter(
      (type) => !entryReports.has(type) && reports.every((all) => all.includes(type)),
    );
  };
  const eventText = (type: string): string => {
    const event = eventName(type);
    const ms = event.startsWith('after ') ? delays[event.slice('after '.length)] : undefined;
    return typeof ms === 'number' ? `${event} (${lengthOf(ms)})` : event;
  };
  const textOf = (transition: AnyTransitionDefinition): string => {
    const actions = transition.actions.map(actionOf).filter((action) => !isPlumbing(action));
    const hasReport = actions.some(({ type }) => type.startsWith('report'));
    const guard = transition.guard === undefined ? '' : ` [${guardName(transition.guard)}]`;
    return [eventText(transition.eventType) + guard, ...(hasReport ? reportsOn(transition) : [])].join(' ');
  };
  const isManner = (transition: AnyTransitionDefinition) =>
    transition.target === undefined && transition.actions.map(actionOf).every(isPlumbing);
  const transitionsOf = (node: AnyStateNode): AnyTransitionDefinition[] => [
    ...[...node.transitions.values()].flat(),
    ...(node.always ?? []),
  ];
  const inner = (transition: AnyTransitionDefinition): string => {
    const actions = transition.actions.map(actionOf).filter((action) => !isPlumbing(action));
    const does = actions.filter(({ type }) => !type.startsWith('report')).map(nameAction);
    return [textOf(transition), ...does].join(' · ');
  };

  const stateOf = (node: AnyStateNode): ChartState => {
    const begins = node.type === 'compound' ? node.initial.target[0] : undefined;
    const moment = (label: string, actions: readonly unknown[]) =>
      actions
        .map(actionOf)
        .filter((action) => !isPlumbing(action))
        .map((action) => `${label} ${nameAction(action)}`);
    return {
      path: pathOf(node),
      name: node.key,
      kind: node.type,
      tags: node.tags,
      lines: [
        ...moment('entry', node.entry),
        ...node.invoke.map(({ id }) => `▶ ${id}`),
        ...transitionsOf(node)
          .filter((transition) => transition.target === undefined && !isInert(transition) && !isManner(transition))
          .map(inner),
        ...moment('exit', node.exit),
      ],
      children: Object.values(node.states as Record<string, AnyStateNode>).map(stateOf),
      ...(begins === undefined ? {} : { begins: pathOf(begins) }),
    };
  };

  const happySteps = new Map<AnyTransitionDefinition, string>();
  samples.happy.forEach((after, n) => {
    const before = samples.happy[n - 1];
    const step = edges.find(
      (edge) => before !== undefined && edge.step.before.is(before) && edge.step.after.is(after) && !edge.step.ignored,
    );
    for (const transition of step?.move.taken ?? []) happySteps.set(transition, leafIn(step?.from.snapshot));
  });

  const arrows = new Map<string, { from: string; to: string; texts: string[]; isHappy: boolean }>();
  for (const transition of anatomy.transitions) {
    for (const target of (transition.target ?? []) as AnyStateNode[]) {
      const from = pathOf(transition.source) || everyState;
      const to = pathOf(target);
      const arrow = arrows.get(`${from} → ${to}`) ?? { from, to, texts: [], isHappy: false };
      arrow.texts.push(textOf(transition));
      const happyTail = happySteps.get(transition);
      if (happyTail !== undefined) {
        Object.assign(arrow, { isHappy: true, happyTail: happyTail.startsWith(`${from}.`) ? happyTail : from });
      }
      arrows.set(`${from} → ${to}`, arrow);
    }
  }
  // A history state that has nothing to remember yet goes where its parent begins.
  for (const node of anatomy.nodes) {
    const parent = node.parent;
    if (node.type !== 'history' || parent?.type !== 'compound') continue;
    const to = pathOf(parent.initial.target[0] as AnyStateNode);
    const from = pathOf(node);
    const isHappy = samples.happy.some((path) => path === to || path.startsWith(`${to}.`));
    arrows.set(`${from} → ${to}`, { from, to, texts: ['at first'], isHappy });
  }
  const { root } = bench.machine;
  return {
    name,
    begins: root.type === 'compound' ? pathOf(root.initial.target[0] as AnyStateNode) : '',
    states: Object.values(root.states as Record<string, AnyStateNode>).map(stateOf),
    arrows: [...arrows.values()],
  };
}
