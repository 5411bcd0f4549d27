import { headers as natsHeaders } from '@nats-io/nats-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { inboxPrefix } from '../../../src/domain/permissions.ts';
import { streams } from '../../../src/domain/subjects.ts';
import { readTimer, type Timer, type TimerName, timerBody, timerSubject } from '../../../src/domain/timers.ts';
import { publishEach } from '../../../src/services/nats/batch.ts';
import { GatedBroker } from '../../../src/services/nats/gated-broker.ts';
import { StreamStore } from '../../../src/services/nats/stream-store.ts';
import { Timers } from '../../../src/services/nats/timers.ts';
import { Agent, texts } from '../../support/delivery/agent.ts';
import { type InProcess, startInProcess } from '../../support/delivery/daemon.ts';
import { type Mesh, type MeshOptions, startMesh } from '../../support/mesh.ts';
import { until } from '../../support/until.ts';

const QUICK = {
  COTAL_DELIVERY_TIMER_RETRY_MS: '200',
  COTAL_DELIVERY_TIMER_RETRY_LIMIT_MS: '400',
  COTAL_DELIVERY_LEASE_TTL_MS: '3000',
  COTAL_DELIVERY_LEASE_RENEW_MS: '500',
  COTAL_DELIVERY_LEASE_FENCE_MS: '2500',
};
const HOUR = 3_600_000;

async function open(options: MeshOptions = {}) {
  const mesh = await startMesh({ leaseTtlMs: 3_000, ...options });
  process.env.COTAL_HOME = mesh.root;
  onTestFinished(() => mesh.dispose());
  const credential = await mesh.credsFor('scheduler');
  const connection = await mesh.connect(credential);
  const side = { connection, inboxPrefix: inboxPrefix(credential.publicKey), space: mesh.space };
  const timers = new Timers(side);
  const name = (timerId: string): TimerName => ({ endpoint: 'flow', instance: 'i1', epoch: '1', timerId });
  const timer = (timerId: string, deadline: number, generation = 1): Timer => ({ v: 1, timerId, generation, deadline });
  const ask = async (timerId: string, deadline: number, generation = 1) =>
    expect(await timers.ask(name(timerId), timer(timerId, deadline, generation))).toMatchObject({ kind: 'asked' });
  const store = new StreamStore(
    new GatedBroker({ ...side, gate: () => undefined, timeoutMs: 5_000 }),
    streams(mesh.space).timers,
  );
  const last = async (timerId: string, verb: 'armed' | 'fire') => {
    const read = await store.lastAlone(timerSubject(mesh.space, name(timerId), verb));
    return read.kind === 'found' ? { ...read.message, timer: readTimer(read.message.data) } : undefined;
  };
  const left = async () => {
    const listed = await timers.list();
    return listed.kind === 'read' ? listed.waiting : -1;
  };
  const fired = (timerId: string) =>
    until(
      () => last(timerId, 'fire'),
      () => timers.list(),
    );
  return { mesh, connection, timers, name, timer, ask, last, left, fired };
}
async function daemonOf(mesh: Mesh, env: Record<string, string> = {}): Promise<InProcess> {
  const running = await startInProcess(mesh, { ...QUICK, ...env });
  onTestFinished(async () => void (await running.stop()));
  return running;
}
const settled = (left: () => Promise<number>, running?: InProcess) =>
  until(
    async () => (await left()) === 0,
    () => running?.state() ?? 'no daemon',
    60_000,
  );

