/** What cannot be known is said to be that, and never that there is none. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bucketStream, buckets, railSubjects } from '../../src/domain/subjects.ts';
import { spaceKeys } from '../../src/services/local/auth-store.ts';
import { type Cotal, cotalOf } from '../support/cli.ts';
import { type DaemonProcess, startProcess } from '../support/delivery/daemon.ts';
import { connectAsAnybody } from '../support/lease-history.ts';
import { type Mesh, startMesh } from '../support/mesh.ts';
import { until } from '../support/until.ts';

let mesh: Mesh;
let cotal: Cotal;
let daemon: DaemonProcess | undefined;

beforeEach(async () => {
  mesh = await startMesh();
  cotal = cotalOf(mesh);
});
afterEach(async () => {
  await cotal?.dispose();
  await daemon?.kill();
  daemon = undefined;
  await mesh?.dispose();
});

const ran = async (...args: string[]) => {
  const done = await cotal.run(...args);
  expect([args.join(' '), done.code], done.stderr).toEqual([args.join(' '), 0]);
  return done;
};

it('an inbox that gets nothing while the daemon is frozen says that it is unknown what is owed, and exits 1', async () => {
  for (const name of ['alice', 'bob']) await ran('agent', 'add', name, '--read', 'team.>', '--post', 'team.>');
  daemon = startProcess(mesh);
  await daemon.serving();
  await ran('join', 'team.a', '--as', 'bob');
  expect((await ran('inbox', '--as', 'bob')).stdout).toBe('nothing new');
  daemon.process.kill('SIGSTOP');
  await ran('post', 'team.a', 'is owed and not handed off', '--as', 'alice');
  const told = await cotal.run('inbox', '--as', 'bob');
  expect([told.code, told.stdout]).toEqual([1, '']);
  expect(told.stderr).toMatch(/✗ no daemon answered \w+ on ctl\.delivery/);
  expect(told.stderr).toContain('Nothing is known of it, which is not the same as none.');
  const json = await cotal.run('inbox', '--as', 'bob', '--json');
  expect([json.code, json.json()]).toMatchObject([1, [{ error: { code: 'rail.silent' } }]]);
});

it('an inbox says what is pending and does not come: with exit 1 where nothing came, as a remark where something did', async () => {
  for (const name of ['alice', 'bob']) await ran('agent', 'add', name, '--read', 'team.>', '--post', 'team.>');
  daemon = startProcess(mesh);
  await daemon.serving();
  await ran('join', 'team.a', '--as', 'bob');
  await ran('post', 'team.a', 'was handed off', '--as', 'alice');
  const handedOff = async () => (await ran('pending', 'bob', '--json')).last<{ handedOff: number }>().handedOff;
  await until(async () => (await handedOff()) === 1, 'it was not handed off');
  daemon.process.kill('SIGSTOP');
  // In the place of a daemon that hands off nothing more.
  const connection = await mesh.connect('delivery');
  let owed = { pending: 3, handedOff: 1 };
  connection.subscribe(railSubjects(mesh.space, 'delivery'), {
    callback: (_, message) => {
      const { op } = message.json<{ op: string }>();
      const data: Record<string, object> = {
        pendingCount: { ...owed, oldestAgeMs: null, givenUp: 0 },
        listMemberships: { memberships: [] },
      };
      const refusal = { ok: false, error: { code: 'rail.refused', message: 'nothing else is answered' } };
      message.respond(JSON.stringify(op in data ? { ok: true, data: data[op] } : refusal));
    },
  });
  await connection.flush();
  const some = await ran('inbox', '--as', 'bob');
  expect(some.stdout).toMatch(/was handed off$/);
  expect(some.stderr).toContain('! more may be owed: entries are pending and did not come: 3, of them handed off: 1');
  owed = { pending: 2, handedOff: 0 };
  const none = await cotal.run('inbox', '--as', 'bob', '--json');
  expect([none.code, none.json()]).toMatchObject([1, [{ error: { code: 'client.on-the-way' } }]]);
  owed = { pending: 0, handedOff: 0 };
  expect((await ran('inbox', '--as', 'bob')).stdout).toBe('nothing new');
  await connection.close();
});

it('an agent is not added beside a manager of which nothing can be known', async () => {
  const keys = await spaceKeys({ root: mesh.root, space: mesh.space, create: false });
  const connection = await connectAsAnybody({ url: mesh.url, keys });
  await connection.request(`$JS.API.STREAM.DELETE.${bucketStream(buckets(mesh.space).manager)}`);
  await connection.close();
  const added = await cotal.run('agent', 'add', 'dave', '--json');
  expect([added.code, added.json()]).toMatchObject([1, [{ error: { code: 'manager.unknown' } }]]);
  expect((await ran('agent', 'list', '--json')).json()).toEqual([]);
});
