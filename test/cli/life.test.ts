import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { operatorKeys, spaceKeys } from '../../src/services/local/auth-store.ts';
import { credsPath, keepCreds, mint } from '../../src/services/local/mint.ts';
import { connectOnce } from '../../src/services/nats/connect.ts';
import { until } from '../support/until.ts';
import { type Ran, runs, Workstation } from '../support/workstation.ts';

let ws: Workstation;
beforeEach(() => {
  ws = new Workstation();
});
afterEach(async () => {
  await ws.dispose();
});

const UP = ['up', '--port', 0];
const kill = (pid: number | undefined, signal: NodeJS.Signals) => process.kill(pid ?? 0, signal);
/** What doctor says when it says that. Each of its questions has 2 s: what a busy machine did not answer is asked again. */
const doctorWhen = (isSaid: (ran: Ran) => boolean, ...words: string[]) => {
  let last = '';
  return until(
    async () => {
      const doctor = await ws.run(['doctor', ...words]);
      last = `${doctor.stdout}\n${doctor.stderr}`;
      return isSaid(doctor) && doctor;
    },
    () => `${last}\n${ws.log()}`,
    60_000,
  );
};
const healthy = (...words: string[]) => doctorWhen(({ code }) => code === 0, ...words);
interface Told {
  readonly facts: { name: string; ok: boolean | null; askedAt: number }[];
}
const okOf = ({ facts }: Told) => Object.fromEntries(facts.map(({ name, ok }) => [name, ok]));

