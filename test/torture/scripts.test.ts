/**
 * Short scripts that are lived through for good: what a longer run once found (`found` says what), and drills. Each goes in
 * `scripts/`, as `cotal torture --shrink` writes it; how one is found is in docs/torture.md.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { run } from '../../src/torture/run.ts';
import { scriptSchema } from '../../src/torture/schedule.ts';

const scripts = readdirSync(new URL('scripts/', import.meta.url)).map((file) => {
  const text = readFileSync(new URL(`scripts/${file}`, import.meta.url), 'utf8');
  return { name: file.replace('.json', ''), script: scriptSchema.parse(JSON.parse(text)) };
});

it.each(scripts)('$name: nothing is lost, and nobody sees what they may not', async ({ script }) => {
  const folder = mkdtempSync(join(tmpdir(), 'plane3-torture-'));
  const { verdict } = await run({ script, folder, planted: [], drainMs: 120_000 });
  expect(verdict.findings).toEqual([]);
  expect(verdict.charges).toMatchObject({ lost: 0, unauthorized: 0 });
  rmSync(folder, { recursive: true, force: true });
});
