import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Cotal, cotalOf } from '../support/cli.ts';
import { type DaemonProcess, startProcess } from '../support/delivery/daemon.ts';
import { type Mesh, startMesh } from '../support/mesh.ts';

let mesh: Mesh;
let cotal: Cotal;
let daemon: DaemonProcess | undefined;

/** A lease that a killed daemon left is free soon, so that the story does not wait for half a minute. */
const LEASE_MS = 3_000;
const env = {
  COTAL_DELIVERY_LEASE_TTL_MS: String(LEASE_MS),
  COTAL_DELIVERY_LEASE_RENEW_MS: '500',
  COTAL_DELIVERY_LEASE_FENCE_MS: '2000',
};

beforeEach(async () => {
  mesh = await startMesh({ durability: 'strict', leaseTtlMs: LEASE_MS });
  cotal = cotalOf(mesh);
});
afterEach(async () => {
  await cotal?.dispose();
  await daemon?.kill();
  daemon = undefined;
  await mesh?.dispose();
});

const serve = async () => {
  daemon = startProcess(mesh, { env, standby: true });
  await daemon.serving();
};
const ran = async (...args: string[]) => {
  const done = await cotal.run(...args, '--json');
  expect([args.join(' '), done.code, done.stderr.replace(/^! client: bound .*\n/, '')]).toEqual([
    args.join(' '),
    0,
    '',
  ]);
  return done;
};
const texts = async (...args: string[]) =>
  (await ran('inbox', '--as', 'bob', ...args)).json<{ parts: { text: string }[] }>().map(({ parts }) => parts[0]?.text);

it('an agent joins and goes away; daemon and broker are killed between the posts; it comes back and reads each once', async () => {
  for (const name of ['alice', 'bob']) await ran('agent', 'add', name, '--read', 'team.>', '--post', 'team.>');
  await serve();
  expect((await ran('join', 'team.general', '--as', 'bob')).last()).toMatchObject({ state: 'durable' });
  await ran('post', 'team.general', 'while all is well', '--as', 'alice');

  await daemon?.kill();
  const cold = (await ran('post', 'team.general', 'while the daemon is dead', '--as', 'alice')).last();
  expect(['queued', 'durable']).toContain(cold.delivery);

  await mesh.killBroker();
  const failed = await cotal.run('post', 'team.general', 'while nobody is there', '--as', 'alice', '--json');
  expect([failed.code, failed.last<{ error: { code: string } }>().error.code]).toEqual([1, 'broker.unreachable']);
  await mesh.startBroker();
  await serve();
  await ran('post', 'team.general', 'after the night', '--as', 'alice');

  expect(await texts('--wait', '30000')).toEqual(['while all is well', 'while the daemon is dead', 'after the night']);
  expect(await texts()).toEqual([]);

  // Once more with the daemon killed between the hand-off and the confirmation.
  await ran('post', 'team.general', 'handed off', '--as', 'alice');
  expect(await texts('--no-confirm', '--wait', '30000')).toEqual(['handed off']);
  await daemon?.kill();
  await mesh.killBroker();
  await mesh.startBroker();
  await serve();
  // A killed broker has forgotten that the copy was given back: it comes when its ack wait (60 s) is over.
  expect(await texts('--wait', '100000')).toEqual(['handed off']);
  expect(await texts()).toEqual([]);
});
