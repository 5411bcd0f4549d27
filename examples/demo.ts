/**
 * The main story, end to end, on a throw-away mesh with real processes: a member joins a durable channel and goes away,
 * somebody posts, daemon and broker are killed in between, the member comes back and reads each post once; and nobody reads
 * what they may not. Every step is a `cotal` command that a person could type. Exits 0 when all of it held, else 1.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';

const COTAL = fileURLToPath(new URL('../bin/cotal', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'plane3-demo-'));
const root = join(folder, 'workspace');
mkdirSync(root);

/** A lease of 4 s in place of 30, so that nobody waits for a dead daemon's one; everything else is as it always is. */
const env = {
  ...process.env,
  COTAL_HOME: join(folder, 'home'),
  COTAL_DELIVERY_LEASE_TTL_MS: '4000',
  COTAL_DELIVERY_LEASE_RENEW_MS: '1000',
  COTAL_DELIVERY_LEASE_FENCE_MS: '3200',
};

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const say = (text: string) => void process.stdout.write(`${text}\n`);
const dim = (text: string) => styleText('dim', text, { stream: process.stdout });
const chapter = (text: string) => say(`\n${styleText('bold', text, { stream: process.stdout })}`);

/** Runs one command and shows it as it was typed, with what it answered. */
async function cotal(...words: string[]): Promise<Ran> {
  say(dim(`  $ cotal ${words.map((word) => (/\s/.test(word) ? `"${word}"` : word)).join(' ')}`));
  const ran = await quietly(...words);
  for (const line of `${ran.stdout}${ran.stderr}`.split('\n')) if (line.trim() !== '') say(`    ${line}`);
  return ran;
}

function quietly(...words: string[]): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(COTAL, [...words, '--root', root], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (bytes: Buffer) => {
      stdout += bytes.toString();
    });
    child.stderr.on('data', (bytes: Buffer) => {
      stderr += bytes.toString();
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

function expect(what: string, held: boolean): void {
  const mark = held
    ? styleText('green', '✓', { stream: process.stdout })
    : styleText('red', '✗', { stream: process.stdout });
  say(`  ${mark} ${what}`);
  if (!held) throw new Error(what);
}

function killHard(what: 'delivery' | 'broker'): void {
  // 6d61696e: the space "main" as it is written in file names.
  const pid = Number(readFileSync(join(root, '.cotal', `${what}.6d61696e.pid`), 'utf8').split('\n')[0]);
  say(dim(`  $ kill -9 ${pid}    (the ${what === 'broker' ? 'broker' : 'delivery daemon'})`));
  process.kill(pid, 'SIGKILL');
}

const textsOf = ({ stdout }: Ran): string[] =>
  stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => (JSON.parse(line) as { parts?: { text?: string }[] }).parts?.[0]?.text ?? '');

async function story(): Promise<void> {
  chapter('A mesh: a broker with accounts, and a delivery daemon beside it');
  expect('it is healthy: the daemon was seen to serve', (await cotal('up', '--detach', '--port', '0')).code === 0);

  chapter('Three agents. Bob may read the team, Carol may not');
  await cotal('agent', 'add', 'alice', '--post', 'team.>');
  await cotal('agent', 'add', 'bob', '--read', 'team.>');
  await cotal('agent', 'add', 'carol', '--read', 'lobby');

  chapter('Bob joins a durable channel and goes away');
  const joined = await cotal('join', 'team.plan', '--as', 'bob');
  expect('his membership is durable', joined.code === 0 && joined.stdout.includes('durable'));

  chapter('Alice posts. The daemon is killed, she posts again; then the broker is killed too');
  expect(
    'the first post is stored',
    (await cotal('post', 'team.plan', 'the plan, part one', '--as', 'alice')).code === 0,
  );
  killHard('delivery');
  expect('without a daemon too', (await cotal('post', 'team.plan', 'the plan, part two', '--as', 'alice')).code === 0);
  killHard('broker');
  await pause(200);

  chapter('A bare "cotal up" starts what is missing, once the lease of the killed daemon has ended');
  const deadline = performance.now() + 60_000;
  let up = await cotal('up', '--detach');
  while (up.code !== 0 && performance.now() < deadline) {
    await pause(1_000);
    up = await cotal('up', '--detach');
  }
  expect('the mesh serves again', up.code === 0);

  chapter('Bob comes back');
  const read = await quietly('inbox', '--as', 'bob', '--json', '--wait', '15000', '--limit', '2');
  for (const text of textsOf(read)) say(`    bob reads: ${text}`);
  expect('he reads both posts, in order', textsOf(read).join('|') === 'the plan, part one|the plan, part two');
  const again = await quietly('inbox', '--as', 'bob', '--json');
  expect('and each of them once', textsOf(again).length === 0 && again.code === 0);

  chapter('Carol tries');
  expect('she may not join', (await cotal('join', 'team.plan', '--as', 'carol')).code === 1);
  expect('she may not read its history', (await cotal('channel', 'history', 'team.plan', '--as', 'carol')).code === 1);
  expect('and nothing of it reached her', textsOf(await quietly('inbox', '--as', 'carol', '--json')).length === 0);
}

let code = 0;
try {
  await story();
} catch (error) {
  code = 1;
  say(`\n✗ ${error instanceof Error ? error.message : String(error)}`);
} finally {
  chapter('The end: everything is stopped, the credential of the daemon is removed');
  const down = await cotal('down');
  if (down.code !== 0) code = 1;
  rmSync(folder, { recursive: true, force: true });
}
say(code === 0 ? '\n✓ all of it held' : '\n✗ something did not hold');
process.exitCode = code;
