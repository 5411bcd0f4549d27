import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { replay } from '../../src/inspector/replay.ts';
import { compared, histories } from '../support/delivery/histories.ts';

const folder = fileURLToPath(new URL('../golden', import.meta.url));
const golden = globSync('*.jsonl', { cwd: folder }).map((file) => ({
  name: basename(file, '.jsonl'),
  text: readFileSync(`${folder}/${file}`, 'utf8'),
}));
const [first = { name: '', text: '' }] = golden;

describe('recorded histories', () => {
  it('are there, one for each life that is recorded', () => {
    expect(golden.map(({ name }) => name).sort()).toEqual(Object.keys(histories).sort());
  });

  it.each(golden)(
    '$name: today’s machines would do the same (where they are meant not to: npm run golden)',
    ({ name, text }) => {
      const { differences, unknown } = replay(name, text);
      expect(differences.filter(({ machine }) => compared.has(machine))).toEqual([]);
      expect(unknown).toEqual([]);
    },
  );

  it('name the first step of an actor that comes out otherwise, what was and what is, and how much is left out', () => {
    const lines = first.text.trim().split('\n');
    const at = lines.findIndex((line) => line.includes('"row.stored"') && line.includes('"asked"'));
    const step = JSON.parse(lines[at] ?? '{}') as { actor: string; to: string[]; on: { type: string } };
    lines[at] = JSON.stringify({ ...step, to: ['Elsewhere'] });
    const differences = replay('x', lines.join('\n')).differences.filter(({ machine }) => compared.has(machine));
    expect(differences).toMatchObject([
      { line: at + 1, on: step.on.type, was: { to: ['Elsewhere'] }, now: { to: step.to } },
    ]);
    expect(differences[0]?.rest).toBe(
      lines.slice(at + 1).filter((line) => line.includes(`"actor":"${step.actor}"`)).length,
    );
  });

  it('that were cut short by a crash are replayed up to there; others that cannot be read are refused by line', () => {
    const lines = first.text.trim().split('\n');
    const cut = [...lines.slice(0, 20), (lines[20] ?? '').slice(0, 15)].join('\n');
    expect(replay('x', cut).steps).toBe(19);
    expect(() => replay('x', [...lines.slice(0, 5), 'nonsense', ...lines.slice(5)].join('\n'))).toThrow(
      /line 6 is not a step/,
    );
    expect(() => replay('x', lines.slice(1).join('\n'))).toThrow(/first line is not the head/);
    expect(() => replay('x', '')).toThrow(/first line is not the head/);
  });

  it('of machines that are not there any more say which', () => {
    const head = first.text.split('\n')[0] ?? '';
    const step = { actor: 'x:1', machine: 'gone', id: 'g', at: 0, on: { type: 'xstate.init' }, to: ['A'] };
    expect(replay('x', `${head}\n${JSON.stringify(step)}\n`)).toMatchObject({ unknown: ['gone'], differences: [] });
  });
});
