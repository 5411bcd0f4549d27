/**
 * The inspector of a process over its real port: who may look, and what a slow, late or hostile viewer can do. Longer than 300
 * lines: one set-up of process, viewers and refusals serves all of it.
 */
import { EventEmitter, once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setImmediate as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import WebSocket from 'ws';
import { createActor, setup } from 'xstate';
import { addressPath, readAddress, urlOf } from '../../src/inspector/address.ts';
import type { Frame } from '../../src/inspector/frames.ts';
import { Ring } from '../../src/inspector/ring.ts';
import { Tap } from '../../src/inspector/tap.ts';
import { Viewers } from '../../src/inspector/viewers.ts';
import { watchProcess } from '../../src/inspector/watch.ts';
import { cotalFolder } from '../../src/services/local/auth-store.ts';
import { TestJournal } from '../support/delivery/daemon.ts';
import { plantedSecrets } from '../support/secrets.ts';
import { until } from '../support/until.ts';

const counter = setup({
  types: { events: {} as { type: string; message?: string; member?: string; token?: string } },
}).createMachine({
  id: 'counter',
  initial: 'Odd',
  context: ({ input }) => (input ?? {}) as object,
  states: { Odd: { on: { tick: 'Even' } }, Even: { on: { tick: 'Odd' } } },
});

const hello = { type: '@plane3.hello', process: 'x', space: 'main', pid: 1, last: 0, dropped: 0 } as const;
const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0).reverse()) stop();
});

async function inspectedProcess() {
  const root = mkdtempSync(join(tmpdir(), 'plane3-inspect-'));
  const name = { root, what: 'delivery', space: 'main' } as const;
  const journal = new TestJournal();
  const watch = watchProcess({ ...name, journal, inspect: 0 });
  if (watch === undefined) throw new Error('nothing was opened');
  stops.push(() => rmSync(root, { recursive: true, force: true }), watch.close);
  await until(
    () => readAddress(name) !== undefined,
    () => journal.told,
  );
  const address = readAddress(name);
  if (address === undefined) throw new Error('the address has gone');
  return {
    name,
    journal,
    watch,
    address,
    url: urlOf(address),
    actor: (input?: object) => {
      const actor = createActor(counter, { inspect: watch.inspect, ...(input === undefined ? {} : { input }) }).start();
      stops.push(() => actor.stop());
      return actor;
    },
  };
}

interface Viewer {
  readonly socket: WebSocket;
  readonly frames: Frame[];
  readonly text: () => string;
}

async function view(url: string, options: { headers?: Record<string, string>; query?: string } = {}): Promise<Viewer> {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}socket${options.query ?? ''}`, {
    headers: options.headers ?? {},
  });
  const texts: string[] = [];
  const frames: Frame[] = [];
  socket.on('message', (data) => {
    texts.push(String(data));
    frames.push(JSON.parse(String(data)) as Frame);
  });
  stops.push(() => socket.terminate());
  await once(socket, 'open');
  return { socket, frames, text: () => texts.join('\n') };
}

/** How a socket was refused: the status, or what else came of it. */
const refusedWith = (url: string, headers: Record<string, string> = {}): Promise<number | string> =>
  new Promise((resolve) => {
    const socket = new WebSocket(url, { headers });
    stops.push(() => socket.terminate());
    socket.on('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0));
    socket.on('open', () => resolve('open'));
    socket.on('error', () => {});
  });

/** A request with headers that `fetch` would not send. */
const asked = (port: number, lines: string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`));
    let text = '';
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString();
    });
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });

const stepsOf = (frames: readonly Frame[]) => frames.filter((frame) => frame.type === '@xstate.snapshot');

