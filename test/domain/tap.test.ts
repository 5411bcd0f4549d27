import { afterEach, describe, expect, it } from 'vitest';
import {
  assign,
  createActor,
  createMachine,
  fromCallback,
  fromPromise,
  initialTransition,
  raise,
  sendParent,
  setup,
  transition,
} from 'xstate';
import { Ring, type Seen, type Stepped } from '../../src/inspector/ring.ts';
import { logSteps } from '../../src/inspector/step-log.ts';
import { Tap } from '../../src/inspector/tap.ts';
import { TestJournal } from '../support/delivery/daemon.ts';
import { plantedSecrets } from '../support/secrets.ts';
import { until } from '../support/until.ts';

/** A child that asks once, reports, and ends; its effect answers with a fact that has more in it than may be seen. */
const lane = setup({
  types: { context: {} as { member: string; outstanding: number; body: string }, input: {} as { member: string } },
  actors: {
    read: fromPromise(async () => ({ type: 'place.recovered', outstanding: 3, body: 'PLANTED', jwt: 'PLANTED' })),
    listen: fromCallback(() => () => {}),
  },
}).createMachine({
  id: 'test-lane',
  context: ({ input }) => ({ member: input.member, outstanding: 0, body: 'PLANTED' }),
  initial: 'Recovering',
  states: {
    Recovering: {
      invoke: {
        id: 'read',
        src: 'read',
        onDone: { actions: raise(({ event }) => event.output as never) },
        onError: {},
      },
      on: {
        'place.recovered': {
          target: 'Idle',
          actions: [
            assign({ outstanding: ({ event }) => (event as unknown as { outstanding: number }).outstanding }),
            sendParent({ type: 'lane.placed', body: 'PLANTED' }),
          ],
        },
      },
    },
    Idle: { invoke: { id: 'listen', src: 'listen' }, on: { 'copies.confirmed': 'Gone' } },
    Gone: { type: 'final' },
  },
});

const reader = setup({ types: { events: {} as { type: string; member?: string } }, actors: { lane } }).createMachine({
  id: 'test-reader',
  initial: 'Reading',
  on: {
    'members.owed': {
      actions: ({ event, self, system }) => {
        void [event, self, system];
      },
    },
  },
  states: {
    Reading: {
      invoke: { id: 'lane.local.alice', src: 'lane', input: { member: 'local.alice' }, onDone: 'Quiet' },
      on: { stop: 'Quiet' },
    },
    Quiet: {},
  },
});

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

function watched() {
  const failures: unknown[] = [];
  const tap = new Tap({ failed: (error) => failures.push(error) });
  const ring = new Ring(tap, { capacity: 64, perSecond: 100_000, burst: 100_000 });
  const actor = createActor(reader, { inspect: tap.inspect });
  stops.push(() => actor.stop());
  actor.start();
  return { tap, ring, actor, failures, records: () => ring.after(0, 1_000) };
}

const stepsOf = (records: readonly Seen[], session: string | undefined): Stepped[] =>
  records.filter((each) => each.kind === 'stepped' && each.session === session) as Stepped[];

