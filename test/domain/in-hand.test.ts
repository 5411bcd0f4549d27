import { describe, expect, it } from 'vitest';
import { IN_HAND_MAX, InHand } from '../../src/services/delivery/in-hand.ts';
import { Tally } from '../../src/services/tally.ts';

const RAIL = 'delivery';

describe('requests in hand', () => {
  it('of one sender that is never answered are taken on up to the limit, and counted above it; another sender is served', async () => {
    const tally = new Tally();
    const inHand = new InHand({ tally });
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const ask = (principal: string) =>
      inHand.take({ rail: RAIL, principal }, () => {
        begun.push(principal);
        return new Promise<void>((end) => ends.push(end));
      });
    const asked = Array.from({ length: IN_HAND_MAX }, () => ask('local.eve'));
    await ask('local.eve');
    expect(begun).toHaveLength(IN_HAND_MAX);
    expect(tally.get('requests.not-taken', RAIL)).toBe(1);
    asked.push(ask('local.bob'));
    expect(begun.at(-1)).toBe('local.bob');
    ends[0]?.();
    await asked[0];
    asked.push(ask('local.eve'));
    expect(begun).toHaveLength(IN_HAND_MAX + 2);
    for (const end of ends) end();
    await Promise.all(asked);
  });

  it('are given back also when the work fails', async () => {
    const tally = new Tally();
    const inHand = new InHand({ tally });
    const from = { rail: RAIL, principal: 'local.eve' } as const;
    for (let n = 0; n < IN_HAND_MAX; n++) {
      await expect(inHand.take(from, () => Promise.reject(new Error('a fault')))).rejects.toThrow('a fault');
    }
    let served = 0;
    await inHand.take(from, async () => void served++);
    expect({ served, notTaken: tally.get('requests.not-taken', RAIL) }).toEqual({ served: 1, notTaken: 0 });
  });
});
