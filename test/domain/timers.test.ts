import { describe, expect, it } from 'vitest';
import { judgeTimer, LATEST_DEADLINE_MS, planTimer, scheduleOf, timerBody } from '../../src/domain/timers.ts';

const timer = { v: 1, timerId: 'pause', generation: 2, deadline: 1_000 } as const;
const judge = (more: Partial<Parameters<typeof judgeTimer>[0]> = {}) =>
  judgeTimer({
    space: 'main',
    subject: 'cotal.main.ept.flow.i1.3.pause.schedule',
    headers: [],
    data: timerBody(timer),
    ...more,
  });
const body = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

describe('a request for a timer', () => {
  it('is valid when subject and body agree', () => {
    expect(judge()).toEqual({
      kind: 'valid',
      name: { endpoint: 'flow', instance: 'i1', epoch: '3', timerId: 'pause' },
      timer,
    });
  });

  it.each([
    ['another timer in the body', { data: body({ ...timer, timerId: 'other' }) }, 'its body names the timer "other"'],
    ['another subject', { subject: 'cotal.main.ept.flow.i1.3.pause.fire' }, 'its subject names no timer'],
    ['a subject of another family', { subject: 'cotal.main.chat.local.alice.team' }, 'its subject names no timer'],
    ['a schedule smuggled in', { headers: ['Nats-Schedule'] }, 'it carries the header Nats-Schedule'],
    ['a target smuggled in', { headers: ['nats-schedule-target'] }, 'it carries the header nats-schedule-target'],
    ['a rollup smuggled in', { headers: ['Nats-Rollup'] }, 'it carries the header Nats-Rollup'],
    ['a scheduler smuggled in', { headers: ['Nats-Scheduler'] }, 'it carries the header Nats-Scheduler'],
    ['no JSON', { data: new Uint8Array([1]) }, 'its body is no timer'],
    ['another version', { data: body({ ...timer, v: 2 }) }, 'its body is no timer: v'],
    ['generation 0', { data: body({ ...timer, generation: 0 }) }, 'its body is no timer: generation'],
    ['half a millisecond', { data: body({ ...timer, deadline: 1.5 }) }, 'its body is no timer: deadline'],
    ['a negative deadline', { data: body({ ...timer, deadline: -1 }) }, 'its body is no timer: deadline'],
    [
      'a deadline beyond what the broker counts (TMR-07)',
      { data: body({ ...timer, deadline: LATEST_DEADLINE_MS + 1 }) },
      'its body is no timer: deadline',
    ],
  ] as const)('with %s is refused by name', (_, more, reason) => {
    const judged = judge(more);
    expect(judged.kind === 'refused' && judged.reason).toContain(reason);
  });

  it('is armed to the millisecond, whatever its deadline (TMR-07)', () => {
    expect(scheduleOf({ ...timer, deadline: 1_234 })).toBe('@at 1970-01-01T00:00:01.234Z');
    expect(scheduleOf({ ...timer, deadline: LATEST_DEADLINE_MS })).toMatch(/^@at 2255-/);
  });
});

describe('what a request comes to', () => {
  const armed = (generation: number, deadline = 1_000) => ({ seq: 9, timer: { ...timer, generation, deadline } });
  it.each([
    ['nothing is there', { armed: undefined, fired: undefined }, { kind: 'arm', expect: 0 }],
    ['an older generation is armed', { armed: armed(1), fired: undefined }, { kind: 'arm', expect: 9 }],
    [
      'something unreadable is armed',
      { armed: { seq: 9, timer: undefined }, fired: undefined },
      { kind: 'arm', expect: 9 },
    ],
    ['it is armed (TMR-05)', { armed: armed(2), fired: undefined }, { kind: 'settled', why: 'armed' }],
    ['a newer one is armed (TMR-06)', { armed: armed(3), fired: undefined }, { kind: 'settled', why: 'superseded' }],
    ['it has fired (TMR-02)', { armed: undefined, fired: { ...timer } }, { kind: 'settled', why: 'fired' }],
    ['an older one has fired', { armed: undefined, fired: { ...timer, generation: 1 } }, { kind: 'arm', expect: 0 }],
  ] as const)('where %s', (_, standing, plan) => {
    expect(planTimer(timer, standing)).toEqual(plan);
  });

  it('is a refusal where the same generation is armed for another time', () => {
    expect(planTimer(timer, { armed: armed(2, 7_000), fired: undefined })).toMatchObject({ kind: 'refused' });
  });
});
