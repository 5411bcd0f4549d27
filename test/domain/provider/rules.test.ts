import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitrate } from '../../../src/domain/provider/arbitration.ts';
import { judgeCapabilities } from '../../../src/domain/provider/capabilities.ts';
import { judgeAck, settled } from '../../../src/domain/provider/cursors.ts';
import {
  certified,
  type Delivery,
  marked,
  notReady,
  offered,
  passedEmpty,
  wrote,
} from '../../../src/domain/provider/delivery.ts';
import { limitVariables, parseLimits } from '../../../src/domain/provider/limits.ts';
import { isProjectionDue, isStale } from '../../../src/domain/provider/liveness.ts';
import { declarationFault, keepsReadiness, modeOf, providerOf } from '../../../src/domain/provider/readiness.ts';
import { conflictFrame } from '../../../src/domain/provider/server-frames.ts';

const limits = parseLimits({});

describe('arbitration', () => {
  const contest = (age: number, instance = 'i2') =>
    arbitrate({
      incumbent: { connection: 'c1', instance: 'i1', lastSeen: 100_000 - age },
      challenger: { connection: 'c2', instance },
      now: 100_000,
      limits,
    });

  it('refuses another instance one millisecond before the bound and accepts it at the bound', () => {
    expect(contest(34_999)).toEqual({ outcome: 'conflict', retryAfterMs: 250 });
    expect(contest(35_000)).toEqual({ outcome: 'accepted', supersedes: 'c1' });
  });

  it('lets the same instance take over from itself at any age', () => {
    expect(contest(0, 'i1')).toEqual({ outcome: 'accepted', supersedes: 'c1' });
  });

  it('gives guidance from 250 to 35,000 ms, also when a clock jumped', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e12, max: 34_999 }), (age) => {
        const verdict = contest(age);
        return verdict.outcome === 'conflict' && verdict.retryAfterMs >= 250 && verdict.retryAfterMs <= 35_000;
      }),
    );
  });

  it('tells a peer of the field about the guidance inside the message only', () => {
    expect(Object.keys(conflictFrame('x', 300, false)).sort()).toEqual(['code', 'id', 'message', 'ok', 'type', 'v']);
    expect(conflictFrame('x', 300, false).message).toMatch(/ \(retry_after_ms=300\)$/);
    expect(conflictFrame('x', 300, true)).toMatchObject({ retry_after_ms: 300 });
  });
});

describe('limits', () => {
  it('refuses an attach bound that is not below the reap bound', () => {
    expect(() => parseLimits({ HOSTED_ATTACH_MS: '45000' })).toThrow('not below HOSTED_REAP_MS of 45000');
  });

  it.each(['0', '-1', '1.5', 'x', '1e12'])('refuses %j for every variable, by its name', (input) => {
    for (const variable of limitVariables)
      expect(() => parseLimits({ [variable]: input })).toThrow(`${variable} is "${input}"`);
  });
});

describe('a connection', () => {
  it('is stale from the attach bound on, and not before', () => {
    expect(isStale(1_000, 1_000 + limits.attachMs - 1, limits)).toBe(false);
    expect(isStale(1_000, 1_000 + limits.attachMs, limits)).toBe(true);
  });
});

describe('readiness', () => {
  const provider = { name: 'broker', instance_id: 'i1' };
  const cursor = { name: 'relay:delivery-cursor-v1' };

  it('binds default explicitly, with the connection as instance, for a register without provider', () => {
    expect(providerOf({}, 'c9')).toEqual({ name: 'default', instance: 'c9' });
    expect(modeOf({ capabilities: [cursor] })).toBe('immediate');
  });

  it('is agent-scoped only with a provider and the cursor capability', () => {
    expect(modeOf({ provider, capabilities: [cursor] })).toBe('agent_scoped');
    expect(modeOf({ provider, capabilities: [] })).toBe('immediate');
  });

  it('keeps the ready set for the same name, instance and mode only', () => {
    const as = (name: string, instance: string, mode: 'immediate' | 'agent_scoped' | 'unknown' = 'agent_scoped') => ({
      provider: { name, instance },
      mode,
    });
    expect(keepsReadiness(as('b', 'i'), as('b', 'i'))).toBe(true);
    expect(keepsReadiness(as('b', 'i'), as('b', 'j'))).toBe(false);
    expect(keepsReadiness(as('b', 'i'), as('c', 'i'))).toBe(false);
    expect(keepsReadiness(as('b', 'i', 'unknown'), as('b', 'i'))).toBe(false);
    expect(keepsReadiness(undefined, as('b', 'i'))).toBe(false);
  });

  it('names what is wrong with a declared identity and never adopts a default row', () => {
    const agent = { id: 'a', name: 'Ann', node: 'n', provider: 'broker', released: false, bound: true };
    const fault = (changed: object | undefined) =>
      declarationFault({ agent_id: 'a', name: 'Ann' }, changed === undefined ? undefined : { ...agent, ...changed }, {
        node: 'n',
        provider: 'broker',
      });
    expect(fault({})).toBeUndefined();
    expect(fault(undefined)).toBe('agent_not_found');
    expect(fault({ released: true })).toBe('agent_not_found');
    expect(fault({ name: 'Bob' })).toBe('agent_identity_mismatch');
    expect(fault({ node: 'm' })).toBe('agent_location_conflict');
    expect(fault({ node: null })).toBe('agent_location_conflict');
    expect(fault({ provider: 'default' })).toBe('agent_provider_conflict');
    expect(fault({ bound: false })).toBe('agent_location_conflict');
  });
});

