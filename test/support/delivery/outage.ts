/** A daemon behind a proxy, and a broker that something is wrong with. Bounds are scaled down: a window of 2 s, a backstop of 6 s. */
import type { TestContext } from 'vitest';
import { TcpProxy } from '../../../src/torture/proxy.ts';
import { Callers } from '../callers.ts';
import { type Mesh, startMesh } from '../mesh.ts';
import { until } from '../until.ts';
import { type Stored, startStored } from './stored.ts';

export const WINDOW_MS = 2_000;
export const BACKSTOP_MS = 6_000;
/** The lease outlives every outage here: what is looked at is the broker. */
export const QUICK = {
  COTAL_DELIVERY_BROKER_GONE_MS: String(WINDOW_MS),
  COTAL_DELIVERY_BROKER_GONE_BACKSTOP_MS: String(BACKSTOP_MS),
  COTAL_DELIVERY_PING_INTERVAL_MS: '300',
};
const GONE = '✗ delivery: broker connection unavailable (broker unreachable), exiting (coupled to the broker)';

export interface Ground {
  readonly mesh: Mesh;
  readonly proxy: TcpProxy;
  /** Who came through the proxy. */
  readonly callers: Callers;
  /** What is to be ended after the test, last first. */
  readonly ends: (() => unknown)[];
}

/** A mesh and a proxy to its broker; both are gone when the test is. */
export async function open({ onTestFinished }: TestContext): Promise<Ground> {
  const ends: (() => unknown)[] = [];
  onTestFinished(async () => {
    for (const end of ends.reverse()) await end();
  });
  const mesh = await startMesh();
  ends.push(() => mesh.dispose());
  const callers = new Callers();
  const proxy = await TcpProxy.to(mesh.url, callers.look);
  ends.push(() => proxy.close());
  return { mesh, proxy, callers, ends };
}

/** A daemon that serves through the proxy. */
export async function serving({ mesh, proxy, ends }: Ground, env: Record<string, string> = QUICK): Promise<Stored> {
  const running = await startStored(mesh, { credential: await mesh.credsFor('delivery'), server: proxy.url, env });
  ends.push(() => running.stop());
  await running.started();
  return running;
}

/** Waits this long. */
export const passed = async (ms: number) => {
  const began = performance.now();
  await until(() => performance.now() - began > ms, '');
};

/** It ends by the window, with the one line, and not before. `began`: when the broker was last there, now unless told. */
export async function endsAsGone(running: Stored, context: TestContext, began = performance.now()): Promise<void> {
  const { expect } = context;
  expect(await running.ended).toMatchObject({ end: 'broker-gone', code: 1 });
  expect(performance.now() - began).toBeGreaterThanOrEqual(WINDOW_MS - 200);
  expect(running.journal.lines().filter((line) => line.startsWith('✗'))).toEqual([GONE]);
}
