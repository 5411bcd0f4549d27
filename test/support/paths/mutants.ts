import { type AnyStateMachine, type AnyStateNode, type AnyTransitionDefinition, createMachine, not } from 'xstate';
import { anatomyOf, pathOf, transitionName } from './anatomy.ts';

/**
 * Mutants: the same machine with one thing wrong in its chart. The configuration is changed, never the source text. Where
 * the path tests stay green over a mutant, nothing proves that the thing is needed.
 */
export interface Mutant {
  /** Stable, and says what was done where: `Claiming.Wanted on row.held #2: guard isStandby removed`. */
  readonly name: string;
  readonly make: () => AnyStateMachine;
}

type Config = Record<string, unknown>;
type Slot = readonly (string | number)[];

const isPlain = (value: unknown): value is Config =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** A copy of a configuration down to its functions, which are shared. */
function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy);
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, copy(field)]));
}

const listOf = (value: unknown): unknown[] => (value === undefined ? [] : Array.isArray(value) ? value : [value]);
const asTransition = (value: unknown): Config => (isPlain(value) ? value : { target: value });

function at(config: Config, slot: Slot): Config {
  let here: unknown = config;
  for (const key of slot) here = (here as Record<string | number, unknown>)[key];
  return here as Config;
}

const nameOf = (part: unknown): string =>
  typeof part === 'string'
    ? part
    : typeof part === 'object' && part !== null && 'type' in part
      ? String(part.type)
      : typeof part === 'function' && 'guards' in part
        ? `${part.name}(${listOf(part.guards).map(nameOf).join(', ')})`
        : typeof part === 'function'
          ? ((part as { type?: string }).type?.replace('xstate.', '') ?? (part.name || 'inline'))
          : String(part);

/** Where a state keeps transitions, as paths into its configuration, with the event type that XState makes of each. */
function transitionSlots(node: AnyStateNode): { slot: Slot; eventType: string }[] {
  const config = node.config as Config;
  const under = (key: string, name: (entry: string) => string) =>
    Object.keys((config[key] ?? {}) as Config).map((entry) => ({ slot: [key, entry], eventType: name(entry) }));
  const invokes = node.invoke.flatMap(({ id }, n) => {
    const slot: Slot = Array.isArray(config.invoke) ? ['invoke', n] : ['invoke'];
    const invoke = listOf(config.invoke)[n] as Config;
    return (['onDone', 'onError', 'onSnapshot'] as const)
      .filter((end) => invoke[end] !== undefined)
      .map((end) => {
        const kind = end === 'onDone' ? 'done.actor' : end === 'onError' ? 'error.actor' : 'snapshot';
        return { slot: [...slot, end], eventType: `xstate.${kind}.${id}` };
      });
  });
  return [
    ...under('on', (event) => event),
    ...under('after', (delay) => `xstate.after.${Number.isNaN(Number(delay)) ? delay : Number(delay)}.${node.id}`),
    ...(config.always === undefined ? [] : [{ slot: ['always'], eventType: '' }]),
    ...(config.onDone === undefined ? [] : [{ slot: ['onDone'], eventType: `xstate.done.state.${node.id}` }]),
    ...invokes,
  ];
}

/** A state beside this one to go to instead: the next of its siblings, else the next of its parent's. */
function elsewhere(target: AnyStateNode): AnyStateNode | undefined {
  const { parent } = target;
  if (parent === undefined) return undefined;
  const siblings = Object.values(parent.states) as AnyStateNode[];
  const from = siblings.indexOf(target);
  const others = [...siblings.slice(from + 1), ...siblings.slice(0, from)].filter(({ type }) => type !== 'history');
  return parent.type === 'parallel' ? elsewhere(parent) : (others[0] ?? elsewhere(parent));
}

/** Every way to replace one leaf of a guard: `and`, `or` and `not` are taken apart. */
function guardMutants(guard: unknown): { what: string; guard: unknown }[] {
  const name = nameOf(guard);
  const whole = [
    { what: `guard ${name} removed`, guard: undefined },
    { what: `guard ${name} inverted`, guard: not(guard as never) },
  ];
  if (typeof guard !== 'function' || !('guards' in guard)) return whole;
  const parts = listOf(guard.guards);
  return [
    ...whole,
    ...parts.flatMap((part, n) =>
      guardMutants(part)
        .filter((mutant) => mutant.guard !== undefined)
        .map((mutant) => {
          const changed = Object.assign(() => false, guard, {
            guards: parts.map((each, m) => (m === n ? mutant.guard : each)),
          });
          return { what: `in ${name}: ${mutant.what}`, guard: changed };
        }),
    ),
  ];
}

