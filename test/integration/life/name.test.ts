/** A start whose broker has a name that does not resolve, for a while or for good (UPD-21, D6). */
import { describe, expect, it, onTestFinished } from 'vitest';
import { startProcess } from '../../support/delivery/daemon.ts';
import { startStored } from '../../support/delivery/stored.ts';
import { startMesh } from '../../support/mesh.ts';
import { resolving } from '../../support/resolver.ts';
import { until } from '../../support/until.ts';

const NAME = 'broker.mesh.invalid';
const QUICK = {
  COTAL_DELIVERY_NAME_RETRY_MS: '20',
  COTAL_DELIVERY_NAME_RETRY_LIMIT_MS: '50',
};

async function started(env: Record<string, string>) {
  const mesh = await startMesh();
  onTestFinished(() => mesh.dispose());
  const server = `nats://${NAME}:${new URL(mesh.url).port}`;
  const running = await startStored(mesh, { credential: await mesh.credsFor('delivery'), server, env });
  onTestFinished(async () => void (running.daemon.actor.getSnapshot().status === 'active' && (await running.stop())));
  return running;
}
const lineOf = (seconds: number) =>
  `! delivery: the name of the broker, ${NAME}, does not resolve (EAI_AGAIN); next try in ${seconds} s`;

describe('a start whose broker has a name that does not resolve', () => {
  it('for a while waits with longer and longer rests, says so each time, and serves when it does (UPD-21)', async () => {
    let tries = 0;
    resolving(NAME, () => ++tries > 4);
    const running = await started(QUICK);
    await running.started();
    expect(running.journal.lines().filter((line) => line.includes(NAME))).toEqual([0.02, 0.04, 0.05, 0.05].map(lineOf));
  });

  it('any more when the endpoint is opened goes back to the dial, and serves', async () => {
    let tries = 0;
    resolving(NAME, () => ++tries !== 2);
    const running = await started(QUICK);
    await running.started();
    expect(running.journal.lines().filter((line) => line.includes(NAME))).toEqual([lineOf(0.02)]);
  });

  it('for longer than it waits is refused by that name, with one error and exit 1', async () => {
    const resolver = resolving(NAME, () => false);
    const running = await started({ ...QUICK, COTAL_DELIVERY_NAME_WAIT_MS: '300' });
    const message = `the name of the broker, ${NAME}, does not resolve: EAI_AGAIN`;
    expect(await running.ended).toEqual({ end: 'refused', message, code: 1 });
    expect(running.journal.lines().filter((line) => line.startsWith('✗'))).toEqual([`✗ delivery: ${message}`]);
    expect(running.journal.count('start.nameless')).toBe(resolver.asked() - 1);
  });

  it('is stopped at once while it waits, with the line of a stop', async () => {
    resolving(NAME, () => false);
    const running = await started({
      COTAL_DELIVERY_NAME_RETRY_MS: '60000',
      COTAL_DELIVERY_NAME_RETRY_LIMIT_MS: '60000',
    });
    await until(() => running.journal.count('start.nameless') === 1, running.state);
    expect(await running.stop()).toMatchObject({ end: 'stopped', code: 0 });
    expect(running.journal.count('daemon.signalled')).toBe(1);
  });

  it('as the system’s own resolver says it is waited for and refused too, by a process of its own', async () => {
    const mesh = await startMesh();
    onTestFinished(() => mesh.dispose());
    const env = { ...QUICK, COTAL_DELIVERY_NAME_WAIT_MS: '1' };
    const daemon = startProcess({ ...mesh, url: 'nats://broker.invalid:4222' }, { env });
    expect(await daemon.exit).toBe(1);
    expect(daemon.stderr()).toMatch(
      /! delivery: the name of the broker, broker\.invalid, does not resolve \(E\w+\); next try/,
    );
    expect(daemon.stderr()).toMatch(/✗ delivery: the name of the broker, broker\.invalid, does not resolve: E\w+\n/);
  });
});
