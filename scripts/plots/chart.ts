/** A line chart as SVG text. The same points give the same bytes on every machine. */
export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Chart {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  /** Powers of ten on the x axis; 0 stands at its left end. */
  readonly log?: boolean;
  readonly lines: readonly Line[];
}

const [WIDTH, HEIGHT] = [640, 260];
const ROOM = { left: 64, right: 16, top: 46, bottom: 44 };
const COLOURS = ['#2563eb', '#c2410c', '#15803d', '#7e22ce'] as const;
const TICKS = 4;

export function svgOf({ title, x, y, log = false, lines }: Chart): string {
  const known = lines.map((line) => ({ ...line, points: line.points.filter((point) => point.every(Number.isFinite)) }));
  const xs = known.flatMap(({ points }) => points.map(([at]) => at));
  const ys = known.flatMap(({ points }) => points.map(([, value]) => value));
  const scaled = (value: number) => (log ? Math.log10(Math.max(1, value)) : value);
  const [left, right] = [scaled(Math.min(...xs)), scaled(Math.max(...xs))];
  // The y axis begins at nothing, so that flat looks flat.
  const top = roundUp(Math.max(...ys));
  const bottom = Math.min(0, ...ys);
  const toX = (value: number) =>
    ROOM.left + ((scaled(value) - left) / (right - left || 1)) * (WIDTH - ROOM.left - ROOM.right);
  const toY = (value: number) =>
    HEIGHT - ROOM.bottom - ((value - bottom) / (top - bottom || 1)) * (HEIGHT - ROOM.top - ROOM.bottom);
  const at = (value: number) => value.toFixed(1);
  const grid = Array.from({ length: TICKS + 1 }, (_, n) => bottom + ((top - bottom) * n) / TICKS).map(
    (value) =>
      `<line x1="${ROOM.left}" x2="${WIDTH - ROOM.right}" y1="${at(toY(value))}" y2="${at(toY(value))}" stroke="#d4d4d8"/>` +
      `<text x="${ROOM.left - 8}" y="${at(toY(value) + 4)}" text-anchor="end">${short(value)}</text>`,
  );
  const marks = (log ? [...new Set(xs)].sort((a, b) => a - b) : even(left, right)).map(
    (value) =>
      `<text x="${at(toX(value))}" y="${HEIGHT - ROOM.bottom + 18}" text-anchor="middle">${short(value)}</text>`,
  );
  const drawn = known.map(({ points }, n) => {
    const colour = COLOURS[n % COLOURS.length];
    const path = points.map(([px, py]) => `${at(toX(px))},${at(toY(py))}`).join(' ');
    const dots =
      points.length > 40
        ? []
        : points.map(([px, py]) => `<circle cx="${at(toX(px))}" cy="${at(toY(py))}" r="2.5" fill="${colour}"/>`);
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="1.8"/>${dots.join('')}`;
  });
  let from = ROOM.left;
  const legend = known.map(({ name }, n) => {
    const item = `<rect x="${from}" y="30" width="10" height="3" fill="${COLOURS[n % COLOURS.length]}"/><text x="${from + 15}" y="35">${escaped(name)}</text>`;
    from += 30 + name.length * 7;
    return item;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="11" fill="#27272a">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    `<text x="${ROOM.left}" y="18" font-size="13" font-weight="bold">${escaped(title)}</text>`,
    ...legend,
    ...grid,
    ...marks,
    `<text x="${(WIDTH + ROOM.left) / 2}" y="${HEIGHT - 8}" text-anchor="middle">${escaped(x)}</text>`,
    `<text x="14" y="${HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 14 ${HEIGHT / 2})">${escaped(y)}</text>`,
    ...drawn,
    '</svg>',
    '',
  ].join('\n');
}

const even = (from: number, to: number): number[] => Array.from({ length: 6 }, (_, n) => from + ((to - from) * n) / 5);

/** The next 1, 2, 2.5, 5 or 10 of its power of ten. */
function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return (([1, 2, 2.5, 5].find((step) => step * power >= value) ?? 10) as number) * power;
}

function short(value: number): string {
  if (Math.abs(value) >= 1_000_000) return `${Number((value / 1_000_000).toPrecision(3))}M`;
  if (Math.abs(value) >= 1_000) return `${Number((value / 1_000).toPrecision(3))}k`;
  return String(Number(value.toPrecision(3)));
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
