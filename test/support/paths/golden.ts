import { isDeepStrictEqual } from 'node:util';
import type { AnyMachineSnapshot } from 'xstate';
import { eventName, pathOf } from './anatomy.ts';
import { condition, few } from './condition.ts';
import type { Effect } from './effects.ts';
import { type Edge, type Exploration, isReal, type Spot } from './explore.ts';
import { brief, briefEvent, type Shot } from './shots.ts';

/**
 * The golden table of a machine: every state, every sample, what follows. Written for a reviewer: one section a state, one
 * row a sample, and a condition only where the same sample leads to different ends.
 */

const code = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``;

/** Leaves of the active states: `Held.Ready.Serving.Resting`, or several joined where states are parallel. */
const standing = (snapshot: AnyMachineSnapshot): string =>
  snapshot._nodes
    .filter((node) => Object.keys(node.states).length === 0)
    .map((node) => pathOf(node) || node.id)
    .sort()
    .join(' + ');

type Context = Readonly<Record<string, unknown>>;

/** What a table may leave out: the input that the machine began with and, shortened to its name, the context of now. */
interface Known {
  readonly begun: Context;
  readonly now: Context;
  /** The short name of a spawned child. */
  readonly child: (id: string) => string;
}

const repeats = (known: unknown, key: string, value: unknown): boolean =>
  typeof known === 'object' && known !== null && key in known && isDeepStrictEqual((known as Context)[key], value);

function briefPayload(payload: unknown, { begun, now }: Known): string {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return brief(payload);
  return Object.entries(payload)
    .filter(([key, value]) => ![begun, ...Object.values(begun)].some((known) => repeats(known, key, value)))
    .map(([key, value]) => (isDeepStrictEqual(now[key], value) ? key : brief({ [key]: value })))
    .join(', ');
}

function effectText(effect: Effect, known: Known): string | undefined {
  const withNews = (head: string, payload: unknown) => {
    const text = payload === undefined ? '' : briefPayload(payload, known);
    return text === '' ? head : `${head} {${text}}`;
  };
  switch (effect.kind) {
    case 'report':
      return `↑ ${briefEvent(effect.event)}`;
    case 'send':
      return `→ ${known.child(effect.to)}: ${briefEvent(effect.event)}${effect.ms === undefined ? '' : ` in ${effect.ms} ms`}`;
    case 'start':
      return withNews(`▶ ${known.child(effect.id)}`, effect.input);
    case 'stop':
      return `■ ${known.child(effect.id)}`;
    case 'arm':
      return `⏱ ${eventName(effect.timer).replace('after ', '')} ${effect.ms} ms`;
    case 'disarm':
      return undefined;
    case 'emit':
      return `! ${briefEvent(effect.event)}`;
    case 'act':
      return withNews(effect.action, effect.params);
  }
}

/** What the tables of a machine need to know of its samples. */
interface Reading {
  readonly begun: (input: string) => Context;
  readonly child: (id: string) => string;
}

/** What follows, without what is kept: edges with the same end share a row. */
function endOf(edge: Edge, { begun, child }: Reading): readonly [to: string, effects: string] {
  if (!isReal(edge)) return ['(ignored)', ''];
  const { after, effects } = edge.move;
  const texts = effects
    .filter((effect) => effect.kind !== 'stop' || (effect.id !== edge.shot.child && after.status === 'active'))
    .flatMap((effect) => effectText(effect, { begun: begun(edge.input), child, now: after.context }) ?? []);
  const stays = standing(after) === standing(edge.from.snapshot);
  return [stays ? '·' : standing(after), texts.map(code).join(' ')];
}

/** Context fields that some of these edges change, with what they become. */
function keptBy(edges: readonly Edge[]): string {
  const kept = new Map<string, Set<string>>();
  for (const { move } of edges) {
    const then = (move.before?.context ?? {}) as Context;
    for (const [key, value] of Object.entries(move.after.context as Context)) {
      if (isDeepStrictEqual(then[key], value)) continue;
      kept.set(key, (kept.get(key) ?? new Set()).add(brief(value)));
    }
  }
  return [...kept].map(([key, values]) => code(`${key} = ${few(values)}`)).join(' ');
}

type Clamp = Spot['clamp'];

/** The rows of each sample on which something happens in this state. */
function rowsOf(edges: readonly Edge[], reading: Reading): Map<Shot, readonly string[]> {
  const wanted = new Set(edges.filter(isReal).map(({ shot }) => shot));
  const rows = new Map<Shot, readonly string[]>();
  for (const [shot, same] of Map.groupBy(edges, ({ shot }) => shot)) {
    if (!wanted.has(shot)) continue;
    const groups = [...Map.groupBy(same, (edge) => endOf(edge, reading).join('\n')).values()];
    const row = (group: readonly Edge[]) => {
      const [to, effects] = group[0] === undefined ? ['', ''] : endOf(group[0], reading);
      const others = groups.filter((other) => other !== group).flat();
      const when = groups.length === 1 ? '' : condition(clampsOf(group), clampsOf(others));
      return `| ${code(shot.label)} | ${when} | ${to} | ${effects} | ${keptBy(group)} |`;
    };
    rows.set(shot, groups.map(row));
  }
  return rows;
}

