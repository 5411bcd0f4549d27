import { type Chart, type ChartArrow, type ChartState, everyState } from './chart.ts';
import type { Settings } from './layout.ts';

/** A chart in Graphviz's language. Composite states are clusters; the happy path is heavy, so that it is laid out straight. */

const ink = '#1f2933';
const faint = '#7b8794';
const happy = '#0b6e4f';
const fills = { atomic: '#ffffff', serving: '#e3f6e8', final: '#e4e7eb', cluster: '#f7f9fb', nested: '#eef2f6' };

const plain = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** A line of small text. Graphviz takes signs outside of ASCII for spaces, and readers have wider fonts: some room behind. */
const roomy = (line: string): string => {
  const signs = [...line].filter((sign) => sign.charCodeAt(0) > 127).length;
  return `${plain(line)}${'&#160;'.repeat(2 + 2 * signs)}`;
};

const id = (path: string): string => `"${path}"`;

const all = (states: readonly ChartState[]): ChartState[] => states.flatMap((state) => [state, ...all(state.children)]);

/** The leaf at which an arrow into a state ends: the child where it begins, and so on down. */
function leafOf(states: ReadonlyMap<string, ChartState>, path: string): string {
  const state = states.get(path);
  const next = state?.begins ?? (state?.kind === 'parallel' ? state.children[0]?.path : undefined);
  return next === undefined ? path : leafOf(states, next);
}

/** The leaf of a composite state from which its own arrows are drawn. */
function tailOf(state: ChartState, which: Settings['tail']): string {
  const child = state.children.filter(({ kind }) => kind !== 'history').at(which === 'last' ? -1 : 0);
  return child === undefined ? state.path : tailOf(child, which);
}

function label({ name, lines }: ChartState): string {
  const rows = lines.map(
    (line) => `<tr><td align="left"><font point-size="9" color="${faint}">${roomy(line)}</font></td></tr>`,
  );
  return `<<table border="0" cellborder="0" cellspacing="0" cellpadding="1"><tr><td><b>${plain(name)}</b></td></tr>${rows.join('')}</table>>`;
}

const anywhere = (path: string): string => `(anywhere in ${path})`;

/** Whether an arrow leads from a composite state to one inside of it: it is taken from anywhere in it. */
const isInward = ({ from }: ChartArrow, head: string): boolean => head.startsWith(`${from}.`);

/** What the drawing of a state needs to know of the arrows. */
interface Marks {
  /** Leaves that lie straight below each other. */
  readonly straight: ReadonlySet<string>;
  /** Composite states with arrows to what is inside of them. */
  readonly inward: ReadonlySet<string>;
}

/** A dot where a further region of a parallel state begins: arrows are drawn into the first one. */
function beginOf({ path, children, begins }: ChartState): string[] {
  if (children.length < 2 || begins === undefined) return [];
  const dot = `(begin ${path})`;
  const inside = `subgraph "cluster_${path}" { ${id(dot)} [shape=point, width=0.1, color="${ink}"] }`;
  return [inside, `${id(dot)} -> ${id(begins)} [weight=40]`];
}

function drawState(state: ChartState, depth: number, { straight, inward }: Marks): string[] {
  const { path, name, kind, children, lines, tags } = state;
  const group = straight.has(path) ? ', group="happy"' : '';
  if (kind === 'history') {
    return [
      `${id(path)} [shape=circle, style=filled, fillcolor="#ffffff", label="H", width=0.28, fixedsize=true${group}]`,
    ];
  }
  if (children.length > 0) {
    const title = lines
      .map((line) => `<br align="left"/><font point-size="9" color="${faint}">${roomy(line)}</font>`)
      .join('');
    return [
      `subgraph "cluster_${path}" {`,
      `label=<<b>${plain(name)}</b>${title}<br align="left"/>>; labeljust=l; style="rounded,filled"; color="${faint}";`,
      `fillcolor="${tags.includes('serving') ? fills.serving : depth % 2 === 0 ? fills.cluster : fills.nested}"; margin=14;`,
      ...children.flatMap((child) => drawState(child, depth + 1, { straight, inward })),
      // The words from which its arrows to what is inside of it come.
      ...(inward.has(path)
        ? [`${id(anywhere(path))} [shape=plaintext, style="", fontsize=9.5, label=<<i>anywhere in ${plain(name)}</i>>]`]
        : []),
      ...(kind === 'parallel' ? children.slice(1).flatMap(beginOf) : []),
      '}',
    ];
  }
  const fill = kind === 'final' ? fills.final : tags.includes('serving') ? fills.serving : fills.atomic;
  const border = kind === 'final' ? ', peripheries=2' : '';
  return [`${id(path)} [label=${label(state)}, fillcolor="${fill}"${border}${group}]`];
}

interface Line {
  readonly tail: string;
  readonly head: string;
  readonly texts: readonly string[];
  readonly attributes: readonly string[];
}

const drawLine = ({ tail, head, texts, attributes }: Line): string => {
  const text = texts.map((line) => `&#160;&#160;${roomy(line)}<br align="left"/>`).join('');
  return `${id(tail)} -> ${id(head)} [${[`label=<${text}>`, ...attributes].join(', ')}]`;
};

