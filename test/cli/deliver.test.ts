import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { encodeUser } from '@nats-io/jwt';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { permissionsOf } from '../../src/domain/permissions.ts';
import { credsText, newPair } from '../../src/services/credential.ts';
import { spaceKeys } from '../../src/services/local/auth-store.ts';
import { until } from '../support/until.ts';
import { runs, Workstation } from '../support/workstation.ts';

let ws: Workstation;
beforeEach(() => {
  ws = new Workstation();
});
afterEach(async () => {
  await ws.dispose();
});

const DELIVER = ['deliver', '--space', 'main'];
const kill = (pid: number | undefined, signal: NodeJS.Signals) => process.kill(pid ?? 0, signal);

/** Asked again: each question of one `doctor` has 2 s, and a busy machine may not answer all of them in time. */
const healthy = () =>
  until(
    async () => (await ws.run(['doctor'])).code === 0,
    () => ws.log(),
    60_000,
  );

/** A mesh whose daemon was asked to stop; broker and credentials stay. */
async function withoutDaemon(): Promise<void> {
  expect((await ws.run(['up', '--detach', '--port', 0])).code).toBe(0);
  const daemon = ws.recorded('delivery');
  kill(daemon, 'SIGTERM');
  await until(
    () => !runs(daemon),
    () => ws.log(),
  );
}

/** A delivery credential without these rights. */
async function credentialWithout(...missing: string[]): Promise<string> {
  const keys = await spaceKeys({ root: ws.root, space: 'main', create: false });
  const pair = newPair('user');
  const rights = permissionsOf({ profile: 'delivery', space: 'main' }, pair.publicKey);
  const allow = rights.publish.filter((line) => !missing.some((part) => line.includes(part)));
  const jwt = await encodeUser(
    'local.delivery',
    pair,
    keys.account,
    { pub: { allow, deny: [] }, sub: { allow: [...rights.subscribe], deny: [] } },
    { signer: keys.signing },
  );
  const path = join(ws.folder, 'poor.creds');
  writeFileSync(path, credsText({ jwt, pair }));
  return path;
}

