import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';

/** What a machine declares: its states, transitions, effects and timers, each with a name that a person can read. */

export interface Anatomy {
  readonly nodes: readonly AnyStateNode[];
  /** Paths below the machine of every state that can be active: `Held.Ready`. History states are not among them. */
  readonly states: readonly string[];
  isState(path: string): boolean;
  readonly transitions: readonly AnyTransitionDefinition[];
  readonly invokes: readonly { readonly id: string; readonly node: AnyStateNode }[];
  readonly timers: readonly { readonly event: string; readonly delay: string; readonly node: AnyStateNode }[];
}

const paths = new WeakMap<AnyStateNode, string>();

/** The path of a state below its machine; empty for the machine itself. */
export function pathOf(node: AnyStateNode): string {
  const path = paths.get(node) ?? node.path.join('.');
  paths.set(node, path);
  return path;
}

function below(node: AnyStateNode): AnyStateNode[] {
  return Object.values(node.states).flatMap((child: AnyStateNode) => [child, ...below(child)]);
}

export function anatomyOf(machine: AnyStateMachine): Anatomy {
  const nodes: AnyStateNode[] = [machine.root, ...below(machine.root)];
  const states = nodes.filter((node) => node.parent !== undefined && node.type !== 'history').map(pathOf);
  const known = new Set(states);
  return {
    nodes,
    states,
    isState: (path) => known.has(path),
    transitions: nodes.flatMap((node) => [...[...node.transitions.values()].flat(), ...(node.always ?? [])]),
    invokes: nodes.flatMap((node) => node.invoke.map(({ id }) => ({ id, node }))),
    timers: nodes.flatMap((node) =>
      Object.keys(node.config.after ?? {}).map((delay) => ({
        event: `xstate.after.${Number.isNaN(Number(delay)) ? delay : Number(delay)}.${node.id}`,
        delay,
        node,
      })),
    ),
  };
}

/** Names an event type as the chart does: `done claimLease`, `error claimLease`, `after renewEvery`, `always`. */
export function eventName(type: string): string {
  if (type === '') return 'always';
  const [, timer] = /^xstate\.after\.([^.]+)\./.exec(type) ?? [];
  if (timer !== undefined) return `after ${timer}`;
  const [, kind, id] = /^xstate\.(done|error|snapshot)\.(?:actor\.|state\.)?(.+)$/.exec(type) ?? [];
  return kind === undefined ? type : `${kind} ${id}`;
}

/** The name of a transition; unique with its number among those of the same state and event. */
export function transitionName(transition: AnyTransitionDefinition): string {
  const { source, eventType, target } = transition;
  const same = eventType === '' ? source.always : source.transitions.get(eventType);
  const place = (same?.indexOf(transition) ?? 0) + 1;
  const number = same !== undefined && same.length > 1 ? ` #${place}` : '';
  const to = target?.map((node: AnyStateNode) => pathOf(node) || machineName(node)).join(' + ');
  return `${pathOf(source) || machineName(source)} on ${eventName(eventType)}${number} → ${to ?? '(stays)'}`;
}

const machineName = (node: AnyStateNode): string => `(${node.machine.id})`;

/** A transition that does nothing: it is there to say that the event is not wanted. */
export const isInert = ({ target, actions }: AnyTransitionDefinition): boolean =>
  target === undefined && actions.length === 0;