function drawArrow(
  arrow: ChartArrow,
  states: ReadonlyMap<string, ChartState>,
  settings: Settings,
  isBack: boolean,
): string {
  const { from, to, texts, isHappy, happyTail, happyTexts = [] } = arrow;
  const source = states.get(from);
  const isComposite = source !== undefined && source.children.length > 0;
  const head = leafOf(states, to);
  const inward = isInward(arrow, head);
  const parentOf = (path: string) => path.split('.').slice(0, -1).join('.');
  const isInside = parentOf(from) !== '' && parentOf(head).startsWith(parentOf(from));
  const usual = [`weight=${isInside ? settings.inner : 1}`];
  const clip = isComposite && !inward ? [`ltail="cluster_${from}"`] : [];
  const green = [
    `color="${happy}"`,
    `fontcolor="${happy}"`,
    isBack ? 'penwidth=2, weight=0' : 'penwidth=2.2, weight=1000',
  ];
  const happyLeaf = happyTail?.startsWith(`${from}.`) ? happyTail : undefined;
  const lines: Line[] = [];
  if (inward) {
    lines.push({ tail: anywhere(from), head, texts, attributes: ['weight=1'] });
    if (isHappy) lines.push({ tail: happyLeaf ?? leafOf(states, from), head, texts: happyTexts, attributes: green });
  } else {
    const tail = happyLeaf ?? (isComposite ? tailOf(source, settings.tail) : from);
    lines.push({ tail, head, texts, attributes: [...clip, ...(isHappy ? green : usual)] });
  }
  const target = states.get(to);
  const others =
    target?.kind === 'parallel' && !inward ? target.children.slice(1).map(({ path }) => leafOf(states, path)) : [];
  const unseen = others.map((path) => `${id(lines[0]?.tail ?? from)} -> ${id(path)} [style=invis, weight=0]`);
  return [...lines.map(drawLine), ...unseen].join('\n');
}

const ancestors = (path: string): string[] =>
  path
    .split('.')
    .map((_, n, parts) => parts.slice(0, n).join('.'))
    .slice(1);

/**
 * Composite states that the happy path leaves and enters lie one below the other: unseen lines from all that is in the one
 * to the first of the other. Side by side, the path between them could not be straight.
 */
function stack(chart: Chart, states: ReadonlyMap<string, ChartState>): string[] {
  const lines = new Set<string>();
  for (const arrow of chart.arrows.filter(({ isHappy }) => isHappy)) {
    const head = leafOf(states, arrow.to);
    const tail = leafOf(states, arrow.from);
    const left = ancestors(tail).find((path) => !head.startsWith(`${path}.`));
    const above = left === undefined ? undefined : states.get(left);
    for (const { path, children, kind } of above === undefined ? [] : all(above.children)) {
      const isLeaf = children.length === 0 && kind !== 'history' && path !== tail;
      if (isLeaf) lines.add(`${id(path)} -> ${id(head)} [style=invis, weight=0]`);
    }
  }
  return [...lines];
}

/** Happy arrows that lead back to where the path has been: drawn, but not straight down. */
function backArrows(chart: Chart, states: ReadonlyMap<string, ChartState>): ReadonlySet<ChartArrow> {
  const ahead = chart.arrows.filter(({ isHappy }) => isHappy);
  const reached = new Set<string>();
  const back = new Set<ChartArrow>();
  const walk = (leaf: string) => {
    reached.add(leaf);
    for (const arrow of ahead) {
      const tail = arrow.happyTail ?? leafOf(states, arrow.from);
      if (tail !== leaf && arrow.from !== leaf) continue;
      const head = leafOf(states, arrow.to);
      if (reached.has(head)) back.add(arrow);
      else walk(head);
    }
  };
  walk(leafOf(states, chart.begins));
  return back;
}

export function dotOf(chart: Chart, settings: Settings): string {
  const states = new Map(all(chart.states).map((state) => [state.path, state]));
  const back = backArrows(chart, states);
  const finals = chart.states.filter(({ kind }) => kind === 'final').map(({ path }) => path);
  const walked = chart.arrows.filter(({ isHappy }) => isHappy).flatMap(({ from, to }) => [from, to]);
  const straight = new Set([chart.begins, ...walked].map((path) => leafOf(states, path)));
  // In the group of the straight ones it would pull the way back straight as well.
  for (const { from, happyTail } of back) straight.delete(happyTail ?? leafOf(states, from));
  const inward = new Set(
    chart.arrows.filter((arrow) => isInward(arrow, leafOf(states, arrow.to))).map(({ from }) => from),
  );
  return [
    'digraph {',
    `graph [compound=true, newrank=${settings.apart !== true}, rankdir=TB, fontname="Helvetica", fontsize=12, nodesep=${settings.nodesep}, ranksep=0.5, pad=0.3, bgcolor="white"]`,
    `node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=12, color="${ink}", fontcolor="${ink}", margin="0.12,0.06"]`,
    `edge [fontname="Helvetica", fontsize=9.5, color="${faint}", fontcolor="${ink}", arrowsize=0.7]`,
    `"(begin)" [shape=point, width=0.14, color="${ink}", group="happy"]`,
    ...(chart.arrows.some(({ from }) => from === everyState)
      ? [`${id(everyState)} [shape=plaintext, style="", label=<<i>in every state</i>>]`]
      : []),
    ...chart.states.flatMap((state) => drawState(state, 0, { straight, inward })),
    `"(begin)" -> ${id(leafOf(states, chart.begins))} [weight=1000, color="${happy}", penwidth=2.2]`,
    // Beside where their state begins, so that they do not float to the top.
    ...[...inward].map((path) => `{ rank=same; ${id(leafOf(states, path))}; ${id(anywhere(path))} }`),
    ...stack(chart, states),
    ...(settings.sink ? [`{ rank=sink; ${finals.map(id).join('; ')} }`] : []),
    ...chart.arrows.map((arrow) => drawArrow(arrow, states, settings, back.has(arrow))),
    '}',
    '',
  ].join('\n');
}
