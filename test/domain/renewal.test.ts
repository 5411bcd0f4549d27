/** When standing credentials are signed again, and what a renewer does while that fails; with a clock that the test turns. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createActor, fromPromise, SimulatedClock } from 'xstate';
import { managerNumbers, railWaitBounds } from '../../src/domain/manager-numbers.ts';
import { duePlan, restAfter, untilHalf } from '../../src/domain/renewal.ts';
import { type DueFact, type RenewalRecord, renewalMachine, type SignFact } from '../../src/machines/renewal.machine.ts';

const DAY_S = 24 * 3600;
const standing = (iat: number, lifeS?: number) => [
  { name: 'delivery', claims: { iat, ...(lifeS === undefined ? {} : { exp: iat + lifeS }) } },
];

it('a credential is due from half of its life on, and one without an end never', () => {
  expect(untilHalf({ iat: 100, exp: 200 }, 149_000)).toBe(1_000);
  expect(untilHalf({ iat: 100, exp: 200 }, 150_000)).toBe(0);
  expect(untilHalf({ iat: 100, exp: 200 }, 900_000)).toBe(0);
  expect(duePlan(standing(0), 1e12)).toEqual({ due: [], waitMs: 3_600_000 });
  expect(duePlan([], 0)).toEqual({ due: [], waitMs: 3_600_000 });
  expect(duePlan([...standing(0, 100), { name: 'observer', claims: { iat: 0, exp: 1_000 } }], 60_000)).toEqual({
    due: ['delivery'],
    waitMs: 10_000,
  });
});

it('at least one look falls between 75 % of its life and its end, whatever its life and however late each is, also while nothing is renewed (CRD-04)', () => {
  const lives = fc.integer({ min: 20, max: 30 * DAY_S });
  const late = fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true }));
  const property = fc.property(lives, late, fc.nat(2 ** 31), (lifeS, lateness, iat) => {
    const [from, end] = [(iat + lifeS * 0.75) * 1000, (iat + lifeS) * 1000];
    let now = iat * 1000;
    for (let passes = 0; now < end; ) {
      if (now >= from) return true;
      const { due, waitMs } = duePlan(standing(iat, lifeS), now);
      passes = due.length > 0 ? passes + 1 : 0;
      const rest = passes > 0 ? restAfter({ passes, limitMs: managerNumbers.renewalRetryMs, waitMs }) : waitMs;
      now += rest * (1 + (lateness.next().value ?? 0));
    }
    return false;
  });
  fc.assert(property, { verbose: true });
});

it('a rest is longer after each pass, and never past its limit or the next look', () => {
  const rests = [1, 2, 3, 4, 5, 6, 7, 100].map((passes) => restAfter({ passes, limitMs: 60_000, waitMs: 3_600_000 }));
  expect(rests).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  expect(restAfter({ passes: 9, limitMs: 60_000, waitMs: 2_000 })).toBe(2_000);
});

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Runs a renewer over a store that behaves as the test says, for this long; answers with what was recorded, and when. */
async function renewedFor(
  forMs: number,
  of: { look(now: number): DueFact; sign(now: number): SignFact },
  stepMs = 500,
) {
  const clock = new SimulatedClock();
  const recorded: (RenewalRecord & { at: number })[] = [];
  const answered = <E>(give: (input: never) => E) => fromPromise(async ({ input }) => give(input as never)) as never;
  const signed: number[] = [];
  const sign = (now: number): SignFact => {
    signed.push(now);
    return of.sign(now);
  };
  const machine = renewalMachine.provide({
    actors: {
      lookAtCredentials: answered(() => of.look(clock.now())),
      ownRenewal: answered(() => ({ type: 'renewal.ours' })),
      signCredentials: answered(() => sign(clock.now())),
      railWait: answered(({ args }: { args: { expected: string } }) => ({
        type: 'wait.answered',
        data: { adopted: true, fingerprint: args.expected },
      })),
      recordOutcome: answered((record: RenewalRecord) => {
        recorded.push({ ...record, at: clock.now() });
        return { type: 'outcome.recorded' };
      }),
    },
  });
  const wait = railWaitBounds(managerNumbers);
  const input = { rail: 'ctl.delivery-admin', wait, retryMs: managerNumbers.renewalRetryMs };
  const actor = createActor(machine, { clock, input });
  actor.start();
  for (let n = 0; n < 12; n++) await settle();
  while (clock.now() < forMs) {
    clock.increment(Math.min(stepMs, forMs - clock.now()));
    for (let n = 0; n < 12; n++) await settle();
  }
  actor.stop();
  return { recorded, signed };
}

it.each<[string, SignFact]>([
  ['whose signing fails', { type: 'signing.failed', reason: 'the store does not have the delivery credential' }],
  ['whose store never takes what is signed', { type: 'credentials.signed', names: ['delivery'], fingerprint: 'f1' }],
  ['that is of no concern to the daemon', { type: 'credentials.signed', names: ['observer'], fingerprint: '' }],
])('an expired credential %s is tried with longer and longer rests, each by name (CRD-03)', async (_, sign) => {
  const { recorded } = await renewedFor(300_000, {
    look: () => ({ type: 'credentials.due', names: ['delivery'], waitMs: 3_600_000 }),
    sign: () => sign,
  });
  const at = recorded.map((record) => Math.round(record.at / 1_000));
  expect(at).toEqual([0, 2, 6, 14, 30, 62, 122, 182, 242]);
  expect(recorded.every(({ names }) => names.length === 1)).toBe(true);
});

it('a store that can be written again 5 s after the end is used within seconds, however long it failed (CRD-11)', async () => {
  const lifeS = 60;
  let renewedAt: number | undefined;
  const { recorded } = await renewedFor(120_000, {
    look: (now) => {
      const { due, waitMs } = duePlan(renewedAt === undefined ? standing(0, lifeS) : standing(renewedAt, DAY_S), now);
      return due.length > 0
        ? { type: 'credentials.due', names: due, waitMs }
        : { type: 'credentials.fresh', waitMs, fingerprint: '' };
    },
    sign: (now) => {
      if (now < (lifeS + 5) * 1_000) return { type: 'signing.failed', reason: 'the disk is full' };
      renewedAt = Math.floor(now / 1_000);
      return { type: 'credentials.signed', names: ['delivery'], fingerprint: 'f1' };
    },
  });
  expect(recorded.filter(({ outcome }) => outcome === 'failed').length).toBeGreaterThan(3);
  expect(recorded.filter(({ outcome }) => outcome === 'adopted')).toHaveLength(1);
  expect(renewedAt).toBeGreaterThanOrEqual(65);
  expect(renewedAt).toBeLessThanOrEqual(65 + 6);
});

it('a day that goes well signs twice, and looks without a pass in between', async () => {
  let renewedAt = 0;
  const { recorded, signed } = await renewedFor(
    DAY_S * 1_000 - 1,
    {
      look: (now) => {
        const { due, waitMs } = duePlan(standing(renewedAt, 16 * 3600), now);
        return due.length > 0
          ? { type: 'credentials.due', names: due, waitMs }
          : { type: 'credentials.fresh', waitMs, fingerprint: '' };
      },
      sign: (now) => {
        renewedAt = now / 1_000;
        return { type: 'credentials.signed', names: ['delivery'], fingerprint: `f${now}` };
      },
    },
    60_000,
  );
  expect(signed.map((at) => Math.round(at / 3_600_000))).toEqual([8, 16]);
  expect(recorded.map(({ outcome }) => outcome)).toEqual(['adopted', 'adopted']);
});
