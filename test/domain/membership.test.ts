import { describe, expect, it } from 'vitest';
import { type Ask, planMembership, type RowReading } from '../../src/domain/membership.ts';

const join: Ask = { kind: 'join', ticket: 't' };
const leave = (generation: number): Ask => ({ kind: 'leave', ticket: 't', generation });
const resume: Ask = { kind: 'resume' };
const row = (state: 'pending' | 'active' | 'left', generation = 2) => ({ state, generation, joinCursor: 7 });
const reading = (of: Partial<RowReading> = {}): RowReading => ({ row: null, covered: 'yes', class: 'durable', ...of });

describe('what a request for a membership comes to', () => {
  it.each<[string, Ask, RowReading, object]>([
    ['a first join', join, reading(), { kind: 'open', generation: 1 }],
    ['a join after a leave', join, reading({ row: row('left') }), { kind: 'open', generation: 3 }],
    ['a join of a member (REG-05)', join, reading({ row: row('active') }), { kind: 'stands' }],
    ['a join of a row that was left pending', join, reading({ row: row('pending') }), { kind: 'catch-up' }],
    ['a join outside the ACL', join, reading({ covered: 'no' }), { kind: 'refuse' }],
    ['a join outside the ACL of a member', join, reading({ row: row('active'), covered: 'no' }), { kind: 'refuse' }],
    ['a join without an ACL row', join, reading({ covered: 'unknown' }), { kind: 'refuse' }],
    ['a join of a retired lifecycle', join, reading({ row: row('active'), covered: 'retired' }), { kind: 'refuse' }],
    ['a join of a live channel', join, reading({ class: 'live' }), { kind: 'refuse' }],
    [
      'a join of a live channel that was durable',
      join,
      reading({ row: row('active'), class: 'live' }),
      { kind: 'stands' },
    ],
    ['a leave', leave(2), reading({ row: row('active') }), { kind: 'close' }],
    ['a leave while the join is pending', leave(2), reading({ row: row('pending') }), { kind: 'close' }],
    ['a leave after the ACL was narrowed', leave(2), reading({ row: row('active'), covered: 'no' }), { kind: 'close' }],
    [
      'a leave of a retired lifecycle',
      leave(2),
      reading({ row: row('active'), covered: 'retired' }),
      { kind: 'close' },
    ],
    ['a leave of a live channel', leave(2), reading({ row: row('active'), class: 'live' }), { kind: 'close' }],
    ['a repeated leave', leave(2), reading({ row: row('left') }), { kind: 'withdraw' }],
    ['a stale leave after a rejoin', leave(1), reading({ row: row('active') }), { kind: 'refuse' }],
    ['a leave of a generation from the future', leave(3), reading({ row: row('active') }), { kind: 'refuse' }],
    ['a leave without a membership', leave(1), reading(), { kind: 'refuse' }],
    ['a resume of a pending row', resume, reading({ row: row('pending') }), { kind: 'catch-up' }],
    ['a resume of an active row', resume, reading({ row: row('active') }), { kind: 'stands' }],
    ['a resume of a row that is gone', resume, reading(), { kind: 'stands' }],
  ])('%s', (_what, ask, read, plan) => {
    const planned = planMembership(ask, read);
    expect(planned).toMatchObject(plan);
    if (planned.kind === 'refuse') expect(planned.reason).not.toBe('');
  });
});
