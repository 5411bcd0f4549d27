import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { instance } from '@viz-js/viz';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Chart, chartOf } from '../../scripts/diagrams/chart.ts';
import { dotOf } from '../../scripts/diagrams/dot.ts';
import { treeOf } from '../../scripts/diagrams/drawing.ts';
import { bestSettings, complaintsAbout } from '../../scripts/diagrams/layout.ts';
import { mermaidOf } from '../../scripts/diagrams/mermaid.ts';
import { catalogue, chartFile } from '../../src/machines/catalogue.ts';
import { switchboardMachine } from '../paths/kit/switchboard.machine.ts';
import { samples } from '../paths/kit/switchboard.samples.ts';
import { explore } from '../support/paths/explore.ts';

describe('the chart of a machine', () => {
  const chart: Chart = chartOf('switchboard', explore(switchboardMachine, samples));
  const textsOn = (from: string, to: string) =>
    chart.arrows.find((arrow) => arrow.from === from && arrow.to === to)?.texts;
  const linesOf = (path: string) => chart.states.find((state) => state.path === path)?.lines;

  it('shows eventless transitions with their guards, timers with their length, and merges what goes the same way', () => {
    expect(textsOn('Refused', 'GivenUp')).toEqual(['always [isExhausted]']);
    expect(textsOn('Refused', 'Pausing')).toEqual(['always']);
    expect(textsOn('Dialing', 'Refused')).toEqual(['trunk.refused', 'effect.failed', 'after patience (5 s)']);
  });

  it('lists in the state what happens inside of it: effects, entry, exit, events that change no state', () => {
    expect(linesOf('Dialing')).toEqual(['▶ dial']);
    expect(linesOf('Open')).toContain('▶ listen');
    expect(linesOf('Open')).toContain('entry ↑ board.open');
    expect(linesOf('Open')).toContain('call.opened [isNew] · openLine');
    expect(linesOf('Open')).toContain('exit relieveOperator');
  });

  it('is drawn with a straight happy path, and no text over another', async () => {
    const viz = await instance();
    const dot = dotOf(
      chart,
      bestSettings(viz, (settings) => dotOf(chart, settings)),
    );
    const { overlaps, bends } = complaintsAbout(viz, dot);
    expect(overlaps).toEqual([]);
    expect(bends).toBeLessThan(1);
  });

  it('is complained about where texts lie on each other', async () => {
    const viz = await instance();
    const dot = 'digraph { layout=neato; a [pos="0,0!", label="first"]; b [pos="0.1,0!", label="second"]; a -> b }';
    expect(complaintsAbout(viz, dot).overlaps).toContain('"first" lies on "second"');
  });

  it('becomes Mermaid with the same states and arrows', () => {
    const mermaid = mermaidOf(chart);
    expect(mermaid).toContain('  Refused --> GivenUp : always [isExhausted]\n');
    expect(mermaid).toContain('  Stopped --> [*]\n');
    expect(mermaid).toContain('  Open : ▶ listen\n');
  });
});

describe('what lies in diagrams/', () => {
  it('is the tree of actors as it is now, and three files of each machine, which its path test looks into', async () => {
    const machines = catalogue.map(({ name }) => name);
    expect(treeOf(await instance(), machines)).toBe(readFileSync('diagrams/system.svg', 'utf8'));
    const files = machines.flatMap((name) => [chartFile(name), `${name}.mmd`, `${name}.md`]);
    expect(readdirSync('diagrams').sort()).toEqual([...files, 'system.svg'].sort());
  });
});

describe('npm run diagrams -- --check', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'plane3-diagrams-'));
    for (const kind of ['svg', 'mmd', 'md']) cpSync(`diagrams/lease.${kind}`, join(folder, `lease.${kind}`));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const check = () => {
    const args = [
      '--conditions=plane3-source',
      'scripts/diagrams.ts',
      '--check',
      '--machine',
      'lease',
      '--folder',
      folder,
    ];
    const { status, stdout } = spawnSync('node', args, { encoding: 'utf8' });
    return { status, stdout };
  };

  it('passes over the drawings that are there, and names each file that is out of date or forgotten', () => {
    expect(check()).toEqual({ status: 0, stdout: '' });
    writeFileSync(join(folder, 'lease.md'), `${readFileSync(join(folder, 'lease.md'), 'utf8')} `);
    writeFileSync(join(folder, 'ghost.svg'), '');
    rmSync(join(folder, 'lease.mmd'));
    const { status, stdout } = check();
    expect(status).toBe(1);
    expect(stdout.trimEnd().split('\n').sort()).toEqual([
      '✗ diagrams/ghost.svg belongs to no machine: npm run diagrams',
      '✗ diagrams/lease.md is out of date: npm run diagrams',
      '✗ diagrams/lease.mmd is out of date: npm run diagrams',
    ]);
    // It walks over every machine twice, in processes of its own.
  }, 180_000);
});
