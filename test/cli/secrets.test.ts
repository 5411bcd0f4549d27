/**
 * No secret of a run gets out: every seed, JWT and key that a whole mesh made, of which nothing may be in a log, on a terminal, in
 * a recorded history, in a frame of the inspector, on the metrics page, or in what `--json` says.
 */
import { once } from 'node:events';
import { copyFileSync, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import WebSocket from 'ws';
import { readAddress, urlOf } from '../../src/inspector/address.ts';
import { until } from '../support/until.ts';
import { type Running, Workstation } from '../support/workstation.ts';

const ws = new Workstation({ COTAL_LOG_LEVEL: 'debug' }, { manager: true });
const BODY = 'nobody but bob reads this body';
afterAll(async () => {
  await ws.run(['down']);
  await ws.dispose();
}, 60_000);

const SECRETS = [/S[ANOUC][A-Z2-7]{56}/g, /eyJ[\w-]+\.[\w-]+\.[\w-]+/g];
const files = (): string[] =>
  globSync('**/*', { cwd: ws.folder })
    .concat(globSync('**/.cotal/**/*', { cwd: ws.folder }))
    .map((name) => join(ws.folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile());

/** Every secret that lies in a file of the run's own, by the file that it lies in. */
function secretsOfTheRun(): Map<string, string> {
  const found = new Map<string, string>();
  for (const path of files()) {
    const text = readFileSync(path, 'latin1');
    for (const form of SECRETS) for (const [secret] of text.matchAll(form)) found.set(secret, path);
  }
  return found;
}

it('no seed, no JWT, no body of a run is in any log, recording, inspector frame, metrics page or answer', async () => {
  const said = new Map<string, string>();
  const ran = async (...words: (string | number)[]) => {
    const { stdout, stderr, code } = await ws.run([...words, '--json']);
    said.set(words.join(' '), `${stdout}${stderr}`);
    return { code, stdout };
  };
  expect((await ran('up', '--detach', '--port', 0)).code).toBe(0);
  for (const name of ['alice', 'bob']) await ran('agent', 'add', name, '--read', 'team.>', '--post', 'team.>');
  await ran('channel', 'set', 'team.general', '--class', 'durable');
  // `down` takes the daemon's credential away; this one serves with a copy of it.
  const creds = join(ws.root, 'delivery.creds');
  copyFileSync(ws.file('space.KEY/delivery.creds'), creds);
  expect((await ran('down', 'delivery')).code).toBe(0);
  const record = join(ws.root, 'history.jsonl');
  const daemon = ws.start(['deliver', '--creds', creds, '--record', record, '--inspect', '--http', 0]);
  const name = { root: ws.root, what: 'delivery', space: 'main' } as const;
  const address = await until(() => readAddress(name), daemon.stderr);
  const viewer = new WebSocket(`${urlOf(address).replace(/^http/, 'ws')}socket?whole`);
  let frames = '';
  viewer.on('message', (data) => {
    frames += data.toString();
  });
  await once(viewer, 'open');
  await until(
    async () => {
      const { facts } = JSON.parse((await ran('status')).stdout) as { facts: { name: string; ok: boolean | null }[] };
      return facts.find((fact) => fact.name === 'delivery.responder')?.ok;
    },
    daemon.stderr,
    60_000,
  );
  const joined = await ran('join', 'team.general', '--as', 'bob');
  expect([joined.code, joined.stdout]).toEqual([0, expect.stringContaining('"state":"durable"')]);
  expect((await ran('post', 'team.general', BODY, '--as', 'alice')).code).toBe(0);
  await until(async () => (await ran('pending')).stdout.includes('bob'), daemon.stderr, 60_000);
  const inbox = await ws.run(['inbox', '--as', 'bob', '--wait', 30_000, '--json']);
  expect(inbox.stdout).toContain(BODY);
  for (const words of [['doctor'], ['members', 'team.general'], ['agent', 'list'], ['agent', 'retire', 'bob']]) {
    await ran(...words);
  }
  const [, metrics = ''] = /(http:\/\/127\.0\.0\.1:\d+)\S*/.exec(metricsLine(daemon)) ?? [];
  said.set('/metrics', await (await fetch(`${metrics}/metrics`)).text());
  viewer.close();
  daemon.kill('SIGTERM');
  await daemon.ended;
  said.set('the daemon', `${daemon.stdout()}${daemon.stderr()}`);
  said.set('the inspector', frames);
  said.set('the recording', readFileSync(record, 'utf8'));
  for (const path of files().filter((each) => each.endsWith('.log'))) said.set(path, readFileSync(path, 'utf8'));

  // That something is looked for, and somewhere: the run made these, and these were said.
  // The broker works on: a file of its store that was listed may have another name when it is read.
  const secrets = await until(secretsOfTheRun, 'its files change all the time');
  expect([...secrets.values()].some((path) => path.includes('alice'))).toBe(true);
  expect(secrets.size).toBeGreaterThan(15);
  expect(said.get('/metrics')).toContain('plane3_copies_stored_total 1');
  for (const of of ['the daemon', 'the inspector', 'the recording'])
    expect(said.get(of)?.length).toBeGreaterThan(1_000);
  expect([...said.keys()].filter((each) => each.endsWith('.log')).length).toBeGreaterThan(1);

  const told = [...said].flatMap(([where, text]) => [
    ...[...secrets].filter(([secret]) => text.includes(secret)).map(([, path]) => `${where}: a secret of ${path}`),
    ...SECRETS.flatMap((form) => (text.match(form) ?? []).map(() => `${where}: what looks like a secret`)),
    ...(text.includes(BODY) ? [`${where}: the body of a post`] : []),
  ]);
  expect(told).toEqual([]);
}, 180_000);

/** The line that says where the metrics are. */
const metricsLine = (daemon: Running): string =>
  daemon
    .stderr()
    .split('\n')
    .find((line) => line.includes('http') && line.includes('metrics')) ?? '';
