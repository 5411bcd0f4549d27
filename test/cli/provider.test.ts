/** `cotal provider` and its bridge as processes. Longer than 300 lines: one set-up of server, mesh and link serves all of it. */
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Cotal, cotalOf, type Running } from '../support/cli.ts';
import { type InProcess, startInProcess } from '../support/delivery/daemon.ts';
import { type Mesh, startMesh } from '../support/mesh.ts';
import { until as untilIn } from '../support/until.ts';

/** A command is a process, and one takes seconds on a busy machine. */
const until: typeof untilIn = (condition, diagnostics) => untilIn(condition, diagnostics, 90_000);

let mesh: Mesh;
let cotal: Cotal;
let daemon: InProcess | undefined;
beforeAll(async () => {
  mesh = await startMesh();
  cotal = cotalOf(mesh);
});
afterEach(async () => {
  await cotal?.dispose();
  await daemon?.stop();
  daemon = undefined;
});
afterAll(async () => {
  await cotal?.dispose();
  await mesh?.dispose();
});

const NODE = 'node one';
const db = () => join(mesh.root, 'hosted.db');
const json = (line: string) => JSON.parse(line) as Record<string, unknown>;

/** The first answer of a command that stays. */
const answered = async (running: Running): Promise<Record<string, unknown>> => {
  await until(
    () => running.lines.length > 0 || running.child.exitCode !== null,
    () => running.lines,
  );
  return json(running.lines[0] ?? '{}');
};

interface Plane {
  readonly url: string;
  readonly key: string;
  post(text: string): Promise<void>;
  agent(name: string): Record<string, unknown> | undefined;
}

