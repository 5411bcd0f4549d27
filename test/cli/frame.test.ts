import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMember } from '../../src/domain/names.ts';
import { spaceKeys } from '../../src/services/local/auth-store.ts';
import { type Cotal, cotalOf } from '../support/cli.ts';
import { type Mesh, startMesh } from '../support/mesh.ts';

let mesh: Mesh;
let cotal: Cotal;
const folders: string[] = [];
const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'plane3-cli-'));
  folders.push(path);
  return path;
};

beforeAll(async () => {
  mesh = await startMesh();
  cotal = cotalOf(mesh);
});
afterAll(async () => {
  await cotal?.dispose();
  await mesh?.dispose();
  for (const path of folders) rmSync(path, { recursive: true, force: true });
});

const errorOf = (ran: { last(): Record<string, unknown> }) => ran.last().error as { code: string; message: string };

describe('the frame of every command', () => {
  it('exits 0 for --help and --version, which go to stdout', async () => {
    const help = await cotal.run('agent', 'add', '--help');
    expect([help.code, help.stderr]).toEqual([0, '']);
    expect(help.stdout).toContain('Examples:');
    expect((await cotal.run('--version')).code).toBe(0);
  });

  it.each([
    [['pst'], "✗ cotal: unknown command 'pst'", '"cotal --help"'],
    [['--space', 'agent', 'pst'], "✗ cotal: unknown command 'pst'", '"cotal --help"'],
    [['agent', 'ad', 'list'], "✗ cotal agent: unknown command 'ad'", '"cotal agent --help"'],
    [['timer', 'arm'], "✗ cotal timer arm: required option '--endpoint <token>'", '"cotal timer arm --help"'],
    [['post', 'agent'], '✗ cotal post: ', '"cotal post --help"'],
  ])('leads from %j to the help of the command that was meant', async (args, said, help) => {
    const ran = await cotal.run(...args);
    expect([ran.code, ran.stdout]).toEqual([64, '']);
    expect(ran.stderr).toContain(said);
    expect(ran.stderr).toContain(help);
  });

  it('exits 64 for a command or an option that there is not, naming it', async () => {
    const command = await cotal.run('frobnicate');
    expect([command.code, command.stdout]).toEqual([64, '']);
    expect(command.stderr).toContain('frobnicate');
    const option = await cotal.run('agent', 'list', '--frob');
    expect(option.code).toBe(64);
    expect(option.stderr).toContain('--frob');
    expect((await cotal.run('agent')).code).toBe(64);
  });

  it('with --json tells an error as one object on stdout, and the same for a person on stderr', async () => {
    const ran = await cotal.run('agent', 'add', 'not.a.name', '--json');
    expect([ran.code, ran.json().length, errorOf(ran).code]).toEqual([64, 1, 'name.token']);
    expect(ran.stderr).toContain('not.a.name');
  });

  it('refuses a root without .cotal, and names the folder it looked from where none was given', async () => {
    const empty = folder();
    const named = await cotal.run('agent', 'list', '--root', empty);
    expect(named.code).toBe(1);
    expect(named.stderr).toContain(empty);
    const elsewhere = cotalOf(mesh, { cwd: empty });
    const searched = await elsewhere.run('agent', 'list', '--json');
    expect(errorOf(searched).code).toBe('start.root');
    expect(searched.stderr).toContain(empty);
  });

  it('refuses a space outside the grammar, and one that the root has no keys of', async () => {
    expect((await cotal.run('agent', 'list', '--space', 'a b')).code).toBe(64);
    const other = await cotal.run('agent', 'list', '--space', 'other', '--json');
    expect([other.code, errorOf(other).code]).toEqual([1, 'auth.missing']);
  });

  it('refuses to dial the mesh of another root under the same space', async () => {
    const other = folder();
    await spaceKeys({ root: other, space: 'main', create: true });
    const ran = await cotal.run('agent', 'list', '--root', other, '--json');
    expect([ran.code, errorOf(ran).code]).toEqual([1, 'place.other-root']);
    expect(errorOf(ran).message).toContain(mesh.root);
  });
});

describe('agents', () => {
  it('adds an agent, keeps its credential where only the owner reads it, and lists it', async () => {
    const added = await cotal.run('agent', 'add', 'alice', '--read', 'team.>, news', '--post', 'team.>', '--json');
    expect(added.stderr).toBe('');
    expect(added.code).toBe(0);
    const { principal, lifecycleUid, creds, read } = added.last<Record<string, string>>();
    expect([principal, read]).toEqual(['local.alice', ['team.>', 'news']]);
    expect(readMember(`${principal}.${lifecycleUid}`)).toBeDefined();
    expect(statSync(String(creds)).mode & 0o777).toBe(0o600);
    const listed = await cotal.run('agent', 'list', '--json');
    expect(listed.json()).toEqual([
      { name: 'alice', principal, state: 'active', lifecycleUid, read: ['team.>', 'news'], creds },
    ]);
  });

  it('refuses a name that is taken, also in another case, and leaves the first one alone', async () => {
    await cotal.run('agent', 'add', 'Bob');
    const again = await cotal.run('agent', 'add', 'bOB', '--json');
    expect([again.code, errorOf(again).code]).toEqual([1, 'agent.exists']);
    const names = (await cotal.run('agent', 'list', '--json')).json().map(({ name }) => name);
    expect(names).toContain('Bob');
    expect(names).not.toContain('bOB');
  });

  it('says that the broker is not there, and where it was looked for', async () => {
    await mesh.stopBroker();
    const ran = await cotal.run('agent', 'list', '--json');
    expect([ran.code, errorOf(ran).code]).toEqual([1, 'broker.unreachable']);
    expect(errorOf(ran).message).toContain(new URL(mesh.url).host);
    await mesh.startBroker();
  });
});
