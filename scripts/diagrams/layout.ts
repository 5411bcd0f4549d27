import type { Viz } from '@viz-js/viz';

/**
 * Looks at a drawing as a reader does, and tries a few settings of Graphviz until the reader has least to complain about:
 * texts over texts, lines through boxes and texts, a happy path that is not straight.
 */

export interface Settings {
  /** How much shorter than others an arrow within a composite state wants to be. */
  readonly inner: number;
  /** Space between neighbours, in inches. */
  readonly nodesep: number;
  /** Which leaf of a composite state its arrows leave from. */
  readonly tail: 'first' | 'last';
  /** Whether final states are all at the bottom. */
  readonly sink: boolean;
  /**
   * Whether each composite state is laid out by itself, and not in rows over the whole drawing. Graphviz keeps no room for
   * the texts of arrows there and back between two states of one where it lays out in rows.
   */
  readonly apart?: true;
}

const settingsWith = (nodeseps: readonly number[], inners: readonly number[]): readonly Settings[] =>
  inners.flatMap((inner) =>
    nodeseps.flatMap((nodesep) =>
      (['last', 'first'] as const).flatMap((tail) => [false, true].map((sink) => ({ inner, nodesep, tail, sink }))),
    ),
  );

/** Tried first; then the roomier ones, then those apart, each only where texts would still lie on each other. */
const usualSettings = settingsWith([0.35, 0.55], [3, 20]);
const laterSettings = [
  settingsWith([0.8, 1.1, 1.5], [3, 8, 40]),
  settingsWith([0.35, 0.55, 0.8], [3, 20]).map((settings): Settings => ({ ...settings, apart: true })),
];

/** What a drawing is made with that nobody has looked at yet. */
export const firstSettings: Settings = { inner: 3, nodesep: 0.35, tail: 'last', sink: false };

export interface Complaints {
  /** Texts that lie on other texts or on boxes: none is wanted. */
  readonly overlaps: readonly string[];
  readonly crossings: number;
  readonly bends: number;
  readonly cost: number;
}

interface Box {
  readonly owner: string;
  readonly what: string;
  readonly left: number;
  readonly right: number;
  readonly low: number;
  readonly high: number;
}

type Point = readonly [x: number, y: number];
interface Line {
  readonly owner: string;
  readonly ends: readonly [string, string];
  readonly points: readonly Point[];
}

interface Drawn {
  readonly op: string;
  readonly size?: number;
  readonly pt?: Point;
  readonly align?: 'l' | 'c' | 'r';
  readonly width?: number;
  readonly text?: string;
  readonly points?: readonly Point[];
}
interface DrawnThing {
  readonly name?: string;
  readonly bb?: string;
  readonly tail?: number;
  readonly head?: number;
  readonly penwidth?: string;
  readonly style?: string;
  readonly _draw_?: readonly Drawn[];
  readonly _ldraw_?: readonly Drawn[];
}
interface Drawing {
  readonly bb: string;
  readonly objects?: readonly DrawnThing[];
  readonly edges?: readonly DrawnThing[];
}

function textsOf(owner: string, thing: DrawnThing): Box[] {
  let size = 10;
  return (thing._ldraw_ ?? []).flatMap(({ op, size: next, pt, align, width = 0, text = '' }) => {
    if (op === 'F') size = next ?? size;
    if (op !== 'T' || pt === undefined || text.trim() === '') return [];
    const left = pt[0] - (align === 'r' ? width : align === 'c' ? width / 2 : 0);
    return [{ owner, what: text.trim(), left, right: left + width, low: pt[1] - size * 0.2, high: pt[1] + size * 0.7 }];
  });
}

function frameOf(owner: string, thing: DrawnThing): Box {
  const points = (thing._draw_ ?? []).flatMap((drawn) => drawn.points ?? []);
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  return {
    owner,
    what: owner,
    left: Math.min(...xs),
    right: Math.max(...xs),
    low: Math.min(...ys),
    high: Math.max(...ys),
  };
}

/** Points along a chain of Bézier curves, close enough to see what they run through. */
function along(points: readonly Point[]): Point[] {
  const found: Point[] = [];
  for (let n = 0; n + 3 < points.length; n += 3) {
    const [a, b, c, d] = points.slice(n, n + 4) as [Point, Point, Point, Point];
    for (let step = 0; step < 12; step++) {
      const t = step / 12;
      const u = 1 - t;
      const at = (k: 0 | 1) => u * u * u * a[k] + 3 * u * u * t * b[k] + 3 * u * t * t * c[k] + t * t * t * d[k];
      found.push([at(0), at(1)]);
    }
  }
  const last = points.at(-1);
  return last === undefined ? found : [...found, last];
}

const overlap = (a: Box, b: Box): boolean => a.left < b.right && b.left < a.right && a.low < b.high && b.low < a.high;
const contains = (a: Box, b: Box): boolean =>
  a.left <= b.left && b.right <= a.right && a.low <= b.low && b.high <= a.high;
