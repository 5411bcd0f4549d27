import { createHash } from 'node:crypto';
import type { Viz } from '@viz-js/viz';
import { supervision } from '../../src/machines/supervision.ts';
import type { Exploration } from '../../test/support/paths/explore.ts';
import { camelOf } from '../../test/support/paths/proved.ts';
import { type Chart, chartOf } from './chart.ts';
import { dotOf } from './dot.ts';
import { bestSettings, complaintsAbout, firstSettings, type Settings } from './layout.ts';
import { mermaidOf } from './mermaid.ts';
import { systemDot } from './system.ts';

/** A machine as the files in diagrams/ show it. `npm run diagrams` writes them; its path test holds them to the machine. */
export interface Drawing {
  readonly svg: string;
  readonly mmd: string;
  /** Texts that lie on other texts or on boxes: none is wanted. */
  readonly overlaps: readonly string[];
  readonly figures: string;
}

/** Graphviz's SVG with the fonts that browsers have, without its version, and with a first line of ours. */
function svgOf(viz: Viz, dot: string, title: string, mark: string): string {
  const { output, errors } = viz.render(dot, { format: 'svg' });
  const errorsOnly = errors.filter(({ level }) => level === 'error');
  if (output === undefined || errorsOnly.length > 0)
    throw new Error(`${title}: ${errorsOnly.map(({ message }) => message).join('; ')}`);
  const drawing = output
    .slice(output.indexOf('<svg'))
    .replaceAll(/<!--[\s\S]*?-->\n/g, '')
    .replaceAll(/font-family="[^"]*"/g, 'font-family="Helvetica, Arial, \'Liberation Sans\', sans-serif"')
    .replace('<g id="graph0"', `<title>${title}</title>\n<g id="graph0"`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<!-- ${mark} -->\n${wordsAbove(drawing)}`;
}

/** What a state with states inside says of itself goes above the arrows that lead through it, with a rim of its ground. */
function wordsAbove(drawing: string): string {
  const words: string[] = [];
  const without = drawing.replaceAll(/<g id="\w+" class="cluster">[\s\S]*?\n<\/g>/g, (cluster) =>
    cluster.replaceAll(/<text [^\n]*<\/text>\n/g, (text) => {
      words.push(text.replace('<text ', '<text paint-order="stroke" stroke="#f7f9fb" stroke-width="3" '));
      return '';
    }),
  );
  return without.replace(/<\/g>\s*<\/svg>\s*$/, `<g class="words">\n${words.join('')}</g>\n</g>\n</svg>\n`);
}

const fingerprint = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

interface Known {
  /** The SVG that is there, if there is one: in it are the settings that were the best, and of which chart. */
  readonly drawn: string | undefined;
  /** Whether the best settings are looked for where it does not say them, or a text lies on another by those that it says. */
  readonly search: boolean;
}

function settingsFor(viz: Viz, chart: Chart, print: string, { drawn, search }: Known): Settings {
  const [, known, text] = /<!-- chart (\w+) (\{.*\}) -->/.exec(drawn ?? '') ?? [];
  const settings = known === print && text !== undefined ? (JSON.parse(text) as Settings) : undefined;
  if (!search) return settings ?? firstSettings;
  const isClean = settings !== undefined && complaintsAbout(viz, dotOf(chart, settings)).overlaps.length === 0;
  return isClean ? settings : bestSettings(viz, (each) => dotOf(chart, each));
}

export function drawingOf(viz: Viz, name: string, exploration: Exploration, known: Known): Drawing {
  const chart = chartOf(name, exploration);
  const print = fingerprint(dotOf(chart, { inner: 0, nodesep: 0, tail: 'last', sink: false }));
  const settings = settingsFor(viz, chart, print, known);
  const dot = dotOf(chart, settings);
  const { overlaps, crossings } = complaintsAbout(viz, dot);
  return {
    svg: svgOf(viz, dot, name, `chart ${print} ${JSON.stringify(settings)}`),
    mmd: mermaidOf(chart),
    overlaps,
    figures: `${exploration.anatomy.states.length} states, ${chart.arrows.length} arrows, ${crossings} crossings`,
  };
}

/** The tree of actors, with a link to each machine of the catalogue. */
export const treeOf = (viz: Viz, machines: readonly string[]): string =>
  svgOf(viz, systemDot(supervision, new Set(machines.map(camelOf))), 'system', 'the tree of actors');