describe('delivery state', () => {
  it('goes Live only on an empty pass with nothing come up meanwhile', () => {
    const replaying = certified(notReady, { cursor: 4, skipped: 0 });
    expect(replaying).toMatchObject({ phase: 'Replaying', base: 4, sent: 4 });
    expect(offered(replaying, 5)).toBe('replaying');
    const again = passedEmpty(marked(replaying));
    expect(again.phase).toBe('Replaying');
    expect(passedEmpty(again).phase).toBe('Live');
  });

  it('writes the next row, drains before a higher one, and never claims what it did not write', () => {
    const live: Delivery = { phase: 'Live', base: 4, sent: 6, dirty: false };
    expect(offered(live, 7)).toBe('write');
    expect(offered(live, 9)).toBe('drain');
    expect(offered(live, 6)).toBe('written');
    expect(offered(live, 4)).toBe('behind');
    expect(offered(marked(live), 7)).toBe('drain');
    expect(offered(notReady, 1)).toBe('not_ready');
    expect(wrote(live, 5).sent).toBe(6);
  });

  it('replays again only when the cursor skipped rows that were never sent', () => {
    const live: Delivery = { phase: 'Live', base: 0, sent: 6, dirty: false };
    expect(certified(live, { cursor: 3, skipped: 0 })).toMatchObject({ phase: 'Live', sent: 6, dirty: true });
    expect(certified(live, { cursor: 3, skipped: 1 })).toMatchObject({ phase: 'Replaying', sent: 3 });
  });
});

describe('cursors', () => {
  it('passes over the terminal prefix and stops below the lowest active row', () => {
    expect(settled({ cursor: 3, lowestActive: 4, highWater: 9 })).toEqual({ cursor: 3, skipped: 0 });
    expect(settled({ cursor: 3, lowestActive: 7, highWater: 9 })).toEqual({ cursor: 6, skipped: 3 });
    expect(settled({ cursor: 3, lowestActive: undefined, highWater: 9 })).toEqual({ cursor: 9, skipped: 6 });
  });

  it('never moves back', () => {
    fc.assert(
      fc.property(
        fc.nat(100),
        fc.option(fc.nat(100), { nil: undefined }),
        fc.nat(100),
        (cursor, lowestActive, high) => {
          const next = settled({ cursor, lowestActive, highWater: high });
          return next.cursor >= cursor && next.skipped === next.cursor - cursor;
        },
      ),
    );
  });

  it('drops an ack above the highest delivered row whole', () => {
    expect(judgeAck({ cursor: 3, upTo: 3, highest: 9 })).toBe('repeat');
    expect(judgeAck({ cursor: 3, upTo: 9, highest: 9 })).toBe('forward');
    expect(judgeAck({ cursor: 3, upTo: 10, highest: 9 })).toBe('beyond');
  });
});

describe('liveness', () => {
  it('writes no heartbeat that says nothing new', () => {
    const last = { at: 10_000, load: 1, handlers: 2, active: 3 };
    expect(isProjectionDue(last, { ...last, at: 29_999, active: 4 }, limits)).toBe(false);
    expect(isProjectionDue(last, { ...last, at: 30_000 }, limits)).toBe(true);
    expect(isProjectionDue(last, { ...last, at: 10_001, load: null }, limits)).toBe(true);
    expect(isProjectionDue(last, { ...last, at: 9_000 }, limits)).toBe(true);
    expect(isProjectionDue(null, last, limits)).toBe(true);
  });
});

describe('capabilities', () => {
  it('answers every advertised one, in order, and gives an action to one provider only', () => {
    const advertised = ['relay:delivery-cursor-v1', 'relay:made-up', 'spawn:claude', 'release', 'spawn:claude', 'own'];
    const { accepted, actions } = judgeCapabilities(
      advertised.map((name) => ({ name })),
      { taken: new Set(['own']), named: true },
    );
    expect(accepted.map((each) => [each.name, each.accepted, each.reason])).toEqual([
      ['relay:delivery-cursor-v1', true, undefined],
      ['relay:made-up', false, 'unknown_capability'],
      ['spawn:claude', true, undefined],
      ['release', true, undefined],
      ['spawn:claude', false, 'action_name_conflict'],
      ['own', false, 'action_name_conflict'],
    ]);
    expect(actions.map((each) => each.name)).toEqual(['spawn:claude', 'release']);
  });
});
