import { describe, expect, it } from 'vitest';
import { judge } from '../../src/torture/checker/verdict.ts';
import type { HistoryRecord } from '../../src/torture/history.ts';
import { scriptOf, scriptSchema } from '../../src/torture/schedule.ts';
import { shrink, tightened } from '../../src/torture/shrink.ts';

const uid = 'b'.repeat(26);
const bob = { agent: 'bob', uid };
const member = `local.bob.${uid}`;
const placed = { member, channel: 'ops', generation: 1, writer: 'd1' };

/** Bob joins at 10, alice posts 5 at 1000, it is copied, surfaces and is confirmed, the run ends at 20000. */
const story: readonly HistoryRecord[] = [
  { kind: 'added', at: 0, ...bob, principal: 'local.bob', read: ['>'], post: ['>'] },
  { kind: 'added', at: 0, agent: 'alice', uid: 'a'.repeat(26), principal: 'local.alice', read: ['>'], post: ['>'] },
  { kind: 'daemon', at: 0, daemon: 'daemon.1', incarnation: 'd1' },
  { kind: 'lease', at: 1, seq: 1, incarnation: 'd1', ready: true },
  { kind: 'membership', at: 10, seq: 1, ...placed, state: 'active', joinCursor: 4 },
  { kind: 'standing', at: 12, ...bob, channel: 'ops', state: 'durable', generation: 1, joinCursor: 4, reason: '' },
  { kind: 'posting', at: 999, agent: 'alice', uid: 'a'.repeat(26), channel: 'ops', id: 'p' },
  { kind: 'post', at: 1_000, seq: 5, channel: 'ops', from: 'local.alice', id: 'p', mentions: [] },
  { kind: 'entry', at: 1_010, seq: 1, ...placed, post: 5 },
  { kind: 'copy', at: 1_020, seq: 1, ...placed, post: 5, entry: 1 },
  {
    kind: 'surfaced',
    at: 1_030,
    ...bob,
    ...seen(),
    life: 1,
    asked: 900,
    limit: 1,
    source: 'durable',
    redelivered: false,
  },
  { kind: 'confirmed', at: 1_040, ...bob, ...seen(), how: 'confirmed' },
  { kind: 'drained', at: 20_000, entries: 0, copies: 0, owed: [] },
];
function seen() {
  return { channel: 'ops', seq: 5, from: 'local.alice', id: 'p' };
}
const without = (...kinds: HistoryRecord['kind'][]) => story.filter(({ kind }) => !kinds.includes(kind));
const charged = (history: readonly HistoryRecord[]) => judge(history).findings.map(({ charge }) => charge);

