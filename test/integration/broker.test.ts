import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type BrokerOutcome,
  type BrokerStart,
  brokerLog,
  startBroker,
  stopBroker,
} from '../../src/services/local/broker.ts';
import { configPath, renderConfig } from '../../src/services/local/broker-config.ts';
import { findNatsServer } from '../../src/services/local/nats-binary.ts';
import { connectOnce } from '../../src/services/nats/connect.ts';
import { until } from '../support/until.ts';

let root: string;
let outcome: BrokerOutcome | undefined;
let other: Server | undefined;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'plane3-broker-'));
});
afterEach(async () => {
  if (outcome?.kind === 'started') await stopBroker(outcome.child);
  outcome = undefined;
  other?.close();
  rmSync(root, { recursive: true, force: true });
});

async function start(more: Partial<BrokerStart> = {}): Promise<BrokerOutcome> {
  outcome = await startBroker({
    root,
    port: -1,
    durability: 'strict',
    binary: await findNatsServer(),
    log: brokerLog(root, 'main'),
    dial: (url) => connectOnce({ url, name: 'test', timeoutMs: 1_000 }),
    ...more,
  });
  return outcome;
}

describe('starting a broker', () => {
  it('answers with its pid and the URL of the port that it took', async () => {
    const started = await start();
    if (started.kind !== 'started') throw new Error(JSON.stringify(started));
    expect(started.url).toMatch(/^nats:\/\/127\.0\.0\.1:\d+$/);
    expect(readFileSync(`/proc/${started.pid}/cmdline`, 'utf8')).toContain(configPath(root));
    const session = readFileSync(`/proc/${started.pid}/stat`, 'utf8').split(' ')[5];
    expect(Number(session)).toBe(started.pid);
    const log = () => readFileSync(brokerLog(root, 'main'), 'utf8');
    await until(() => log().includes('Server is ready'), log);
  });

  it('names the port when somebody else has it, and leaves nothing running', async () => {
    other = createServer().listen(0, '127.0.0.1');
    await until(() => other?.listening, 'the listener of the test');
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    expect(await start({ port })).toEqual({ kind: 'port-in-use', port });
  });

  it('is not fooled by another broker that answers on the port', async () => {
    const first = await start();
    if (first.kind !== 'started') throw new Error(JSON.stringify(first));
    const elsewhere = mkdtempSync(join(tmpdir(), 'plane3-broker-'));
    const port = Number(new URL(first.url).port);
    const second = await startBroker({
      root: elsewhere,
      port,
      durability: 'strict',
      binary: await findNatsServer(),
      log: brokerLog(elsewhere, 'main'),
      dial: (url) => connectOnce({ url, name: 'test' }),
    });
    rmSync(elsewhere, { recursive: true, force: true });
    expect(second).toEqual({ kind: 'port-in-use', port });
  });

  it('refuses a binary that is too old, by version, and writes nothing', async () => {
    const binary = { path: '/bin/false', version: '2.9.25', source: 'path' as const };
    expect(await start({ binary })).toEqual({ kind: 'too-old', version: '2.9.25', need: '2.12.0' });
    expect(existsSync(configPath(root))).toBe(false);
  });

  it('tells the last lines of one that ends at once', async () => {
    const ended = await start({ tls: { certFile: '/not/there.pem', keyFile: '/not/there.key' } });
    expect(ended).toMatchObject({ kind: 'exited', code: 1, signal: null });
    expect(ended.kind === 'exited' ? ended.lastLines.join('\n') : '').toContain('/not/there.pem');
  });

  it('tells that a binary cannot be started at all', async () => {
    const binary = { path: join(root, 'absent'), version: '2.14.0', source: 'env' as const };
    expect(await start({ binary })).toMatchObject({ kind: 'exited', code: null });
  });

  it('ends one that runs but does not answer, and says what the last connection said', async () => {
    let url = '';
    const silent = await start({
      // Long enough for it to say which port it has: it is dialled only then.
      timeoutMs: 5_000,
      dial: (to) => {
        url = to;
        return Promise.reject(new Error('no entry'));
      },
    });
    expect(silent).toMatchObject({ kind: 'silent', why: 'no entry' });
    await expect(connectOnce({ url, name: 'test' })).rejects.toThrow();
  });
});

describe('the config of a broker', () => {
  const settings = { root: '/r', port: 4222 } as const;
  const rendered = (more: object = {}) => JSON.parse(renderConfig({ ...settings, durability: 'strict', ...more }));

  it('syncs before it acknowledges when strict, and not when relaxed', () => {
    expect(rendered().jetstream.sync_interval).toBe('always');
    expect(rendered({ durability: 'relaxed' }).jetstream).not.toHaveProperty('sync_interval');
  });

  it('listens on loopback unless told otherwise, and takes long lines', () => {
    expect(rendered()).toMatchObject({ host: '127.0.0.1', port: 4222, max_control_line: 16_384 });
    expect(rendered({ host: '0.0.0.0' }).host).toBe('0.0.0.0');
  });

  it('has no accounts in open mode, and no TLS unless asked', () => {
    expect(Object.keys(rendered())).not.toContain('operator');
    expect(Object.keys(rendered())).not.toContain('tls');
    expect(rendered({ tls: { certFile: 'c', keyFile: 'k' } }).tls.handshake_first).toBe('auto');
  });

  it('is readable by its owner alone: it carries the accounts', async () => {
    await start();
    expect(statSync(configPath(root)).mode & 0o777).toBe(0o600);
  });
});