/** The different clamps of these edges' beginnings. */
const clampsOf = (edges: readonly Edge[]): Clamp[] => [
  ...new Map(edges.map(({ from }) => [JSON.stringify(from.clamp), from.clamp])).values(),
];

/** What the state does not want to hear: by type where no payload makes a difference. */
function ignoredIn(edges: readonly Edge[]): string[] {
  const sent = edges.filter(({ shot }) => shot.by === 'event');
  const wanted = sent.filter(isReal).map(({ shot }) => shot);
  const types = new Set(wanted.map(({ event }) => event.type));
  const shots = sent.map(({ shot }) => shot).filter((shot) => !wanted.includes(shot));
  return [...new Set(shots.map(({ label, event }) => (types.has(event.type) ? label : event.type)))];
}

const table = (rows: readonly string[]): string[] =>
  rows.length === 0 ? [] : ['| when | only if | to | asks for | keeps |', '|---|---|---|---|---|', ...rows, ''];

/** Samples that have the same rows in every state: the machine itself hears them. */
function heardEverywhere(
  tables: readonly ReadonlyMap<Shot, readonly string[]>[],
): ReadonlyMap<Shot, readonly string[]> {
  const [first, ...others] = tables;
  const same = ([shot, rows]: readonly [Shot, readonly string[]]) =>
    others.every((other) => isDeepStrictEqual(other.get(shot), rows));
  return new Map(others.length < 2 ? [] : [...(first ?? [])].filter(same));
}

function section(state: string, edges: readonly Edge[], rows: readonly string[]): string[] {
  const lines = [`### ${state}`, ''];
  const tags = new Set(edges[0]?.from.snapshot._nodes.flatMap((node) => node.tags));
  if (tags.size > 0) lines.push(`Tagged ${[...tags].map(code).join(' ')}.`, '');
  lines.push(...table(rows));
  const unwanted = ignoredIn(edges);
  if (unwanted.length > 0) lines.push(`Ignored: ${unwanted.map(code).join(' ')}`, '');
  return lines;
}

/** The table as Markdown. The same machine and samples give the same bytes. */
export function goldenTable(name: string, exploration: Exploration): string {
  const { samples, beginnings, edges, spots, anatomy } = exploration;
  const begun = (input: string) => Object(samples.inputs[input]) as Context;
  const invoked = new Set(anatomy.invokes.map(({ id }) => id));
  const child = (id: string) => (invoked.has(id) ? id : (samples.clampChild?.(id) ?? id));
  const reading: Reading = { begun, child };
  const byState = Map.groupBy(edges, ({ from }) => standing(from.snapshot));
  const order = new Map(anatomy.states.map((state, n) => [state, n]));
  const place = (state: string) => order.get(state.split(' + ')[0] ?? '') ?? order.size;
  const finals = [
    ...new Set(spots.filter(({ snapshot }) => snapshot.status === 'done').map((spot) => standing(spot.snapshot))),
  ];
  const states = [...byState.keys()].sort((a, b) => place(a) - place(b) || a.localeCompare(b));
  const tables = new Map(states.map((state) => [state, rowsOf(byState.get(state) ?? [], reading)]));
  const everywhere = heardEverywhere([...tables.values()]);
  return [
    `# ${name}`,
    '',
    `![${name}](${name}.svg)`,
    '',
    'Generated by `npm run diagrams` from the machine and its samples; a path test fails when it is out of date.',
    '',
    '## Promises',
    '',
    'Each is asked on every edge below, and on all that is ignored.',
    '',
    ...samples.promises.map(({ clause, says }) => `- **${clause}** ${says}`),
    '',
    '## Beginnings',
    '',
    ...beginnings.map(({ input, spot, move }) => {
      const effects = move.effects.flatMap(
        (effect) => effectText(effect, { ...reading, begun: begun(input), now: move.after.context }) ?? [],
      );
      return `- ${input}: ${standing(spot.snapshot)} ${effects.map(code).join(' ')}`;
    }),
    '',
    '## Every state, every sample',
    '',
    '`↑` report to the parent, `→` send, `▶` start an effect or child, `■` stop it, `⏱` arm a timer, `·` stays where it is.',
    'A child that does not run cannot answer, and a timer that is not armed cannot elapse: those samples were fired as well,',
    'and are left out here because every state ignores them. An end stops all that runs, which is not listed.',
    '',
    ...(everywhere.size === 0 ? [] : ['### In every state', '', ...table([...everywhere.values()].flat())]),
    ...states.flatMap((state) => {
      const own = [...(tables.get(state) ?? [])].filter(([shot]) => !everywhere.has(shot));
      return section(
        state,
        byState.get(state) ?? [],
        own.flatMap(([, rows]) => rows),
      );
    }),
    '### Ends',
    '',
    finals
      .sort((a, b) => place(a) - place(b))
      .map(code)
      .join(' '),
    '',
  ].join('\n');
}