describe('a mesh over time', () => {
  it('a Ctrl-C, which goes to the whole group, reaches up alone: the daemon gets its SIGTERM from the stop (U5)', async () => {
    const up = ws.start(UP);
    await ws.said(up, 'the mesh of space main is up');
    process.kill(-up.pid, 'SIGINT');
    expect((await up.ended).code).toBe(0);
    expect(ws.log()).toContain('received SIGTERM, exiting');
    expect(ws.log()).not.toContain('• delivery: received SIGINT');
    expect(ws.processes()).toEqual([]);
  });

  it('every component answers after each down && up, and a stop at any moment frees the lease (LSE-01, LSE-13)', async () => {
    expect((await ws.run([...UP, '--detach'])).code).toBe(0);
    for (let round = 0; round < 3; round++) {
      expect((await ws.run(['down'])).code).toBe(0);
      const up = await ws.run(['up', '--detach', '--json']);
      expect(up.code, up.stderr).toBe(0);
      expect(up.json()).toMatchObject({ healthy: true, delivery: { responder: 'bound' } });
    }
  });

  it('a daemon that was killed shows in doctor at once, with exit 1, and status tells the stale record (UPD-02)', async () => {
    await ws.run([...UP, '--detach']);
    const daemon = ws.recorded('delivery');
    kill(daemon, 'SIGKILL');
    await until(() => !runs(daemon), 'it lives');
    const first = await ws.run(['doctor', '--json']);
    expect(first.code).toBe(1);
    const told = first.json<Told>();
    expect(okOf(told)['delivery.process']).toBe(false);
    expect(told.facts.every(({ askedAt }) => Math.abs(Date.now() - askedAt) < 60_000)).toBe(true);
    // The rest is asked of the broker, which may not answer in time.
    const asked = ['delivery.responder', 'delivery.rail'];
    const isKnown = (ran: Ran) => {
      const ok = okOf(ran.json<Told>());
      return ok['broker.answers'] === true && asked.every((name) => ok[name] !== null);
    };
    const answered = await doctorWhen(isKnown, '--json');
    expect(answered.code).toBe(1);
    expect(okOf(answered.json<Told>())).toMatchObject({
      'broker.answers': true,
      'delivery.process': false,
      'delivery.responder': false,
      'delivery.rail': false,
    });
    const status = await ws.run(['status']);
    expect(status.code).toBe(0);
    expect(status.stdout).toContain(`the record is stale: process ${daemon} is gone`);
  });

  it('a record of the mesh that cannot be read is named by doctor, which says what to do; that mends it, and nothing is started anew', async () => {
    expect((await ws.run([...UP, '--detach'])).code).toBe(0);
    const daemon = ws.recorded('delivery');
    const path = ws.file('../../home/meshes/space.KEY.json');
    writeFileSync(path, readFileSync(path, 'utf8').slice(0, 40));
    const doctor = await doctorWhen(({ stdout }) => stdout.match(/^[^✓]/gm)?.length === 1);
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toMatch(/^✗ mesh\.record +\S+space\.6d61696e\.json cannot be read: it is not JSON/m);
    expect(doctor.stderr).toContain('move the record under meshes/ away');
    rmSync(path);
    expect((await ws.run(['doctor'])).code).toBe(1);
    expect((await ws.run(['up', '--detach'])).code).toBe(0);
    await healthy();
    expect(ws.recorded('delivery')).toBe(daemon);
  });

  it('nothing is green over a broker that is not there: what could not be asked is unknown', async () => {
    await ws.run([...UP, '--detach']);
    await ws.run(['down']);
    const doctor = await ws.run(['doctor', '--json']);
    expect(doctor.code).toBe(1);
    const { facts } = doctor.json<{ facts: { name: string; ok: boolean | null }[] }>();
    for (const name of [
      'delivery.lease',
      'delivery.responder',
      'delivery.rail',
      'delivery.owed',
      'delivery.shortfall',
      'delivery.discarded',
      'store.writes',
      'store.space',
      'store.layout',
    ]) {
      expect(facts.find((fact) => fact.name === name)?.ok).toBeNull();
    }
    expect(facts.find(({ name }) => name === 'broker.answers')?.ok).toBe(false);
  });

  it('a store that is not as it should be is named by doctor, which says what to do; up makes what is missing', async () => {
    await ws.run([...UP, '--detach']);
    const keys = {
      operator: await operatorKeys({ root: ws.root, create: false }),
      space: await spaceKeys({ root: ws.root, space: 'main', create: false }),
    };
    const credential = await mint(keys, { profile: { profile: 'delivery', space: 'main' }, name: 'local.delivery' });
    const url = (await ws.run(['status', '--json'])).json<{ facts: { name: string; value: { url: string } }[] }>();
    const broker = url.facts.find(({ name }) => name === 'broker.answers')?.value.url ?? '';
    const connection = await connectOnce({ url: broker, name: 'test', credential });
    await connection.request('$JS.API.CONSUMER.DELETE.EPT_REQ_main.timerw_main');
    await connection.close();
    const missing = 'consumer timerw_main on EPT_REQ_main is missing';
    const doctor = await doctorWhen(({ stdout }) => stdout.includes(missing));
    expect(doctor.code).toBe(1);
    expect(doctor.stderr).toContain('→ what is missing is made by "cotal up"');
    expect((await ws.run(['up', '--detach'])).code).toBe(0);
    expect((await healthy()).stderr).not.toContain('→');
  });

  it('expired observer and evictor are named by a daemon, and made anew together by up (CRD-08)', async () => {
    await ws.run([...UP, '--detach']);
    const daemon = ws.recorded('delivery');
    kill(daemon, 'SIGTERM');
    await until(() => !runs(daemon), 'it lives');
    const keys = {
      operator: await operatorKeys({ root: ws.root, create: false }),
      space: await spaceKeys({ root: ws.root, space: 'main', create: false }),
    };
    const account = keys.space.account.publicKey;
    const observer = { profile: { profile: 'observer', account }, name: 'local.observer', lifeS: -10 } as const;
    keepCreds(credsPath(ws.root, 'main', 'observer'), await mint(keys, observer));
    const byHand = await ws.run(['deliver']);
    expect(byHand.code).toBe(1);
    expect(byHand.stderr).toContain('observer.creds expired at');
    const before = ws.read('space.KEY/evictor.creds');
    const up = await ws.run(['up', '--detach']);
    expect(up.code, up.stderr).toBe(0);
    expect(ws.read('space.KEY/evictor.creds')).not.toBe(before);
    await healthy();
  });

  it('a missing evictor is a posture that up keeps, and that doctor --fix ends', async () => {
    await ws.run([...UP, '--detach']);
    const evictor = ws.file('space.KEY/evictor.creds');
    rmSync(evictor);
    expect((await ws.run(['up', '--detach'])).code).toBe(0);
    expect(existsSync(evictor)).toBe(false);
    expect((await ws.run(['doctor'])).code).toBe(1);
    const fixed = await ws.run(['doctor', '--fix']);
    expect(fixed.stderr).toContain('made evictor.creds anew');
    await healthy('--fix');
  });

  it('a daemon that was frozen past its lease and woken has no second one beside it', async () => {
    const up = ws.start(UP);
    await ws.said(up, 'the mesh of space main is up');
    const daemon = ws.recorded('delivery');
    kill(daemon, 'SIGSTOP');
    const frozen = performance.now();
    await until(() => performance.now() - frozen > 5_000, '');
    kill(daemon, 'SIGCONT');
    await healthy();
    expect(ws.processes().filter(({ line }) => line.includes(' deliver '))).toHaveLength(1);
    up.kill('SIGTERM');
    expect((await up.ended).code).toBe(0);
  });
});
