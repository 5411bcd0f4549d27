/** One life with every bound as it is by default: a lease of 30 s, a window of 15 s, a restart that waits for the row. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { numbers } from '../../src/domain/numbers.ts';
import { spaceKeys } from '../../src/services/local/auth-store.ts';
import { portsOf } from '../../src/services/local/broker.ts';
import { connectAsAnybody, LeaseHistory } from '../support/lease-history.ts';
import { Workstation } from '../support/workstation.ts';

let ws: Workstation;
beforeEach(() => {
  ws = new Workstation({}, { scaled: false });
});
afterEach(async () => {
  await ws.dispose();
});

const ran = async (...words: string[]) => {
  const done = await ws.run([...words, '--json']);
  expect([words.join(' '), done.code], done.stderr).toEqual([words.join(' '), 0]);
  return done;
};

it('with the usual bounds: a killed daemon is replaced when its row has ended, what was posted meanwhile comes, and all of it stops', async () => {
  const began = performance.now();
  const up = ws.start(['up', '--port', 0]);
  await ws.said(up, 'the mesh of space main is up');
  // As promised, or what two starts take on this machine.
  const marginMs = Math.max(5_000, 2 * (performance.now() - began));
  for (const name of ['alice', 'bob']) await ran('agent', 'add', name, '--read', 'team', '--post', 'team');
  expect((await ran('join', 'team', '--as', 'bob')).json()).toMatchObject({ state: 'durable' });
  const keys = await spaceKeys({ root: ws.root, space: 'main', create: false });
  const connection = await connectAsAnybody({ url: portsOf(ws.root, ws.recorded('broker') ?? 0) ?? '', keys });
  const history = await LeaseHistory.follow({ connection, space: 'main' });

  const killedMs = Date.now();
  process.kill(ws.recorded('delivery') ?? 0, 'SIGKILL');
  await ws.said(up, 'delivery daemon exited (SIGKILL) while nats-server is running - restarting it\n');
  await ws.said(up, '! delivery daemon could not be restarted: the lease of a crashed holder has not expired yet');
  expect(up.stderr()).toMatch(/; next attempt in ([12]?\d|30) s\n/);
  await ran('post', 'team', 'while nobody serves', '--as', 'alice');
  await ws.said(up, 'delivery daemon running again\n', 2 * numbers.leaseTtlMs);
  const inbox = await ran('inbox', '--as', 'bob', '--wait', '20000');
  expect(inbox.json()).toMatchObject({ parts: [{ text: 'while nobody serves' }] });

  const ready = history.writes.find((write) => write.ready && write.atMs > killedMs);
  expect((ready?.atMs ?? Number.POSITIVE_INFINITY) - killedMs).toBeLessThanOrEqual(numbers.leaseTtlMs + marginMs);
  await connection.close();
  up.kill('SIGINT');
  expect((await up.ended).code).toBe(0);
  expect(ws.processes()).toEqual([]);
});
