/** A manager whose broker has a name that does not resolve when it starts, for a while or for good (UPD-21). */
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type ManagerOptions, openManager } from '../../../src/manager/process.ts';
import { cotalFolder } from '../../../src/services/local/auth-store.ts';
import { TestJournal } from '../../support/delivery/daemon.ts';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { resolving } from '../../support/resolver.ts';
import { until } from '../../support/until.ts';

const suite = deliverySuite();
const NAME = 'broker.mesh.invalid';
const QUICK = { COTAL_MANAGER_NAME_RETRY_MS: '20', COTAL_MANAGER_NAME_RETRY_LIMIT_MS: '50' };

function opening(more: Pick<ManagerOptions, 'env' | 'signal'>) {
  const { root, space, url } = suite.mesh;
  const journal = new TestJournal();
  const manager = openManager({ root, space, url: `nats://${NAME}:${new URL(url).port}`, journal, ...more });
  const starting = () => readdirSync(cotalFolder(root)).filter((file) => file.startsWith('manager.'));
  return { journal, manager, starting };
}
const lineOf = (seconds: number) =>
  `! manager: the name of the broker, ${NAME}, does not resolve (EAI_AGAIN); next try in ${seconds} s`;

it('a name that does not resolve for a while is waited for with longer and longer rests, told each time, and then it serves (UPD-21)', async () => {
  let tries = 0;
  resolving(NAME, () => ++tries > 3);
  const { journal, manager } = opening({ env: QUICK });
  const { actor, run, stop } = await manager;
  const ended = run();
  await until(
    () => actor.getSnapshot().hasTag('serving'),
    () => journal.lines(),
    60_000,
  );
  expect(journal.lines().filter((line) => line.includes(NAME))).toEqual([0.02, 0.04, 0.05].map(lineOf));
  stop('SIGTERM');
  expect(await ended).toMatchObject({ end: 'stopped', code: 0 });
});

it('a name that does not resolve in time ends the start by that name, and leaves no record', async () => {
  resolving(NAME, () => false);
  const { journal, manager, starting } = opening({ env: { ...QUICK, COTAL_MANAGER_NAME_WAIT_MS: '200' } });
  await expect(manager).rejects.toMatchObject({ code: 'start.nameless', facts: { host: NAME, reason: 'EAI_AGAIN' } });
  expect(journal.count('manager.nameless')).toBeGreaterThanOrEqual(1);
  expect(starting()).toEqual([]);
});

it('a start that waits for a name can be found, and is over at once when it is asked to stop', async () => {
  resolving(NAME, () => false);
  const stop = new AbortController();
  const env = { COTAL_MANAGER_NAME_RETRY_MS: '60000', COTAL_MANAGER_NAME_RETRY_LIMIT_MS: '60000' };
  const { journal, manager, starting } = opening({ env, signal: stop.signal });
  const ended = manager.catch((reason: unknown) => reason);
  await until(
    () => journal.count('manager.nameless') === 1,
    () => journal.lines(),
  );
  expect(starting()).toEqual([expect.stringMatching(`\\.starting\\.${process.pid}$`)]);
  stop.abort('SIGTERM');
  expect(await ended).toBe('SIGTERM');
  expect(starting()).toEqual([]);
});