async function openPlane(): Promise<Plane> {
  const running = cotal.start('hosted', 'serve', '--db', db(), '--port', '0', '--json');
  const url = String((await answered(running)).url);
  const { key } = (await cotal.run('hosted', 'workspace', 'add', 'acme', '--db', db(), '--json')).last<{
    key: string;
  }>();
  return {
    url,
    key,
    async post(text) {
      const response = await fetch(`${url}/v1/channels/general/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ text, from: 'Somebody else' }),
      });
      expect(response.status).toBe(201);
    },
    agent(name) {
      const database = new DatabaseSync(db(), { readOnly: true });
      try {
        return database
          .prepare(
            'SELECT * FROM agents WHERE name = ? AND workspace_id = (SELECT id FROM workspaces WHERE key_hash = ?)',
          )
          .get(name, createHash('sha256').update(key).digest('hex'));
      } finally {
        database.close();
      }
    },
  };
}

const ready = (running: Running) =>
  until(
    () => running.lines.some((line) => (json(line).health as { state?: string } | undefined)?.state === 'Ready'),
    () => running.lines,
  );

describe('cotal provider', () => {
  it('takes what is posted to a hosted agent into the inbox of the member, and acknowledges it when that confirmed', async () => {
    daemon = await startInProcess(mesh, { COTAL_DELIVERY_SURVEY_MS: '300' });
    await cotal.run('agent', 'add', 'ann', '--read', 'hosted.>');
    const plane = await openPlane();
    const link = ['provider', '--url', plane.url.replace('http', 'ws'), '--node-id', NODE, '--map', 'Ann=local.ann'];
    const withKey = cotalOf(mesh, { env: { COTAL_WORKSPACE_KEY: plane.key } });
    const health = join(mesh.root, 'health.json');
    const first = withKey.start(...link, '--poll', '100', '--health-file', health, '--json');
    await ready(first);
    await until(() => plane.agent('Ann'), 'the hosted agent is registered');
    await plane.post('over the bridge');
    const entries = (count: number) =>
      until(
        async () =>
          (await cotal.run('pending', 'ann', '--json')).json().some((owed) => Number(owed.pending) === count) ||
          undefined,
        () => first.lines,
      );
    await entries(1);
    expect(plane.agent('Ann')).toMatchObject({ delivery_ack_seq: 0, provider_name: 'broker' });

    // It dies without a word, and the next one finds the entry that lies there.
    first.child.kill('SIGKILL');
    await first.ended;
    const second = withKey.start(...link, '--poll', '100', '--health-file', health, '--json');
    await ready(second);
    await until(
      () =>
        (JSON.parse(readFileSync(health, 'utf8')) as { cursors: { received: number }[] }).cursors[0]?.received === 1,
      () => readFileSync(health, 'utf8'),
    );
    await entries(1);
    const inbox = await cotal.run('inbox', '--as', 'ann', '--limit', '1', '--wait', '30000', '--json');
    expect(inbox.last()).toMatchObject({
      channel: expect.stringMatching(/^hosted\.node_one_[a-z0-9]+\.general$/),
      durable: true,
      from: { name: 'Somebody else' },
      parts: [{ kind: 'text', text: 'over the bridge' }],
    });
    await until(
      () => plane.agent('Ann')?.delivery_ack_seq === 1,
      () => ({ agent: plane.agent('Ann'), health: readFileSync(health, 'utf8') }),
    );
    second.child.kill('SIGTERM');
    expect((await second.ended).code).toBe(0);
    await withKey.dispose();
  });

  it('follows an agent that is retired and added again while it runs, and acknowledges nothing before', async () => {
    daemon = await startInProcess(mesh, { COTAL_DELIVERY_SURVEY_MS: '300' });
    await cotal.run('agent', 'add', 'dan', '--read', 'hosted.>');
    const plane = await openPlane();
    const withKey = cotalOf(mesh, { env: { COTAL_WORKSPACE_KEY: plane.key } });
    const to = ['--url', plane.url.replace('http', 'ws'), '--node-id', 'n4', '--map', 'Dan=local.dan'];
    const link = withKey.start('provider', ...to, '--poll', '100', '--json');
    await until(() => plane.agent('Dan'), 'the hosted agent is registered');
    const owed = (count: number) =>
      until(
        async () =>
          (await cotal.run('pending', 'dan', '--json')).json().some((each) => Number(each.pending) === count) ||
          undefined,
        () => [plane.agent('Dan'), ...link.lines],
      );
    await plane.post('before');
    await owed(1);
    expect((await cotal.run('agent', 'retire', 'dan')).code).toBe(0);
    expect((await cotal.run('agent', 'add', 'dan', '--read', 'hosted.>')).code).toBe(0);
    await plane.post('after');
    await owed(2);
    expect(plane.agent('Dan')).toMatchObject({ delivery_ack_seq: 0 });
    const inbox = await cotal.run('inbox', '--as', 'dan', '--limit', '2', '--wait', '60000', '--json');
    const texts = inbox.json<{ parts: { text: string }[] }>().map(({ parts }) => parts[0]?.text);
    expect(new Set(texts)).toEqual(new Set(['before', 'after']));
    await until(
      () => plane.agent('Dan')?.delivery_ack_seq === 2,
      () => [plane.agent('Dan'), ...link.lines],
    );
    link.child.kill('SIGTERM');
    const ended = await link.ended;
    expect(ended.code).toBe(0);
    expect(ended.stderr).toMatch(/^✓ provider: what comes for Dan goes to local\.dan\.[a-z0-9]+ from now on$/m);
  });

  it('prints what comes for an agent that is only named, and acknowledges it', async () => {
    const plane = await openPlane();
    const withKey = cotalOf(mesh, { env: { COTAL_WORKSPACE_KEY: plane.key } });
    const link = withKey.start(
      'provider',
      '--url',
      plane.url,
      '--node-id',
      'n2',
      '--agent',
      'Bob',
      '--inspect',
      '--json',
    );
    await until(() => plane.agent('Bob'), 'the hosted agent is registered');
    const page = await cotal.run('inspect', 'provider', '--no-open', '--json');
    expect(page.last(), page.stderr).toMatchObject({ process: 'provider', pid: link.child.pid });
    await plane.post('to be printed');
    const printed = await until(
      () => link.lines.map(json).find((line) => line.agent === 'Bob'),
      () => link.lines,
    );
    expect(printed).toMatchObject({
      seq: 1,
      repeat: false,
      payload: { type: 'message', data: { text: 'to be printed' } },
    });
    await until(
      () => plane.agent('Bob')?.delivery_ack_seq === 1,
      () => plane.agent('Bob'),
    );
    link.child.kill('SIGTERM');
    const ended = await link.ended;
    expect(ended.code).toBe(0);
    const tokens = readFileSync(join(String(withKey.env.COTAL_HOME), 'hosted-tokens.json'), 'utf8');
    const token = /nt_live_[0-9a-f]+/.exec(tokens)?.[0] ?? 'none';
    expect(ended.stdout + ended.stderr).not.toContain(token);
    expect(ended.stdout + ended.stderr).not.toContain(plane.key);
  });

  it('goes on where its health cannot be written, and says so once', async () => {
    const plane = await openPlane();
    const withKey = cotalOf(mesh, { env: { COTAL_WORKSPACE_KEY: plane.key } });
    const file = join(mesh.root, 'no-folder');
    writeFileSync(file, '');
    const to = ['--url', plane.url, '--node-id', 'n3', '--agent', 'Cyd', '--health-file', join(file, 'health.json')];
    const link = withKey.start('provider', ...to, '--json');
    await until(() => plane.agent('Cyd'), 'the hosted agent is registered');
    await plane.post('to be printed all the same');
    await until(
      () => plane.agent('Cyd')?.delivery_ack_seq === 1,
      () => [plane.agent('Cyd'), ...link.lines],
    );
    link.child.kill('SIGTERM');
    const { code, stderr } = await link.ended;
    expect([code, stderr.match(/^! provider: the health of the link is not kept: /gm)?.length]).toEqual([0, 1]);
  });

  it.each([
    ['an address that is none', ['--url', 'ftp://x', '--node-id', 'n', '--agent', 'A'], 'link.address'],
    ['a token in the address', ['--url', 'ws://x/?token=secret', '--node-id', 'n', '--agent', 'A'], 'link.address'],
    ['a mapping that is none', ['--url', 'ws://x', '--node-id', 'n', '--map', 'Ann'], 'link.map'],
    ['a principal that is none', ['--url', 'ws://x', '--node-id', 'n', '--map', 'Ann=ann'], 'name.principal'],
    ['no agent', ['--url', 'ws://x', '--node-id', 'n'], 'link.no-agents'],
    [
      'the provider that is nobody’s',
      ['--url', 'ws://x', '--node-id', 'n', '--agent', 'A', '--provider', 'default'],
      'link.name',
    ],
    ['no token', ['--url', 'ws://x', '--node-id', 'n', '--agent', 'A'], 'link.no-token'],
  ])('refuses %s by name, and starts nothing', async (_, args, code) => {
    const ran = await cotal.run('provider', ...args, '--json');
    expect([ran.code, (ran.last().error as { code: string }).code]).toEqual([64, code]);
    expect(ran.stderr).not.toContain('secret');
  });

  it('refuses a mapping to an agent that is not there', async () => {
    const args = ['--url', 'ws://127.0.0.1:9', '--node-id', 'n', '--map', 'Ann=local.nobody', '--token-file', 'x'];
    const ran = await cotal.run('provider', ...args, '--json');
    expect([ran.code, (ran.last().error as { code: string }).code]).toEqual([1, 'link.no-agent']);
  });

  it('waits for the name of the broker of the space when that does not resolve, says so, and ends by that name when the time is up (UPD-21)', async () => {
    const env = { COTAL_DELIVERY_NAME_RETRY_MS: '10', COTAL_DELIVERY_NAME_WAIT_MS: '1' };
    const nameless = cotalOf({ ...mesh, url: 'nats://broker.invalid:4222' }, { env });
    const args = ['--url', 'ws://127.0.0.1:9', '--node-id', 'n', '--map', 'Ann=local.ann', '--token-file', 'x'];
    const ran = await nameless.run('provider', ...args, '--json');
    cotalOf(mesh);
    expect([ran.code, (ran.last().error as { code: string }).code]).toEqual([1, 'start.nameless']);
    expect(ran.stderr).toMatch(
      /^! provider: the name of the broker, broker\.invalid, does not resolve \(E\w+\); next try in 0\.01 s$/m,
    );
  });

  it('ends with 1 when there is no token that the node takes', async () => {
    const plane = await openPlane();
    const file = join(mesh.root, 'bad.token');
    writeFileSync(file, 'nt_live_wrong\n');
    const env = { COTAL_PROVIDER_BACKOFF_MS: '10', COTAL_PROVIDER_TOKEN_REREADS: '1' };
    const quick = cotalOf(mesh, { env });
    const args = ['--url', plane.url, '--node-id', 'n', '--agent', 'A', '--token-file', file];
    const ran = await quick.run('provider', ...args, '--json');
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain('✗ provider: refused on node n: unauthorized');
    expect(ran.stdout + ran.stderr).not.toContain('nt_live_wrong');
    rmSync(file);
  });
});

describe('cotal hosted', () => {
  it('serve names a port that is taken, a database that cannot be, and a bound that is none', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    const code = async (env: Record<string, string>, ...args: string[]) => {
      const ran = await cotalOf(mesh, { env }).run('hosted', 'serve', ...args, '--json');
      return [ran.code, (ran.last().error as { code: string }).code];
    };
    expect(await code({}, '--db', db(), '--port', String(port))).toEqual([1, 'hosted.listen']);
    expect(await code({}, '--db', join(mesh.root, 'no', 'such', 'folder'))).toEqual([1, 'storage.open']);
    expect(await code({ HOSTED_REAP_MS: 'soon' }, '--db', db())).toEqual([64, 'hosted.limit']);
    taken.close();
  });

  it('serve --inspect shows the machine of each socket while it is open, and opens nothing where the start is refused', async () => {
    const running = cotal.start('hosted', 'serve', '--db', db(), '--port', '0', '--inspect', '--json');
    const url = String((await answered(running)).url);
    const { key } = (await cotal.run('hosted', 'workspace', 'add', 'seen', '--db', db(), '--json')).last<{
      key: string;
    }>();
    const { url: page } = (await cotal.run('inspect', 'hosted', '--no-open', '--json')).last<{ url: string }>();
    const frames: string[] = [];
    const viewer = new WebSocket(`${page.replace('http', 'ws')}socket`);
    viewer.addEventListener('message', ({ data }) => frames.push(String(data)));
    const link = cotalOf(mesh, { env: { COTAL_WORKSPACE_KEY: key } });
    const node = ['provider', '--url', url.replace('http', 'ws'), '--node-id', 'seen', '--agent', 'Zoe', '--json'];
    const linked = link.start(...node);
    const sees = (what: RegExp) =>
      until(
        () => frames.some((frame) => what.test(frame)),
        () => [...frames.slice(-5), ...linked.lines],
      );
    await sees(/"machine":"provider-socket"/);
    await sees(/"states":\["Bound\./);
    await link.dispose();
    await sees(/"states":\["Closed"\]/);
    viewer.close();
    expect(frames.join('\n')).not.toContain(key);
    const refused = ['hosted', 'serve', '--db', db(), '--port', new URL(url).port, '--inspect'];
    expect((await cotal.run(...refused)).code).not.toBe(0);
    expect((await cotal.run('inspect', 'hosted', '--no-open', '--json')).last()).toMatchObject({ url: page });
  });

  it('workspace add shows a key once and stores its hash; it takes exactly one place', async () => {
    const made = await cotal.run('hosted', 'workspace', 'add', 'beta', '--db', db(), '--json');
    const { key, id } = made.last<{ key: string; id: string }>();
    expect(key).toMatch(/^rk_live_/);
    const database = new DatabaseSync(db());
    expect(database.prepare('SELECT key_hash FROM workspaces WHERE id = ?').get(id)).toEqual({
      key_hash: createHash('sha256').update(key).digest('hex'),
    });
    database.close();
    expect((await cotal.run('hosted', 'workspace', 'add', 'gamma', '--json')).code).toBe(64);
  });
});