describe('the tap', () => {
  it('sees every actor begin, what it was told, what followed from it, what it asked for and said, and its end', async () => {
    const { ring, actor, records, failures } = watched();
    const child = () => [...ring.live()].find(({ actor: { id } }) => id === 'lane.local.alice');
    const session = child()?.actor.session;
    await until(
      () => child()?.now?.states.includes('Idle'),
      () => records(),
    );
    expect(child()?.actor).toMatchObject({ machine: 'test-lane', parent: actor.sessionId, root: actor.sessionId });
    const steps = stepsOf(records(), session);
    expect(
      steps.map(({ event, facts, from, now, asked, said }) => ({
        on: event.type,
        facts: facts.map(({ type }) => type),
        from,
        to: now.states,
        asked,
        said: said.map(({ event: told }) => told.type),
      })),
    ).toEqual([
      { on: 'xstate.init', facts: [], from: [], to: ['Recovering'], asked: ['read'], said: [] },
      {
        on: 'xstate.done.actor.read',
        facts: ['place.recovered'],
        from: ['Recovering'],
        to: ['Idle'],
        asked: ['listen'],
        said: ['lane.placed'],
      },
    ]);
    expect(steps[1]?.facts[0]).toMatchObject({ type: 'place.recovered', outstanding: 3 });
    expect(steps[1]?.now.context).toMatchObject({ member: 'local.alice', outstanding: 3 });
    actor.send({ type: 'stop' });
    expect(child()).toBeUndefined();
    expect([...ring.live()].map(({ actor: { session: left } }) => left)).toEqual([actor.sessionId]);
    expect(records().at(-1)).toMatchObject({ kind: 'stepped', session: actor.sessionId });
    expect(records().filter(({ kind }) => kind === 'ended').length).toBe(3);
    expect(failures).toEqual([]);
  });

  it('marks an event that nobody wanted as ignored', () => {
    const { actor, records } = watched();
    actor.send({ type: 'nobody.wants' });
    expect(stepsOf(records(), actor.sessionId).at(-1)).toMatchObject({
      ignored: true,
      event: { type: 'nobody.wants' },
    });
  });

  it('never keeps a body or a secret in the ring, whatever fact, input, context or answer it came in', async () => {
    const { ring, records, tap } = watched();
    await until(() => records().some((each) => each.kind === 'stepped' && each.facts.length > 0), 'no fact came');
    const loud = setup({ actors: {} }).createMachine({ id: 'loud', context: ({ input }) => input as object });
    const actor = createActor(loud, {
      inspect: tap.inspect,
      input: Object.fromEntries(plantedSecrets.map(({ secret }, n) => [`field${n}`, secret])),
    }).start();
    for (const { secret } of plantedSecrets)
      actor.send({ type: 'a.b', member: secret, message: `"${secret}"`, token: secret } as never);
    const text = JSON.stringify([records(), [...ring.live()]]);
    expect(text).not.toContain('PLANTED');
    for (const { secret } of plantedSecrets) expect(text).not.toContain(secret);
    actor.stop();
  });

  it('is bounded: what falls out of the ring is counted, and actors that ended are forgotten (INS-01)', () => {
    const { ring, actor, tap } = watched();
    for (let n = 0; n < 1_000; n++) actor.send({ type: 'members.owed', member: 'local.alice' });
    expect(ring.after(0, 10_000).length).toBe(64);
    expect(ring.dropped).toBe(ring.last - 64);
    const one = setup({}).createMachine({ id: 'session', initial: 'Open', states: { Open: {} } });
    for (let n = 0; n < 1_000; n++) createActor(one, { inspect: tap.inspect }).start().stop();
    expect(ring.size).toBeLessThan(10);
    expect(tap.size).toBe(ring.size);
  });

  it('keeps no more steps in a second than it is told, counts the others, and knows where the actor stands all the same', () => {
    let now = 1_000;
    const tap = new Tap({ now: () => now });
    const ring = new Ring(tap, { perSecond: 10 });
    const actor = createActor(reader, { inspect: tap.inspect }).start();
    stops.push(() => actor.stop());
    for (let n = 0; n < 50; n++) actor.send({ type: 'members.owed' });
    actor.send({ type: 'stop' });
    expect(ring.skipped).toBeGreaterThan(40);
    expect([...ring.live()].find(({ actor: { session } }) => session === actor.sessionId)?.now?.states).toEqual([
      'Quiet',
    ]);
    const before = ring.skipped;
    now += 1_000;
    actor.send({ type: 'nobody.wants' });
    expect(ring.skipped).toBe(before);
    expect(stepsOf(ring.after(0, 1_000), actor.sessionId).at(-1)?.event.type).toBe('nobody.wants');
  });

  it('keeps what happens seldom whole, however busy the rest is, and every end of what it saw begin', () => {
    let now = 1_000;
    const tap = new Tap({ now: () => now });
    const ring = new Ring(tap);
    const actor = createActor(reader, { inspect: tap.inspect }).start();
    for (let n = 0; n < 1_000; n++) actor.send({ type: 'members.owed' });
    now += 1_000;
    for (let n = 0; n < 100; n++) actor.send({ type: 'members.owed' });
    actor.send({ type: 'nobody.wants' });
    actor.send({ type: 'stop' });
    actor.stop();
    const records = ring.after(0, 10_000);
    const types = stepsOf(records, actor.sessionId).map(({ event: { type } }) => type);
    expect(types.filter((type) => type === 'members.owed').length).toBe(20 + 2);
    expect(types.filter((type) => type !== 'members.owed')).toEqual(['xstate.init', 'nobody.wants', 'stop']);
    const sessions = (kind: Seen['kind']) => records.filter((each) => each.kind === kind).map(({ session }) => session);
    expect(sessions('ended')).toEqual(expect.arrayContaining(sessions('began')));
    expect(ring.skipped).toBe(980 + 98);
  });

  it('sees a machine that is stepped by hand from its first step to its last, and forgets it then', () => {
    const { tap, ring, failures } = watched();
    const gate = setup({}).createMachine({
      id: 'test-gate',
      initial: 'Open',
      states: { Open: { on: { shut: 'Shut' } }, Shut: { type: 'final' } },
    });
    const of = { session: 'conn-1', id: 'gate.conn-1', machine: gate.id };
    const [open] = initialTransition(gate);
    tap.hand({ ...of, event: { type: 'xstate.init' }, after: open });
    expect(ring.liveActor('conn-1')).toMatchObject({
      actor: { id: 'gate.conn-1', machine: 'test-gate' },
      now: { states: ['Open'] },
    });
    const [shut] = transition(gate, open, { type: 'shut' });
    tap.hand({ ...of, event: { type: 'shut' }, after: shut });
    expect(ring.liveActor('conn-1')).toBeUndefined();
    expect(stepsOf(ring.after(0, 1_000), 'conn-1')).toMatchObject([
      { event: { type: 'xstate.init' }, from: [], now: { states: ['Open'] }, ignored: false },
      { event: { type: 'shut' }, from: ['Open'], now: { states: ['Shut'] }, ignored: false },
    ]);
    expect(failures).toEqual([]);
  });

  it('forgets an actor that failed', () => {
    const { tap } = watched();
    const before = tap.size;
    const failing = createMachine({
      id: 'parent',
      on: { 'xstate.error.actor.*': {} },
      invoke: {
        id: 'child',
        src: fromCallback(() => {
          throw new Error('no');
        }),
      },
    });
    const actor = createActor(failing, { inspect: tap.inspect });
    actor.subscribe({ error: () => {} });
    actor.start();
    actor.stop();
    expect(tap.size).toBe(before);
  });

  it('has a fault of its own to itself', () => {
    const failures: unknown[] = [];
    const tap = new Tap({ failed: (error) => failures.push(error) });
    tap.listen({
      stepped: () => {
        throw new Error('a viewer is at fault');
      },
    });
    const actor = createActor(reader, { inspect: tap.inspect }).start();
    expect(() => actor.send({ type: 'stop' })).not.toThrow();
    expect(actor.getSnapshot().value).toBe('Quiet');
    expect(failures.length).toBeGreaterThan(0);
    actor.stop();
  });

  it('tells every step at debug, with the machine, the event, the facts and the states before and after', async () => {
    const { tap, actor } = watched();
    const journal = new TestJournal();
    logSteps(tap, journal);
    actor.send({ type: 'nobody.wants' });
    actor.send({ type: 'stop' });
    expect(journal.told.filter(({ name }) => name === 'machine.stepped').map(({ facts }) => facts)).toMatchObject([
      { machine: 'test-reader', on: { type: 'stop' }, from: ['Reading'], to: ['Quiet'] },
    ]);
  });
});
