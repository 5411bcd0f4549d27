import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Cotal, cotalOf, type Ran } from '../support/cli.ts';
import { type Mesh, startMesh } from '../support/mesh.ts';
import { dumpOf, NOW, POISONED, plantPoisoned, providersOf, REPAIRS, SECRETS } from '../support/provider/poisoned.ts';

let mesh: Mesh;
let cotal: Cotal;
let folder: string;
let db: string;
const said: string[] = [];
beforeAll(async () => {
  mesh = await startMesh();
  cotal = cotalOf(mesh);
});
afterAll(async () => {
  await cotal?.dispose();
  await mesh?.dispose();
  // Neither token nor body nor name in anything that was said or written.
  for (const secret of SECRETS) expect(said.join('\n')).not.toContain(secret);
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'plane3-repair-cli-'));
  db = join(folder, 'hosted.db');
  plantPoisoned(db);
  return () => rmSync(folder, { recursive: true, force: true });
});

async function repair(...args: string[]): Promise<Ran> {
  const ran = await cotal.run('repair', 'default-provider', '--now', String(NOW), ...args);
  said.push(ran.stdout, ran.stderr);
  return ran;
}
const audit = (path: string) => {
  const text = readFileSync(path, 'utf8');
  said.push(text);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};

describe('cotal repair default-provider', () => {
  it('goes by steps over a file: dry-run, snapshot, apply with its approval, verify, rollback; each leaves a line', async () => {
    const before = dumpOf(db);
    const untouched = dumpOf(db, REPAIRS);
    const on = (step: string, ...args: string[]) => repair('--db', db, '--step', step, ...args, '--json');
    expect((await on('dry-run')).last()).toMatchObject({
      end: 'surveyed',
      rows: POISONED.map((agent_id) => ({ agent_id })),
    });
    expect(dumpOf(db)).toBe(before);
    const snapshot = String((await on('snapshot')).last().snapshot);
    const approval = `apply ${snapshot} 3`;

    // Nobody is there to type it: nothing is changed, and what would have to be typed is told.
    const refused = await on('apply', '--snapshot', snapshot);
    expect([refused.code, refused.last().refusal]).toEqual([2, 'not-approved']);
    expect(String(refused.last().reason)).toContain(approval);
    expect((await on('apply', '--snapshot', snapshot, '--confirm', 'yes')).code).toBe(2);
    expect(dumpOf(db, REPAIRS)).toBe(untouched);

    expect((await on('apply', '--snapshot', snapshot, '--confirm', approval)).last()).toMatchObject({
      changed: POISONED,
    });
    expect(providersOf(db).agent_a).toBe('broker');
    expect((await on('verify', '--snapshot', snapshot)).last()).toMatchObject({ end: 'verified', poisoned: [] });
    const back = await on('rollback', '--snapshot', snapshot, '--confirm', `rollback ${snapshot} 3`);
    expect(back.last()).toMatchObject({ changed: POISONED });
    expect(dumpOf(db, REPAIRS)).toBe(untouched);
    expect(audit(`${db}.repair.jsonl`).map(({ step, end }) => `${step} ${end}`)).toEqual([
      'dry-run surveyed',
      'snapshot taken',
      'apply refused',
      'apply refused',
      'apply applied',
      'verify verified',
      'rollback restored',
    ]);
  });

  it('for D1 writes the SQL and the command of each step, runs nothing, and reads back what the command printed', async () => {
    const run = join(folder, 'run');
    const emit = (step: string, ...args: string[]) => repair('--emit', run, '--step', step, ...args, '--json');
    /** What the person does: runs the file, as wrangler does, and keeps what it prints. */
    const executed = async (step: string): Promise<Record<string, unknown>> => {
      const database = new DatabaseSync(db);
      const statements = readFileSync(join(run, `${step}.sql`), 'utf8')
        .trimEnd()
        .split('\n');
      database.exec('BEGIN');
      const output = statements.map((text) => ({ results: database.prepare(text).all(), success: true, meta: {} }));
      database.exec('COMMIT');
      database.close();
      const file = join(run, `${step}.out.json`);
      writeFileSync(file, JSON.stringify(output));
      said.push(JSON.stringify(output));
      return (await repair('--emit', run, '--results', file, '--json')).last();
    };
    const untouched = dumpOf(db, REPAIRS);
    const written = (await emit('dry-run')).last<{ command: string; sql: string }>();
    expect(written.command).toContain(
      `wrangler d1 execute plane3-provider --remote --json --command "$(cat '${written.sql}')"`,
    );
    expect(await executed('dry-run')).toMatchObject({ rows: POISONED.map((agent_id) => ({ agent_id })) });
    expect((await emit('apply', '--confirm', 'apply x 0')).last()).toMatchObject({ refusal: 'no-snapshot' });
    const snapshot = String((await emit('snapshot')).last().snapshot);
    expect(await executed('snapshot')).toMatchObject({ changed: POISONED });

    expect((await emit('apply', '--confirm', `apply ${snapshot} 2`)).code).toBe(2);
    expect(existsSync(join(run, 'apply.sql'))).toBe(false);
    expect((await emit('apply', '--confirm', `apply ${snapshot} 3`)).code).toBe(0);
    expect(providersOf(db).agent_a).toBe('default');
    expect(await executed('apply')).toMatchObject({ changed: POISONED, leftAlone: [] });
    expect((await emit('verify')).code).toBe(0);
    expect(await executed('verify')).toMatchObject({ poisoned: [], rows: POISONED.map((agent_id) => ({ agent_id })) });
    // The command was run twice: nothing more is changed, and the results of the second say so.
    expect((await emit('apply', '--confirm', `apply ${snapshot} 3`)).code).toBe(0);
    expect(await executed('apply')).toMatchObject({ changed: [] });
    expect((await emit('rollback', '--confirm', `rollback ${snapshot} 3`)).code).toBe(0);
    expect(await executed('rollback')).toMatchObject({ changed: POISONED });
    expect(dumpOf(db, REPAIRS)).toBe(untouched);
    expect((await emit('apply', '--confirm', `apply ${snapshot} 3`)).last()).toMatchObject({ refusal: 'undone' });
    expect(audit(join(run, 'audit.jsonl')).filter(({ end }) => end === 'read').length).toBe(6);
  });

  it.each([
    ['no database', ['--step', 'dry-run'], 64, 'repair.where'],
    ['two of them', ['--step', 'dry-run', '--db', 'x', '--emit', 'y'], 64, 'repair.where'],
    ['no step', ['--db', 'x'], 64, 'repair.step'],
    ['an unknown step', ['--db', 'x', '--step', 'all'], 64, 'flag.word'],
    ['an apply without its snapshot', ['--db', 'x', '--step', 'apply'], 64, 'repair.snapshot-id'],
    ['a file that is not there', ['--db', 'no-such.db', '--step', 'dry-run'], 1, 'storage.open'],
  ])('refuses %s, and changes nothing', async (_, args, code, name) => {
    const ran = await repair(...args, '--json');
    expect([ran.code, (ran.last().error as { code: string }).code]).toEqual([code, name]);
  });

  it.each(['', '{', '[]', '[{"success":false,"results":[]}]', '[{"success":true,"results":[{"agent_id":1}]}]'])(
    'refuses results that are none: %s',
    async (text) => {
      const run = join(folder, 'run');
      await repair('--emit', run, '--step', 'dry-run');
      const file = join(folder, 'out.json');
      writeFileSync(file, text);
      const ran = await repair('--emit', run, '--results', file, '--json');
      expect([ran.code, (ran.last().error as { code: string }).code]).toEqual([2, 'repair.results']);
    },
  );
});
