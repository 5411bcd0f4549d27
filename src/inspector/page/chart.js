// @ts-check
/** The chart of one machine, as `npm run diagrams` drew it, with the states lit that the actor is in. */

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
  return drawing instanceof SVGSVGElement ? drawing : undefined;
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
  if (place.firstChild !== chart) place.replaceChildren(chart);
  const lit = new Set(states.flatMap(upward));
  const left = from.filter((path) => !states.includes(path));
  const entered = states.filter((path) => !from.includes(path));
  const taken = new Set(left.flatMap((tail) => entered.map((head) => `${tail}->${head}`)));
  for (const group of chart.querySelectorAll('g.node, g.cluster, g.edge')) {
    const title = titleOf(group).replace(/^cluster_/, '');
    group.classList.toggle('lit', !group.classList.contains('edge') && lit.has(title));
    group.classList.toggle('taken', group.classList.contains('edge') && taken.has(title));
  }
}
