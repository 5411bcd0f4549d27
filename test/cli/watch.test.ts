import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { Workstation } from '../support/workstation.ts';

let ws: Workstation;
afterEach(() => ws.dispose());

describe('cotal status --watch', () => {
  it('says again and again what is true, an object a line, and ends with 0 when it is asked to', async () => {
    ws = new Workstation();
    mkdirSync(join(ws.root, '.cotal'));
    const watching = ws.start(['status', '--watch', 1, '--json']);
    const lines = () => watching.stdout().trim().split('\n');
    await until(() => lines().length >= 3, watching.stdout, 90_000);
    watching.kill('SIGINT');
    expect(await watching.ended).toMatchObject({ code: 0 });
    for (const line of lines()) {
      const { facts } = JSON.parse(line) as { facts: { name: string; ok: boolean | null }[] };
      expect(facts.find(({ name }) => name === 'broker.process')).toMatchObject({ ok: false });
    }
  });

  it('refuses a time that is none', async () => {
    ws = new Workstation();
    mkdirSync(join(ws.root, '.cotal'));
    const refused = await ws.run(['status', '--watch', '0']);
    expect(refused.code).toBe(64);
    expect(refused.stderr).toContain('--watch');
  });
});