/** All mutants of a machine, except those of transitions that the samples say can never be taken. */
export function mutantsOf(machine: AnyStateMachine, untaken: Readonly<Record<string, string>>): Mutant[] {
  const mutants: Mutant[] = [];
  const original = machine.config as unknown as Config;
  const add = (name: string, node: AnyStateNode, change: (state: Config) => void) =>
    mutants.push({
      name,
      make: () => {
        const config = copy(original) as Config;
        change(
          at(
            config,
            node.path.flatMap((key) => ['states', key]),
          ),
        );
        // A mutant may chase itself: an endless step is a death, not a test that hangs.
        const bounded = { ...config, options: { ...(config.options as object), maxIterations: 1_000 } };
        return createMachine(bounded as never, machine.implementations as never) as unknown as AnyStateMachine;
      },
    });
  for (const node of anatomyOf(machine).nodes) {
    const place = pathOf(node) || `(${machine.id})`;
    const config = node.config as Config;
    for (const { slot, eventType } of transitionSlots(node)) {
      const definitions = eventType === '' ? (node.always ?? []) : (node.transitions.get(eventType) ?? []);
      mutateTransitions({ slot, definitions, excused: (name) => name in untaken, add: (n, c) => add(n, node, c) });
    }
    for (const delay of Object.keys((config.after ?? {}) as Config)) {
      add(`${place}: without after ${delay}`, node, (state) => {
        const { [delay]: _dropped, ...rest } = state.after as Config;
        state.after = rest;
      });
    }
    for (const moment of ['entry', 'exit'] as const) {
      listOf(config[moment]).forEach((action, n) => {
        add(`${place}: ${moment} without ${nameOf(action)}${n === 0 ? '' : ` #${n + 1}`}`, node, (state) => {
          state[moment] = listOf(state[moment]).filter((_, m) => m !== n);
        });
      });
    }
    const first = node.type === 'compound' ? node.initial.target[0] : undefined;
    const other = first === undefined ? undefined : elsewhere(first);
    if (other !== undefined && other.parent === node) {
      add(`${place}: begins in ${other.key} instead of ${first?.key}`, node, (state) => {
        state.initial = other.key;
      });
    }
  }
  return mutants;
}

interface Transitions {
  readonly slot: Slot;
  readonly definitions: readonly AnyTransitionDefinition[];
  readonly excused: (name: string) => boolean;
  readonly add: (name: string, change: (state: Config) => void) => void;
}

function mutateTransitions({ slot, definitions, excused, add }: Transitions): void {
  definitions.forEach((definition, n) => {
    const full = transitionName(definition);
    if (excused(full)) return;
    const [name] = full.split(' → ');
    const edit = (what: string, change: (transition: Config) => Config) =>
      add(`${name}: ${what}`, (state) => {
        const holder = at(state, slot.slice(0, -1));
        const key = slot.at(-1) ?? '';
        holder[key] = listOf(holder[key]).map((each, m) => (m === n ? change(asTransition(each)) : each));
      });
    for (const { what, guard } of definition.guard === undefined ? [] : guardMutants(definition.guard)) {
      edit(what, ({ guard: _old, ...rest }) => (guard === undefined ? rest : { ...rest, guard }));
    }
    const target: AnyStateNode | undefined = definition.target?.[0];
    if (target !== undefined) {
      const other = elsewhere(target);
      const was = pathOf(target);
      if (other !== undefined) {
        edit(`→ ${pathOf(other)} instead of ${was}`, (transition) => ({ ...transition, target: `#${other.id}` }));
      }
      edit(`stays instead of → ${was}`, ({ target: _old, ...rest }) => rest);
    }
    definition.actions.forEach((action: unknown, m: number) => {
      const number = definition.actions.slice(0, m).some((each: unknown) => nameOf(each) === nameOf(action))
        ? ` #${m + 1}`
        : '';
      edit(`without ${nameOf(action)}${number}`, (transition) => ({
        ...transition,
        actions: listOf(transition.actions).filter((_, k) => k !== m),
      }));
    });
  });
}
