import { isDeepStrictEqual } from 'node:util';
import type { AnyMachineSnapshot } from 'xstate';
import { eventName, pathOf } from './anatomy.ts';
import type { Effect } from './effects.ts';
import { type Edge, type Exploration, isReal, type Spot } from './explore.ts';
import { brief, briefEvent } from './shots.ts';

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

/** What a table may leave out: the input that the machine began with and, shortened to its name, the context of now. */
interface Known {
  readonly begun: Readonly<Record<string, unknown>>;
  readonly now: Readonly<Record<string, unknown>>;
}

function briefPayload(payload: unknown, { begun, now }: Known): string {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return brief(payload);
  return Object.entries(payload)
    .filter(([key, value]) => !(key in begun && isDeepStrictEqual(begun[key], value)))
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
      return `→ ${effect.to}: ${briefEvent(effect.event)}${effect.ms === undefined ? '' : ` in ${effect.ms} ms`}`;
    case 'start':
      return withNews(`▶ ${effect.id}`, effect.input);
    case 'stop':
      return `■ ${effect.id}`;
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

type Context = Readonly<Record<string, unknown>>;

/** What follows, without what is kept: edges with the same end share a row. */
function endOf(edge: Edge, begun: Context): readonly [to: string, effects: string] {
  if (!isReal(edge)) return ['(ignored)', ''];
  const { after, effects } = edge.move;
  const texts = effects
    .filter((effect) => effect.kind !== 'stop' || (effect.id !== edge.shot.child && after.status === 'active'))
    .flatMap((effect) => effectText(effect, { begun, now: after.context }) ?? []);
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
  return [...kept].map(([key, values]) => code(`${key} = ${[...values].sort().join(' or ')}`)).join(' ');
}

type Clamp = Spot['clamp'];

/** The fewest clamp fields that tell these spots from the others. */
function telling(these: readonly Clamp[], others: readonly Clamp[]): readonly string[] {
  const fields = [...new Set([...these, ...others].flatMap((clamp) => Object.keys(clamp)))];
  const view = (chosen: readonly string[]) => (clamp: Clamp) =>
    JSON.stringify(chosen.map((field) => clamp[field] ?? null));
  const apart = (chosen: readonly string[]) => {
    const seen = new Set(these.map(view(chosen)));
    return !others.map(view(chosen)).some((key) => seen.has(key));
  };
  let sets: string[][] = [[]];
  for (let size = 0; size <= fields.length; size++) {
    const fit = sets.find(apart);
    if (fit !== undefined) return fit;
    sets = sets.flatMap((set) => fields.slice(fields.indexOf(set.at(-1) ?? '') + 1).map((field) => [...set, field]));
  }
  return fields;
}

function condition(these: readonly Clamp[], others: readonly Clamp[]): string {
  const chosen = telling(these, others);
  const cases = new Set(
    these.map((clamp) => chosen.map((field) => `${field} = ${brief(clamp[field] ?? '—')}`).join(', ')),
  );
  return [...cases].sort().join(' or ');
}

function rowsOf(edges: readonly Edge[], begun: ReadonlyMap<string, Context>): string[] {
  const wanted = new Set(edges.filter(isReal).map(({ shot }) => shot));
  return [...Map.groupBy(edges, ({ shot }) => shot)].flatMap(([shot, same]) => {
    if (!wanted.has(shot)) return [];
    const groups = [...Map.groupBy(same, (edge) => endOf(edge, begun.get(edge.input) ?? {}).join('\n')).values()];
    return groups.map((group) => {
      const [to, effects] = group[0] === undefined ? ['', ''] : endOf(group[0], begun.get(group[0].input) ?? {});
      const others = groups.filter((other) => other !== group).flat();
      const when = groups.length === 1 ? '' : condition(group.map(clampOf), others.map(clampOf));
      return `| ${code(shot.label)} | ${when} | ${to} | ${effects} | ${keptBy(group)} |`;
    });
  });
}

const clampOf = ({ from }: Edge): Clamp => from.clamp;

/** What the state does not want to hear: by type where no payload makes a difference. */
function ignoredIn(edges: readonly Edge[]): string[] {
  const sent = edges.filter(({ shot }) => shot.by === 'event');
  const wanted = sent.filter(isReal).map(({ shot }) => shot);
  const types = new Set(wanted.map(({ event }) => event.type));
  const shots = sent.map(({ shot }) => shot).filter((shot) => !wanted.includes(shot));
  return [...new Set(shots.map(({ label, event }) => (types.has(event.type) ? label : event.type)))];
}

function section(state: string, edges: readonly Edge[], begun: ReadonlyMap<string, Context>): string[] {
  const lines = [`### ${state}`, ''];
  const tags = new Set(edges[0]?.from.snapshot._nodes.flatMap((node) => node.tags));
  if (tags.size > 0) lines.push(`Tagged ${[...tags].map(code).join(' ')}.`, '');
  const rows = rowsOf(edges, begun);
  if (rows.length > 0) lines.push('| when | only if | to | asks for | keeps |', '|---|---|---|---|---|', ...rows, '');
  const unwanted = ignoredIn(edges);
  if (unwanted.length > 0) lines.push(`Ignored: ${unwanted.map(code).join(' ')}`, '');
  return lines;
}

/** The table as Markdown. The same machine and samples give the same bytes. */
export function goldenTable(name: string, exploration: Exploration): string {
  const { samples, beginnings, edges, spots, anatomy } = exploration;
  const begun = new Map(Object.entries(samples.inputs).map(([input, given]) => [input, Object(given) as Context]));
  const byState = Map.groupBy(edges, ({ from }) => standing(from.snapshot));
  const order = new Map(anatomy.states.map((state, n) => [state, n]));
  const place = (state: string) => order.get(state.split(' + ')[0] ?? '') ?? order.size;
  const finals = [
    ...new Set(spots.filter(({ snapshot }) => snapshot.status === 'done').map((spot) => standing(spot.snapshot))),
  ];
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
        (effect) => effectText(effect, { begun: begun.get(input) ?? {}, now: move.after.context }) ?? [],
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
    ...[...byState.keys()]
      .sort((a, b) => place(a) - place(b) || a.localeCompare(b))
      .flatMap((state) => section(state, byState.get(state) ?? [], begun)),
    '### Ends',
    '',
    finals
      .sort((a, b) => place(a) - place(b))
      .map(code)
      .join(' '),
    '',
  ].join('\n');
}