describe('checkpoint timers', () => {
  it('of several all fire, each once and in time order, whatever order they were armed in (TMR-01)', async () => {
    const { mesh, ask, fired } = await open();
    const running = await daemonOf(mesh);
    const now = Date.now();
    // So far apart that no two are due when the broker looks: of those it fires first what was armed first.
    for (const [id, ms] of [
      ['d', 14_000],
      ['c', 11_000],
      ['b', 8_000],
      ['a', 5_000],
    ] as const) {
      await ask(id, now + ms);
    }
    const fires = [await fired('a'), await fired('b'), await fired('c'), await fired('d')];
    for (const [n, { seq }] of fires.entries()) if (n > 0) expect(seq).toBeGreaterThan(fires[n - 1]?.seq ?? 0);
    for (const { timer, storedAt } of fires)
      expect(storedAt).toBeGreaterThanOrEqual(timer?.deadline ?? Number.POSITIVE_INFINITY);
    expect(running.daemon.tally.get('timers.armed')).toBe(4);
  });

  it('fire at once when their time has passed, never before it, and a far one stays armed (TMR-07)', async () => {
    const { mesh, ask, fired, last, left } = await open();
    await daemonOf(mesh);
    await ask('epoch', 0);
    await ask('past', Date.now() - HOUR);
    const soon = Date.now() + 777;
    await ask('soon', soon);
    await ask('far', Date.UTC(2255, 0, 1));
    await fired('epoch');
    await fired('past');
    expect((await fired('soon')).storedAt).toBeGreaterThanOrEqual(soon);
    await settled(left);
    expect((await last('far', 'armed'))?.timer?.deadline).toBe(Date.UTC(2255, 0, 1));
    expect(await last('far', 'fire')).toBeUndefined();
  });

  it('that were asked for while no daemon ran are armed when one comes, and fire after the broker was killed meanwhile (TMR-02)', async () => {
    const { mesh, ask, fired, last, left } = await open();
    await ask('waiting', Date.now() + 200);
    const running = await daemonOf(mesh);
    await fired('waiting');
    const over = new Date(Date.now() + 2_500);
    await ask('over', over.getTime());
    await settled(left);
    // On a busy machine it may have fired by now: then it is armed no more.
    expect((await last('over', 'armed')) ?? (await last('over', 'fire'))).toBeDefined();
    await mesh.killBroker();
    await until(
      () => Date.now() > over.getTime(),
      () => running.state(),
    );
    await mesh.startBroker();
    const first = await fired('over');
    await ask('over', first.timer?.deadline ?? 0);
    await settled(left);
    expect((await last('over', 'fire'))?.seq).toBe(first.seq);
  });

  it('are armed once, however often they are asked for and however many writers come and go (TMR-05)', async () => {
    const { mesh, ask, last, left } = await open();
    const at = Date.now() + HOUR;
    await ask('once', at);
    let armed: number | undefined;
    for (let round = 0; round < 3; round++) {
      const running = await startInProcess(mesh, QUICK);
      await ask('once', at);
      await settled(left, running);
      const { seq } = (await last('once', 'armed')) ?? { seq: 0 };
      armed ??= seq;
      expect(seq).toBe(armed);
      await running.stop();
    }
  });

  it('are replaced by a higher generation by compare-and-set, and not by a lower one (TMR-06)', async () => {
    const { mesh, ask, last, left } = await open();
    const running = await daemonOf(mesh);
    const at = Date.now() + HOUR;
    await ask('again', at);
    await settled(left, running);
    await ask('again', at + 1_000, 3);
    await ask('again', at + 2_000, 2);
    await settled(left, running);
    expect((await last('again', 'armed'))?.timer).toMatchObject({ generation: 3, deadline: at + 1_000 });
    await ask('again', at + 9_000, 3);
    await settled(left, running);
    expect((await last('again', 'armed'))?.timer?.deadline).toBe(at + 1_000);
    expect(running.journal.lines().join('\n')).toContain('is refused: generation 3 is armed for');
  });

  it('that smuggle a schedule, or whose body names another timer, are refused once with a line, and nothing is armed (T2)', async () => {
    const { mesh, connection, name, timer, last, left } = await open();
    const running = await daemonOf(mesh);
    const subject = (id: string) => timerSubject(mesh.space, name(id), 'schedule');
    const smuggled = natsHeaders();
    smuggled.set('nats-schedule-target', timerSubject(mesh.space, name('smuggled'), 'fire'));
    connection.publish(subject('smuggled'), timerBody(timer('smuggled', Date.now())), { headers: smuggled });
    const scheduled = natsHeaders();
    scheduled.set('Nats-Schedule', `@at ${new Date(Date.now() + 500).toISOString()}`);
    scheduled.set('Nats-Schedule-Target', timerSubject(mesh.space, name('scheduled'), 'fire'));
    // The broker itself refuses these on the stream of requests.
    const answer = await connection.request(subject('scheduled'), timerBody(timer('scheduled', 0)), {
      headers: scheduled,
      timeout: 5_000,
    });
    expect(answer.json<{ error?: object }>().error).toBeDefined();
    connection.publish(subject('other'), timerBody(timer('another', Date.now())));
    connection.publish(subject('broken'), '{');
    await until(
      () => running.daemon.tally.get('timers.refused') === 3,
      () => running.state(),
    );
    await settled(left, running);
    const lines = running.journal.lines().filter((line) => line.startsWith('! delivery: timer request'));
    expect(lines).toEqual([
      `! delivery: timer request ${subject('smuggled')} is refused: it carries the header nats-schedule-target`,
      `! delivery: timer request ${subject('other')} is refused: its body names the timer "another"`,
      expect.stringContaining(`! delivery: timer request ${subject('broken')} is refused: its body is no timer`),
    ]);
    for (const id of ['smuggled', 'scheduled', 'other', 'another', 'broken']) {
      expect([await last(id, 'armed'), await last(id, 'fire')]).toEqual([undefined, undefined]);
    }
  });

  it('whose writer is down are told of with the time of the next try, delivery goes on, and they are armed afterwards (T1, T4, TMR-08)', async () => {
    const { mesh, ask, last, left } = await open();
    const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
    const running = await daemonOf(mesh);
    await bob.join('team');
    const provisioner = await mesh.connect('provisioner');
    const admin = await mesh.connect(await mesh.credsFor('delivery'));
    const consumer = `${streams(mesh.space).timerRequests}.timerw_${mesh.space}`;
    await admin.request(`$JS.API.CONSUMER.DELETE.${consumer}`);
    await until(
      () => running.journal.count('timers.down') >= 2,
      () => running.state(),
    );
    expect(running.journal.lines()).toContainEqual(
      expect.stringMatching(
        /^! delivery: timer writer is down \(.+\), next try at \d{4}-.+Z; no workflow pause is armed meanwhile$/,
      ),
    );
    await alice.post('team', { text: 'all the same' });
    expect(texts(await bob.read(1, 10_000))).toEqual(['all the same']);
    expect(running.journal.count('daemon.quiesced')).toBe(0);
    await ask('later', Date.now() + HOUR);
    expect(await left()).toBe(1);
    const { provision } = await import('../../../src/services/nats/provision.ts');
    expect(await provision({ connection: provisioner, space: mesh.space, leaseTtlMs: 3_000 })).toMatchObject({
      kind: 'ready',
    });
    await settled(left, running);
    expect(await last('later', 'armed')).toBeDefined();
    expect(running.journal.count('timers.running-again')).toBeGreaterThan(0);
  });

  it('ten thousand at once are all armed', async () => {
    const { mesh, connection, name, timer, timers, left } = await open();
    const ids = Array.from({ length: 10_000 }, (_, n) => `t${n}`);
    const at = Date.now() + HOUR;
    const stored = await publishEach({
      connection,
      timeoutMs: 30_000,
      messages: ids.map((id) => ({
        subject: timerSubject(mesh.space, name(id), 'schedule'),
        data: timerBody(timer(id, at)),
      })),
    });
    expect(stored.filter(({ kind }) => kind === 'stored')).toHaveLength(ids.length);
    const began = performance.now();
    const running = await daemonOf(mesh);
    await settled(left, running);
    process.stdout.write(`ten thousand timers armed in ${Math.round(performance.now() - began)} ms\n`);
    const listed = await timers.list();
    if (listed.kind !== 'read') throw new Error(JSON.stringify(listed));
    expect(
      new Set(listed.timers.filter(({ state }) => state === 'armed').map(({ name: each }) => each.timerId)).size,
    ).toBe(ids.length);
    expect(listed.timers).toHaveLength(ids.length);
  });
});