const inside = ([x, y]: Point, box: Box): boolean => x > box.left && x < box.right && y > box.low && y < box.high;

const around = (box: Box, by: number): Box => ({
  ...box,
  left: box.left - by,
  right: box.right + by,
  low: box.low - by,
  high: box.high + by,
});

function crosses([p, q]: readonly [Point, Point], [r, s]: readonly [Point, Point]): boolean {
  const side = (a: Point, b: Point, c: Point) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  return side(p, q, r) * side(p, q, s) < 0 && side(r, s, p) * side(r, s, q) < 0;
}

function crossingsOf(lines: readonly Line[]): number {
  let found = 0;
  const segments = lines.map(({ points }) => points.slice(1).map((to, n) => [points[n] ?? to, to] as const));
  segments.forEach((one, n) => {
    for (const other of segments.slice(n + 1)) {
      if (one.some((a) => other.some((b) => crosses(a, b)))) found += 1;
    }
  });
  return found;
}

/** What a reader complains about in this drawing. */
export function complaintsAbout(viz: Viz, dot: string): Complaints {
  const { objects = [], edges: drawn = [], bb } = viz.renderJSON(dot) as Drawing;
  const edges = drawn.filter(({ style }) => style !== 'invis');
  const isCluster = ({ bb: box }: DrawnThing) => box !== undefined;
  const nodes = objects.filter((thing) => !isCluster(thing) && (thing._draw_ ?? []).length > 0);
  const frames = nodes.map((thing) => frameOf(thing.name ?? '', thing));
  const names = objects.map(({ name }) => name ?? '');
  const lines = edges.map((edge, n): Line => {
    const curve = edge._draw_?.find(({ op }) => op === 'b' || op === 'B')?.points ?? [];
    return {
      owner: `arrow ${n}`,
      ends: [names[edge.tail ?? -1] ?? '', names[edge.head ?? -1] ?? ''],
      points: along(curve),
    };
  });
  const texts = [
    ...edges.flatMap((edge, n) => textsOf(`arrow ${n}`, edge)),
    ...objects.flatMap((thing) => textsOf(thing.name ?? '', thing)),
  ];
  const overlaps = new Set<string>();
  texts.forEach((text, n) => {
    for (const other of texts.slice(n + 1)) {
      if (other.owner !== text.owner && overlap(text, other)) overlaps.add(`"${text.what}" lies on "${other.what}"`);
    }
    for (const frame of frames) {
      if (frame.owner !== text.owner && overlap(text, frame))
        overlaps.add(`"${text.what}" lies on the box ${frame.what}`);
    }
  });
  const clusters = objects.filter(isCluster).map((thing) => frameOf(thing.name ?? '', thing));
  const onBorder = texts.filter((text) => clusters.some((box) => overlap(text, box) && !contains(box, text))).length;
  let struck = 0;
  let pierced = 0;
  for (const { owner, points, ends } of lines) {
    struck += texts.filter((text) => text.owner !== owner && points.some((point) => inside(point, text))).length;
    pierced += frames.filter((box) => !ends.includes(box.owner) && points.some((point) => inside(point, box))).length;
  }
  // A line that is cut off at the border of its state may leave its text behind.
  const stray = lines.filter(({ owner, points }) => {
    const own = texts.filter((text) => text.owner === owner);
    return own.length > 0 && !own.some((text) => points.some((point) => inside(point, around(text, 25))));
  }).length;
  const straight = edges.flatMap((edge, n) => (edge.penwidth !== '2.2' ? [] : [lines[n]?.points ?? []]));
  const bends = straight.reduce((sum, points) => {
    const xs = points.map(([x]) => x);
    return sum + Math.max(...xs) - Math.min(...xs);
  }, 0);
  const crossings = crossingsOf(lines);
  const [, , width = 0, height = 0] = bb.split(',').map(Number);
  const cost =
    overlaps.size * 400 +
    pierced * 150 +
    onBorder * 40 +
    stray * 150 +
    struck * 60 +
    crossings * 25 +
    bends * 1.5 +
    (width + height) * 0.15;
  return { overlaps: [...overlaps], crossings, bends, cost };
}

/** The settings that give the best drawing. */
export function bestSettings(viz: Viz, draw: (settings: Settings) => string): Settings {
  let best: { readonly settings: Settings; readonly complaints: Complaints } | undefined;
  for (const candidates of [usualSettings, ...laterSettings]) {
    if (best?.complaints.overlaps.length === 0) break;
    for (const settings of candidates) {
      const complaints = complaintsAbout(viz, draw(settings));
      if (best === undefined || complaints.cost < best.complaints.cost) best = { settings, complaints };
    }
  }
  if (best === undefined) throw new Error('there are no settings to choose from');
  return best.settings;
}
