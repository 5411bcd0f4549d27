/** The schedule of a wait of 60 s, to the millisecond, with a clock that the test turns. */

import { expect, it } from 'vitest';
import { createActor, fromPromise, SimulatedClock } from 'xstate';
import { managerNumbers, railWaitBounds } from '../../src/domain/manager-numbers.ts';
import { gapBefore } from '../../src/domain/pacing.ts';
import { railWaitMachine } from '../../src/machines/rail-wait.machine.ts';

const bounds = railWaitBounds(managerNumbers);
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Runs a wait against a daemon that binds at this time; answers with when it was asked, and the end. */
async function waited(bindsAt: number) {
  const clock = new SimulatedClock();
  const asked: number[] = [];
  const machine = railWaitMachine.provide({
    actors: {
      askRail: fromPromise(async () => {
        const at = clock.now();
        asked.push(at);
        return at >= bindsAt
          ? ({ type: 'rail.answered', data: null } as const)
          : ({ type: 'rail.silent', why: 'no responder is bound', since: 0, leftMs: bounds.waitMs - at } as const);
      }) as never,
    },
  });
  const actor = createActor(machine, { clock, input: { ...bounds, rail: 'ctl.delivery-admin', op: 'x', args: {} } });
  actor.start();
  await settle();
  while (actor.getSnapshot().status === 'active' && clock.now() < 120_000) {
    clock.increment(25);
    await settle();
  }
  return { asked, outcome: actor.getSnapshot().output, endedAt: clock.now() };
}

it.each([500, 30_000, 59_000, 59_900])('a daemon that binds at %i ms of 60 s is found (RAIL-04)', async (bindsAt) => {
  const { asked, outcome } = await waited(bindsAt);
  expect(outcome).toEqual({ type: 'wait.answered', data: null });
  expect(asked.at(-1)).toBeGreaterThanOrEqual(bindsAt);
  expect(asked.at(-1)).toBeLessThanOrEqual(59_975);
});

it('without any daemon it ends at 60 s sharp, and the last attempt still had time to be answered', async () => {
  const { asked, outcome, endedAt } = await waited(Number.POSITIVE_INFINITY);
  expect(outcome?.type).toBe('wait.silent');
  expect(endedAt).toBe(60_000);
  expect(asked.at(-1)).toBeLessThanOrEqual(59_975);
  expect(asked.at(-1)).toBeGreaterThan(59_700);
});

it('attempts come closer together toward the end', () => {
  // Milliseconds from the start, as they are when every attempt fails at once.
  const times = [0];
  for (;;) {
    const at = times.at(-1) ?? 0;
    const gap = gapBefore(times.length, bounds.waitMs - at, bounds);
    if (gap === undefined) break;
    times.push(at + gap);
  }
  // In seconds.
  expect(times.map((at) => Math.round(at / 10) / 100)).toMatchInlineSnapshot(`
    [
      0,
      1,
      3,
      7,
      12,
      17,
      22,
      27,
      32,
      37,
      42,
      47,
      52,
      56,
      58,
      59,
      59.5,
      59.75,
      59.88,
      59.94,
    ]
  `);
  const gaps = times.slice(1).map((at, n) => at - (times[n] ?? 0));
  const shrinking = gaps.slice(gaps.lastIndexOf(Math.max(...gaps)));
  expect(shrinking).toEqual([...shrinking].sort((a, b) => b - a));
  expect(times.at(-1)).toBeLessThanOrEqual(59_950);
});