describe('who may look', () => {
  it('shows nothing without the token, or with another one: not the page, not a chart, not the socket', async () => {
    const { url, address, journal } = await inspectedProcess();
    const other = `http://127.0.0.1:${address.port}/${'A'.repeat(address.token.length)}/`;
    for (const path of ['', 'chart/lease', 'socket', 'inspector.js']) {
      expect((await fetch(`${url}${path}`)).status, path).toBe(path === 'socket' ? 404 : 200);
      for (const refused of [`${other}${path}`, `http://127.0.0.1:${address.port}/${path}`]) {
        const answer = await fetch(refused);
        expect(answer.status, refused).toBe(403);
        expect(await answer.text()).not.toContain(address.token);
      }
    }
    expect(await refusedWith(`${other.replace(/^http/, 'ws')}socket`)).toBe(403);
    expect(await refusedWith(`ws://127.0.0.1:${address.port}/socket`)).toBe(403);
    expect(journal.told.filter(({ name }) => name === 'viewer.refused').length).toBe(1);
  });

  it('refuses another page, whatever it knows, and lets its own in', async () => {
    const { url, address } = await inspectedProcess();
    const socket = `${url.replace(/^http/, 'ws')}socket`;
    for (const origin of ['https://evil.example', 'null', `https://127.0.0.1:${address.port}`, 'http://127.0.0.1:1']) {
      expect(await refusedWith(socket, { Origin: origin }), origin).toBe(403);
      expect((await fetch(url, { headers: { Origin: origin } })).status, origin).toBe(403);
    }
    expect(await refusedWith(socket, { Origin: `http://127.0.0.1:${address.port}` })).toBe('open');
  });

  it('refuses a name that only resolves to this machine (DNS rebinding)', async () => {
    const { address } = await inspectedProcess();
    const get = `GET /${address.token}/ HTTP/1.1`;
    expect(await asked(address.port, [get, 'Host: evil.example'])).toMatch(/^HTTP\/1\.1 421 /);
    expect(await asked(address.port, [get, `Host: 127.0.0.1:${address.port}`])).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('takes nothing in: other methods are refused, and a viewer that says something is closed', async () => {
    const { url, actor } = await inspectedProcess();
    const root = actor();
    expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(405);
    const { socket } = await view(url);
    socket.send(JSON.stringify({ type: 'tick' }));
    const [code] = (await once(socket, 'close')) as [number];
    expect(code).toBe(1008);
    expect(root.getSnapshot().value).toBe('Odd');
    const { socket: huge } = await view(url);
    huge.send('x'.repeat(100_000));
    await once(huge, 'close');
  });

  it('serves files of its own and nothing beside them', async () => {
    const { url } = await inspectedProcess();
    for (const path of [
      'chart/..%2f..%2fpackage.json',
      '../package.json',
      'page/inspector.js',
      'chart/system.svg',
      '__proto__',
    ]) {
      expect((await fetch(`${url}${path}`)).status, path).not.toBe(200);
    }
    const page = await fetch(url);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await page.text()).not.toMatch(/https?:/);
  });

  it('keeps the token in a file that its owner alone can read, and takes it away at the end', async () => {
    const { name, watch } = await inspectedProcess();
    expect(statSync(addressPath(name)).mode & 0o777).toBe(0o600);
    watch.close();
    expect(existsSync(addressPath(name))).toBe(false);
    expect(existsSync(cotalFolder(name.root))).toBe(true);
  });
});

describe('what a viewer is shown', () => {
  it('who comes late sees every actor that lives and where it stands, and what happened last (INS-03)', async () => {
    const { url, actor } = await inspectedProcess();
    const actors = Array.from({ length: 300 }, (_, n) => actor({ id: `a${n}` }));
    for (const each of actors) each.send({ type: 'tick' });
    for (const gone of actors.splice(0, 60)) gone.stop();
    const { frames } = await view(url);
    await until(
      () => frames.filter((frame) => frame.type === '@xstate.actor' && frame.plane3.kind === 'lives').length >= 241,
      () => frames.length,
    );
    const lives = frames.filter((frame) => frame.type === '@xstate.actor' && frame.plane3.kind === 'lives');
    const counters = lives.filter((frame) => frame.type === '@xstate.actor' && frame.plane3.machine === 'counter');
    expect(counters.length).toBe(240);
    expect(counters).toEqual(
      counters.map(() => expect.objectContaining({ plane3: expect.objectContaining({ states: ['Even'] }) })),
    );
    actors[0]?.send({ type: 'tick' });
    await until(
      () =>
        frames.some(
          // By its step, or by where it stands where there were too many steps to keep.
          (frame) =>
            (frame.type === '@xstate.snapshot' || frame.type === '@xstate.actor') &&
            frame.sessionId === actors[0]?.sessionId &&
            'states' in frame.plane3 &&
            frame.plane3.states?.[0] === 'Odd',
        ),
      () => frames.slice(-5),
    );
  });

  it("speaks Stately's protocol with definitions and events where it is asked to", async () => {
    const { url, actor } = await inspectedProcess();
    const root = actor();
    const { frames } = await view(url, { query: '?whole' });
    root.send({ type: 'tick' });
    await until(
      () => frames.some((frame) => frame.type === '@xstate.event'),
      () => frames,
    );
    const door = frames.find((frame) => frame.type === '@xstate.actor' && frame.name !== root.id);
    expect(JSON.parse((door as { definition?: string }).definition ?? '{}')).toMatchObject({
      id: 'door',
      initial: 'Keeping',
    });
    for (const frame of frames.filter(({ type }) => type.startsWith('@xstate.'))) {
      expect(frame).toMatchObject({
        _version: expect.any(String),
        sessionId: expect.any(String),
        createdAt: expect.any(String),
      });
    }
  });

  it('never a secret, whatever event, context or message it came in', async () => {
    const { url, actor } = await inspectedProcess();
    const { frames, text } = await view(url);
    const root = actor(Object.fromEntries(plantedSecrets.map(({ secret }, n) => [`f${n}`, secret])));
    for (const { secret } of plantedSecrets) {
      root.send({ type: 'tick', member: secret, message: `it says "${secret}"`, token: secret });
    }
    await until(
      () => stepsOf(frames).length >= plantedSecrets.length,
      () => frames.length,
    );
    for (const { name, secret } of plantedSecrets) expect(text(), name).not.toContain(secret);
  });
});

describe('a viewer that reads nothing', () => {
  /** A busy actor, and a viewer whose socket takes everything and whose reader takes nothing. */
  async function deafViewer(of: { signs: boolean }) {
    const tap = new Tap();
    const ring = new Ring(tap, { perSecond: 1_000_000, burst: 1_000_000 });
    const root = createActor(counter, { inspect: tap.inspect }).start();
    const sent: string[] = [];
    const deaf = Object.assign(new EventEmitter(), {
      readyState: 1,
      bufferedAmount: 0,
      close: () => {},
      terminate: () => {},
      send: (text: string) => {
        sent.push(text);
        deaf.bufferedAmount += text.length;
      },
      ping: () => {
        if (of.signs) deaf.emit('pong');
      },
    });
    const viewers = new Viewers({ ring, hello: () => ({ ...hello }), bounds: { unreadBytes: 10_000, everyMs: 1 } });
    stops.push(
      () => viewers.close(),
      () => root.stop(),
    );
    viewers.add(deaf as unknown as WebSocket, new PassThrough(), { whole: true });
    const busy = async () => {
      for (let round = 0; round < 30; round++) {
        for (let n = 0; n < 100; n++) root.send({ type: 'tick' });
        await pause();
      }
    };
    await busy();
    return { deaf, sent, ring, busy };
  }

  it('is given no more than its share, however long it goes on, also where it claims to have read', async () => {
    const { deaf } = await deafViewer({ signs: true });
    await until(
      () => deaf.bufferedAmount >= 10_000,
      () => deaf.bufferedAmount,
    );
    expect(deaf.bufferedAmount).toBeLessThan(15_000);
  });

  it('costs nothing after the first helping: nothing is made for it until it has read that', async () => {
    const { deaf, sent, ring, busy } = await deafViewer({ signs: false });
    await until(
      () => sent.length > 2,
      () => sent.length,
    );
    const helping = sent.length;
    const made = vi.spyOn(ring, 'after');
    const shown = vi.spyOn(ring, 'liveActor');
    await busy();
    expect([sent.length, made.mock.calls.length, shown.mock.calls.length]).toEqual([helping, 0, 0]);
    deaf.bufferedAmount = 0;
    deaf.emit('pong');
    await until(
      () => sent.length > helping,
      () => sent.length,
    );
  });

  it('is told how much it missed when it reads again, and where everything stands', async () => {
    const { url, actor } = await inspectedProcess();
    const root = actor();
    const { socket, frames } = await view(url);
    socket.pause();
    // More than the ring holds goes by: whoever was slow has missed it.
    for (let n = 0; n < 10_001; n++) root.send({ type: 'tick' });
    socket.resume();
    const lives = await until(
      () => {
        const dropped = frames.findIndex(({ type }) => type === '@plane3.dropped');
        return frames.find(
          (frame, n) =>
            n > dropped && dropped !== -1 && frame.type === '@xstate.actor' && frame.sessionId === root.sessionId,
        );
      },
      () => frames.slice(-3),
    );
    expect(lives).toMatchObject({ plane3: { kind: 'lives', states: ['Even'] } });
    expect(frames.find((frame) => frame.type === '@plane3.dropped')?.count).toBeGreaterThan(5_000);
  });

  it('and eight of them leave no room for a ninth, until one goes', async () => {
    const { url } = await inspectedProcess();
    const viewers = await Promise.all(Array.from({ length: 8 }, () => view(url)));
    for (const { socket } of viewers) socket.pause();
    const socket = `${url.replace(/^http/, 'ws')}socket`;
    expect(await refusedWith(socket)).toBe(503);
    viewers[0]?.socket.terminate();
    await until(async () => (await refusedWith(socket)) === 'open', 'the place of one that went stays taken');
  });
});

describe('a process', () => {
  it('is not watched at all unless somebody asked for it (INS-01)', () => {
    expect(
      watchProcess({
        root: '/nowhere',
        what: 'delivery',
        space: 'main',
        journal: new TestJournal(),
        inspect: undefined,
      }),
    ).toBeUndefined();
  });

  it('whose port is taken says so once and goes on; the inspector opens when the port is free', async () => {
    const root = mkdtempSync(join(tmpdir(), 'plane3-inspect-'));
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const journal = new TestJournal();
    const name = { root, what: 'delivery', space: 'main' } as const;
    const watch = watchProcess({ ...name, journal, inspect: port });
    stops.push(
      () => rmSync(root, { recursive: true, force: true }),
      () => watch?.close(),
    );
    await until(
      () => journal.told.some((event) => event.name === 'door.refused'),
      () => journal.told,
    );
    taken.close();
    await until(
      () => readAddress(name)?.port === port,
      () => journal.told,
    );
    expect(journal.told.filter((event) => event.name === 'door.refused').length).toBe(1);
  });
});
