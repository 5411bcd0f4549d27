import { type Chart, type ChartState, everyState } from './chart.ts';

/** A chart as a Mermaid state diagram: for readers of Markdown. */

const id = (path: string): string => path.replaceAll(/[^A-Za-z0-9]/g, '_');
const text = (line: string): string => line.replaceAll(/[:;#]/g, ' ');

function stateLines(state: ChartState, indent: string): string[] {
  const { path, name, kind, children, lines, begins } = state;
  const name_ = id(path);
  if (kind === 'history') return [`${indent}state "(as before)" as ${name_}`];
  const described = lines.map((line) => `${indent}${name_} : ${text(line)}`);
  if (children.length === 0) {
    const end = kind === 'final' ? [`${indent}${name_} --> [*]`] : [];
    return [`${indent}state "${name}" as ${name_}`, ...described, ...end];
  }
  const inner = `${indent}  `;
  const regions = children.map((child) => stateLines(child, inner));
  const body =
    kind === 'parallel'
      ? regions.flatMap((region, n) => (n === 0 ? region : [`${inner}--`, ...region]))
      : regions.flat();
  return [
    `${indent}state "${[name, ...lines].map(text).join(' · ')}" as ${name_} {`,
    ...(begins === undefined ? [] : [`${inner}[*] --> ${id(begins)}`]),
    ...body,
    `${indent}}`,
  ];
}

export function mermaidOf(chart: Chart): string {
  return [
    'stateDiagram-v2',
    '  direction TB',
    `  [*] --> ${id(chart.begins)}`,
    ...(chart.arrows.some(({ from }) => from === everyState) ? [`  state "in every state" as ${id(everyState)}`] : []),
    ...chart.states.flatMap((state) => stateLines(state, '  ')),
    ...chart.arrows.map(({ from, to, texts }) => `  ${id(from)} --> ${id(to)} : ${texts.map(text).join('<br/>')}`),
    '',
  ].join('\n');
}
