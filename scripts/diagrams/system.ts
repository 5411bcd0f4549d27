import type { Restart, Root, Supervised } from '../../src/machines/supervision.ts';

/** The tree of actors, drawn from left to right: one box an actor, a cluster for each process it lives in. */

const restarts: Record<Restart, { readonly text: string; readonly color: string }> = {
  never: { text: 'its end is its parent’s end', color: '#9b2226' },
  always: { text: 'started again', color: '#0b6e4f' },
  backoff: { text: 'started again, with back-off', color: '#1d4e89' },
  'per-item': { text: 'one for each item', color: '#7a5195' },
};

const plain = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function box(actor: Supervised, path: string, isMachine: boolean, order: number | undefined): string {
  const per =
    actor.per === undefined ? '' : ` <font color="${restarts['per-item'].color}">× ${plain(actor.per)}</font>`;
  const number = order === undefined ? '' : `<font color="#7b8794" point-size="9">${order}. </font>`;
  const about = `<font point-size="9" color="#52606d">${plain(actor.about)}</font>`;
  return `"${path}" [label=<${number}<b>${plain(actor.name)}</b>${per}<br align="left"/>${about}<br align="left"/>>, style="rounded,filled${isMachine ? '' : ',dashed'}"]`;
}

function draw(actor: Supervised, path: string, machines: ReadonlySet<string>, order?: number): string[] {
  const children = actor.children ?? [];
  const ordered = children.filter(({ restart }) => restart !== 'per-item');
  return [
    box(actor, path, machines.has(actor.name), order),
    // Graphviz fills a column from below.
    ...[...children].reverse().flatMap((child) => {
      const { color } = restarts[child.restart];
      const below = `${path}/${child.name}`;
      const style = child.restart === 'per-item' ? ', style=dashed' : '';
      return [
        ...draw(child, below, machines, child.restart === 'per-item' ? undefined : ordered.indexOf(child) + 1),
        `"${path}":e -> "${below}":w [color="${color}"${style}]`,
      ];
    }),
  ];
}

/** `machines` are the names that the catalogue knows: other actors are dashed. */
export function systemDot(roots: readonly Root[], machines: ReadonlySet<string>): string {
  const legend = Object.values(restarts).map(
    ({ text, color }) => `<tr><td align="left"><font color="${color}">━━</font>  ${text}</td></tr>`,
  );
  return [
    'digraph {',
    'graph [rankdir=LR, fontname="Helvetica", fontsize=12, nodesep=0.12, ranksep=0.7, pad=0.3, bgcolor="white", splines=true]',
    'node [shape=box, style="rounded,filled", fillcolor="#ffffff", color="#1f2933", fontname="Helvetica", fontsize=12, margin="0.12,0.06"]',
    'edge [color="#7b8794", arrowsize=0.6, penwidth=1.4]',
    `"(legend)" [shape=plain, fillcolor="white", label=<<table border="0" cellspacing="2"><tr><td align="left"><b>when a child ends</b></td></tr>${legend.join('')}<tr><td align="left">numbers: the order of the start</td></tr><tr><td align="left">dashed box: not a machine of the catalogue</td></tr></table>>]`,
    ...[...roots]
      .reverse()
      .map((root) =>
        [
          `subgraph "cluster_${root.name}" {`,
          `label=<<b>${plain(root.runsIn)}</b>>; labeljust=l; style="rounded,filled"; color="#cbd2d9"; fillcolor="#f7f9fb"; margin=12;`,
          ...draw(root, root.name, machines),
          '}',
        ].join('\n'),
      ),
    '}',
    '',
  ].join('\n');
}