describe('the checker', () => {
  it('finds nothing in a run in which everything is as it should be', () => {
    expect(judge(story)).toMatchObject({ clean: true, posts: 1, surfaced: 1, duplicates: 0 });
  });

  it('convicts a post that never surfaced to a member', () => {
    expect(charged(without('surfaced', 'confirmed'))).toEqual(['lost']);
  });

  it('convicts a post that was acknowledged and is not there', () => {
    const posted = { kind: 'posted', at: 2_000, agent: 'alice', uid: 'a'.repeat(26), channel: 'ops', id: 'q' } as const;
    expect(charged([...story, { ...posted, seq: 6, duplicate: false, since: 1_999 }])).toEqual(['lost']);
  });

  it('convicts what surfaces or is handed off after the leave was answered', () => {
    const left: HistoryRecord[] = [
      { kind: 'leaving', at: 500, ...bob, channel: 'ops' },
      { kind: 'membership', at: 510, seq: 2, ...placed, state: 'left', joinCursor: 4, leaveCursor: 4 },
      { kind: 'left', at: 520, ...bob, channel: 'ops', dropped: 0 },
    ];
    const late = story.map((record) =>
      record.at >= 999 && record.at < 20_000 ? { ...record, at: record.at + 9_000 } : record,
    );
    expect(charged([...late, ...left])).toEqual(['unauthorized', 'unauthorized']);
  });

  it('convicts a hand-off to a lifecycle that was retired', () => {
    expect(charged([...story, { kind: 'tombstone', at: -9_000, seq: 1, member }])).toEqual(['unauthorized']);
  });

  it('convicts an effect of one daemon while another one has the lease', () => {
    const other: HistoryRecord = { kind: 'lease', at: 1_015, seq: 2, incarnation: 'd2', ready: true };
    const early = { ...other, at: 500 };
    expect(charged([...story, early])).toEqual(['double-serving', 'double-serving', 'double-serving']);
    expect(judge([...story, early]).late).toBe(0);
  });

  it('counts an effect as late, and convicts nobody, where a held line kept it back', () => {
    const held: HistoryRecord[] = [
      { kind: 'fault', at: 400, no: 1, verb: 'half-open', target: 'daemon.1' },
      { kind: 'fault-over', at: 1_005, no: 1 },
      { kind: 'lease', at: 500, seq: 7, incarnation: 'd2', ready: true },
      { kind: 'lease', at: 490, seq: 5, incarnation: '', ready: false },
    ];
    expect(judge([...story, ...held])).toMatchObject({ clean: true, late: 2 });
  });

  it('convicts nobody of effects between two rows of the lease of which some were not seen', () => {
    const early: HistoryRecord = { kind: 'lease', at: 500, seq: 2, incarnation: 'd2', ready: true };
    const back: HistoryRecord = { kind: 'lease', at: 1_200, seq: 3, incarnation: 'd1', ready: true };
    const findings = (history: readonly HistoryRecord[]) => JSON.stringify(judge(history).findings);
    expect(findings([...story, early, back])).toContain('was stored while d2 held the lease');
    expect(findings([...story, early, { ...back, seq: 5 }])).not.toContain('was stored while');
  });

  it('convicts a copy that was stored after the grant was narrowed, unless a held line kept it back, or a freeze what was to go out in that turn', () => {
    const grant = { ...bob, read: ['lobby'], turn: 1 };
    const narrowed: HistoryRecord[] = [
      { kind: 'granting', at: -9_001, ...grant },
      { kind: 'granted', at: -9_000, ...grant },
    ];
    const held: HistoryRecord[] = [
      { kind: 'fault', at: -9_500, no: 1, verb: 'half-open', target: 'daemon.1' },
      { kind: 'fault-over', at: 1_000, no: 1 },
    ];
    expect(charged([...story, ...narrowed])).toContain('unauthorized');
    expect(charged([...story, ...narrowed, ...held])).not.toContain('unauthorized');
    const freeze = held.map((record) => (record.kind === 'fault' ? { ...record, verb: 'freeze' as const } : record));
    expect(charged([...story, ...narrowed, ...freeze])).toContain('unauthorized');
    const inHand = story.map((record) => (record.kind === 'entry' ? { ...record, at: -9_600 } : record));
    expect(charged([...inHand, ...narrowed, ...freeze])).not.toContain('unauthorized');
    const thawed = freeze.map((record) => (record.kind === 'fault-over' ? { ...record, at: 700 } : record));
    expect(charged([...inHand, ...narrowed, ...thawed])).toContain('unauthorized');
  });

  it('convicts a repeat that has no reason, and names the reason of one that has', () => {
    const again = { kind: 'surfaced', at: 2_000, ...bob, ...seen(), life: 1, asked: 900, limit: 1 } as const;
    const repeat: HistoryRecord = { ...again, source: 'durable', redelivered: true };
    expect(charged([...story, repeat])).toEqual(['duplicate']);
    const live = { ...again, source: 'live' as const, redelivered: false };
    expect(charged([...story, live])).toEqual(['duplicate']);
    expect(judge([...story, { ...live, life: 2 }])).toMatchObject({ clean: true, reasons: { 'sent-again': 1 } });
    expect(judge([...without('confirmed'), repeat])).toMatchObject({ clean: true, reasons: { unconfirmed: 1 } });
  });

  it('allows a copy of what was sent again to a later process only where a server ended, which forgets ids', () => {
    const other = { kind: 'surfaced', ...bob, ...seen(), at: 2_000, seq: 9, life: 2, asked: 900, limit: 1 } as const;
    const again: HistoryRecord = { ...other, source: 'durable', redelivered: false };
    const restart: HistoryRecord = { kind: 'fault', at: 1_900, no: 1, verb: 'restart', target: 'broker.1' };
    expect(judge([...story, again]).charges.duplicate).toBe(1);
    expect(judge([...story, restart, again])).toMatchObject({
      charges: { duplicate: 0 },
      reasons: { 'sent-again': 1 },
    });
    expect(judge([...story, restart, { ...again, life: 1 }]).charges.duplicate).toBe(1);
  });

  it('convicts a refusal that nothing explains, and what is left at the end', () => {
    const refused = { kind: 'refused', at: 9_000, ...bob, op: 'join', channel: 'ops', code: 'rail.silent' } as const;
    expect(charged([...story, { ...refused, reason: 'nobody', since: 8_000 }])).toEqual(['unexplained']);
    expect(charged(story.map((each) => (each.kind === 'drained' ? { ...each, entries: 1 } : each)))).toEqual([
      'unsettled',
    ]);
  });
});

describe('a script', () => {
  const script = scriptOf({ seed: 11, minutes: 1, servers: 1, leaseTtlMs: 6_000 });

  it('is the same for the same seed, another for another one, and may be written down', () => {
    expect(scriptOf({ seed: 11, minutes: 1, servers: 1, leaseTtlMs: 6_000 })).toEqual(script);
    expect(scriptOf({ seed: 12, minutes: 1, servers: 1, leaseTtlMs: 6_000 }).steps).not.toEqual(script.steps);
    expect(scriptSchema.parse(JSON.parse(JSON.stringify(script)))).toEqual(script);
  });

  it('shrinks to the steps that a failure needs', async () => {
    const needed = (steps: typeof script.steps) =>
      steps.filter((step) => step.do === 'kill' || step.do === 'retire').length;
    const clean = judge(story);
    const failed = judge(without('surfaced', 'confirmed'));
    const all = needed(script.steps);
    const shortest = await shrink({
      script,
      charges: ['lost'],
      play: async ({ steps }) => (needed(steps) === all ? failed : clean),
      deadline: () => false,
      say: () => {},
    });
    expect(shortest.steps).toHaveLength(all);
    expect(shortest.found).toContain('never saw');
  });

  it('loses only idle time when it is tightened', () => {
    const steps = tightened([
      { at: 0, do: 'cut', target: 'agent0' },
      { at: 10_000, do: 'freeze', target: 'serving', forMs: 5_000 },
      { at: 14_000, do: 'cut', target: 'agent0' },
      { at: 30_000, do: 'cut', target: 'agent0' },
    ]);
    expect(steps.map(({ at }) => at)).toEqual([0, 1_500, 5_500, 8_000]);
  });
});
