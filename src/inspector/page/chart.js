// @ts-check
/** The chart of one machine, as `npm run diagrams` drew it, with the states lit that the actor is in. */

/** Of the size that it was drawn in. */
const SMALLEST = 0.85;
const LARGEST = 1.25;
/** What is drawn: machine and states. */
let drawn = '';

/** @type {Map<string, Promise<SVGSVGElement | undefined>>} */
const charts = new Map();

/** @param {string} machine */
function chartOf(machine) {
  const known = charts.get(machine);
  if (known !== undefined) return known;
  const loading = load(machine);
  charts.set(machine, loading);
  return loading;
}

/** @param {string} machine @returns {Promise<SVGSVGElement | undefined>} */
async function load(machine) {
  const answer = await fetch(`chart/${encodeURIComponent(machine)}`);
  if (!answer.ok) return undefined;
  const drawing = new DOMParser().parseFromString(await answer.text(), 'image/svg+xml').documentElement;
  if (!(drawing instanceof SVGSVGElement)) return undefined;
  // As wide as there is room, but never so small that its words cannot be read: then it is scrolled.
  const points = Number.parseFloat(drawing.getAttribute('width') ?? '');
  if (points > 0) drawing.style.width = `clamp(${SMALLEST * points}pt, 100%, ${LARGEST * points}pt)`;
  return drawing;
}

/** @param {Element} group */
const titleOf = (group) => group.querySelector(':scope > title')?.textContent ?? '';

/** A path and everything above it. @param {string} path @returns {string[]} */
const upward = (path) => path.split('.').map((_, n, parts) => parts.slice(0, n + 1).join('.'));

/**
 * @param {Element} place
 * @param {{ machine: string | undefined, states: string[], from: string[] }} of `from`: where it came from in the step shown
 */
export async function drawChart(place, { machine, states, from }) {
  const chart = machine === undefined ? undefined : await chartOf(machine);
  if (chart === undefined) {
    place.replaceChildren();
    return;
  }
  if (place.firstChild !== chart) {
    place.replaceChildren(chart);
    place.scrollTo(0, 0);
  }
  const lit = new Set(states.flatMap(upward));
  const left = from.filter((path) => !states.includes(path));
  const entered = states.filter((path) => !from.includes(path));
  const taken = new Set(left.flatMap((tail) => entered.map((head) => `${tail}->${head}`)));
  for (const group of chart.querySelectorAll('g.node, g.cluster, g.edge')) {
    const title = titleOf(group).replace(/^cluster_/, '');
    group.classList.toggle('lit', !group.classList.contains('edge') && lit.has(title));
    group.classList.toggle('taken', group.classList.contains('edge') && taken.has(title));
  }
  const now = [machine, ...states].join();
  if (now === drawn) return;
  drawn = now;
  chart.querySelector('g.node.lit')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}