describe('cotal deliver', () => {
  it('refuses a shard other than 0 by name: one daemon serves a space', async () => {
    const ran = await ws.run([...DELIVER, '--shard', '1'], { cwd: ws.folder });
    expect(ran.code).toBe(64);
    expect(ran.stderr).toContain('--shard is "1", and one daemon serves a space: only 0 is taken');
  });

  it('without a .cotal refuses, names the directory it searched from, and reads no credential', async () => {
    const ran = await ws.run(DELIVER, { cwd: ws.folder });
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain(`no .cotal in ${ws.folder} or above it, and no --root given`);
  });

  it('refuses a --server that is not the recorded broker before any dial, on stderr and in the log', async () => {
    await withoutDaemon();
    const dialled: Socket[] = [];
    const other = createServer((socket) => dialled.push(socket)).listen(0, '127.0.0.1');
    await until(() => other.listening, 'not listening');
    const { port } = other.address() as { port: number };
    const ran = await ws.run([...DELIVER, '--server', `nats://127.0.0.1:${port}`]);
    other.close();
    expect(ran.code).toBe(1);
    const line = `✗ delivery: --server nats://127.0.0.1:${port} is not the broker recorded for space main`;
    expect(ran.stderr).toContain(line);
    expect(ws.log()).toContain(line);
    expect(dialled).toEqual([]);
  });

  it('a second daemon does not bind, says who holds the lease, and leaves the record of the first alone', async () => {
    expect((await ws.run(['up', '--detach', '--port', 0])).code).toBe(0);
    const record = ws.read('delivery.KEY.pid');
    const second = await ws.run(DELIVER);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain('✗ delivery: the lease is held by local.delivery');
    expect(ws.log()).toContain('✗ delivery: the lease is held by local.delivery');
    expect(ws.read('delivery.KEY.pid')).toBe(record);
    await healthy();
  });

  it('a lease write that is denied is told as a denial with subject and operation, never as another daemon (LSE-03)', async () => {
    await withoutDaemon();
    const creds = await credentialWithout('$KV.cotal_delivery_main.');
    const ran = await ws.run([...DELIVER, '--creds', creds]);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain('✗ delivery: publish on $KV.cotal_delivery_main.lease.0 was denied');
    expect(ran.stderr).not.toContain('held');
    expect(ws.recorded('delivery')).toBeUndefined();
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('on %s writes the line, removes its record, and exits 0', async (signal) => {
    await withoutDaemon();
    const daemon = ws.start(DELIVER);
    await until(
      () => ws.recorded('delivery') === daemon.pid,
      () => daemon.stderr(),
    );
    daemon.kill(signal);
    expect(await daemon.ended).toEqual({ code: 0, signal: null });
    expect(ws.log()).toContain(`• delivery: received ${signal}, exiting (space main, shard 0)\n`);
    expect(ws.recorded('delivery')).toBeUndefined();
    // The lease was given back: the next one serves at once.
    expect((await ws.run(['up', '--detach'])).code).toBe(0);
  });

  it('ends with the quoted line when the broker is gone for the window, also in the log, and removes its record', async () => {
    await withoutDaemon();
    const daemon = ws.start(DELIVER);
    await until(
      () => ws.recorded('delivery') === daemon.pid,
      () => daemon.stderr(),
    );
    kill(ws.recorded('broker'), 'SIGKILL');
    expect((await daemon.ended).code).toBe(1);
    const line = '✗ delivery: broker connection unavailable (broker unreachable), exiting (coupled to the broker)\n';
    expect(daemon.stderr()).toContain(line);
    expect(ws.log()).toContain(line);
    expect(ws.recorded('delivery')).toBeUndefined();
  });

  it('serves without a log that can be written, and says so once', async () => {
    await withoutDaemon();
    rmSync(ws.file('delivery.KEY.log'));
    mkdirSync(ws.file('delivery.KEY.log'));
    const daemon = ws.start(DELIVER);
    await until(
      () => ws.recorded('delivery') === daemon.pid,
      () => daemon.stderr(),
    );
    daemon.kill('SIGTERM');
    expect((await daemon.ended).code).toBe(0);
    expect(daemon.stderr().match(/cannot write/g)).toHaveLength(1);
  });

  it.each([
    ['a corrupt credential', 'space.KEY/delivery.creds', 'delivery.creds'],
    ['a corrupt observer', 'space.KEY/observer.creds', 'observer.creds'],
  ])('names %s and claims nothing', async (_, file, named) => {
    await withoutDaemon();
    writeFileSync(ws.file(file), 'not a credential');
    const ran = await ws.run(DELIVER);
    expect(ran.code).toBe(1);
    expect(ws.log()).toContain(named);
    expect(ran.stderr).not.toContain('not a credential');
    // `up` makes it anew.
    expect((await ws.run(['up', '--detach'])).code).toBe(0);
  });

  it('names a record of the mesh that is corrupt or another space’s, and claims nothing; up does the same', async () => {
    await withoutDaemon();
    const path = ws.file('../../home/meshes/space.KEY.json');
    const text = readFileSync(path, 'utf8');
    for (const wrong of [text.slice(0, text.length / 2), text.replace('"main"', '"other"')]) {
      writeFileSync(path, wrong);
      const ran = await ws.run(DELIVER);
      expect([ran.code, ran.stderr]).toEqual([
        1,
        expect.stringContaining('meshes/space.6d61696e.json cannot be read: it is'),
      ]);
    }
    const up = await ws.run(['up', '--detach']);
    expect([up.code, up.stderr]).toEqual([
      1,
      expect.stringContaining('meshes/space.6d61696e.json cannot be read: it is'),
    ]);
    writeFileSync(path, text);
    expect((await ws.run(['up', '--detach'])).code).toBe(0);
  });

  it('killed or stopped for good at any instant of its start leaves a mesh that a bare up serves again', async () => {
    await withoutDaemon();
    const seed = Date.now() % 1_000;
    for (const [n, signal] of (['SIGKILL', 'SIGTERM'] as const).entries()) {
      const afterMs = (seed * (n + 1) * 37) % 900;
      const daemon = ws.start(DELIVER);
      const started = performance.now();
      await until(() => performance.now() - started > afterMs, '');
      daemon.kill(signal);
      await daemon.ended;
      await until(
        async () => (await ws.run(['up', '--detach'])).code === 0,
        () => `seed ${seed}, ${signal} after ${afterMs} ms\n${ws.log()}`,
        60_000,
      );
      const serving = ws.recorded('delivery');
      expect(runs(serving)).toBe(true);
      expect(ws.processes().filter(({ line }) => line.includes(' deliver '))).toHaveLength(1);
      kill(serving, 'SIGTERM');
      await until(() => !runs(serving), 'it lives');
    }
  });
});

describe('a mesh with TLS', () => {
  /** Speaks the first line of a broker without TLS, and keeps what it hears. */
  function plaintext(port: number): Promise<{ server: Server; heard: () => string; dialled: () => number }> {
    let heard = '';
    let dialled = 0;
    const server = createServer((socket) => {
      dialled += 1;
      socket.on('data', (bytes) => {
        heard += bytes.toString('latin1');
      });
      socket.on('error', () => {});
      socket.write(`INFO {"server_id":"x","version":"2.14.0","max_payload":1048576,"headers":true,"proto":1}\r\n`);
    });
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => resolve({ server, heard: () => heard, dialled: () => dialled }));
    });
  }

  it('demands TLS on every launch, the relaunch by a bare up too, and refuses a plaintext listener at start and on reconnect (UPD-22)', async () => {
    const up = await ws.run(['up', '--detach', '--tls', '--port', 0, '--json']);
    expect(up.code, up.stderr).toBe(0);
    const port = Number(new URL(up.json<{ broker: { url: string } }>().broker.url).port);
    kill(ws.recorded('delivery'), 'SIGTERM');
    await until(() => !runs(ws.recorded('delivery')), 'it lives');
    expect((await ws.run(['up', '--detach'])).code).toBe(0);
    expect(ws.processes().find(({ line }) => line.includes(' deliver '))?.line).toContain('--tls');
    await healthy();

    // On reconnect: the broker is replaced by a listener without TLS.
    const daemon = ws.recorded('delivery');
    kill(ws.recorded('broker'), 'SIGKILL');
    const fake = await until(async () => plaintext(port), 'the port is not free');
    await until(
      () => !runs(daemon),
      () => ws.log(),
      60_000,
    );
    expect(ws.log()).toContain('broker connection unavailable');
    expect(fake.dialled()).toBeGreaterThan(0);
    expect(fake.heard()).not.toContain('CONNECT');

    // At start, by hand: the record of the machine demands it.
    const ran = await ws.run(DELIVER);
    fake.server.close();
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain('cannot be used');
    expect(fake.heard()).not.toContain('CONNECT');
  });
});
