/**
 * Curves: what a copy costs by members, what spaces on one broker do together, and what a backlog costs a daemon that starts
 * over it and then goes on. Relaxed durability, so that nothing waits for the disk and a cost that grows is seen.
 */
import type { Bench } from './bench.ts';
import { backlogCurve } from './scale/backlog.ts';
import { membersCurve } from './scale/members.ts';
import { spacesCurve } from './scale/spaces.ts';

const PARTS = ['members', 'spaces', 'backlog'] as const;

export const bench: Bench = {
  parts: PARTS,
  async run({ quick, parts, say, at }) {
    const wanted = PARTS.filter((part) => parts.length === 0 || parts.includes(part));
    const figures: Record<string, unknown> = {};
    for (const [i, part] of wanted.entries()) {
      const shared = { say, at: (done: number) => at((i + done) / wanted.length) };
      if (part === 'members') {
        const members = quick ? [10, 100] : [10, 30, 100, 300, 1_000, 3_000, 10_000];
        figures.members = spread('members', await membersCurve({ members, copies: quick ? 2_000 : 20_000, ...shared }));
      } else if (part === 'spaces') {
        const spaces = quick ? [1, 3] : [1, 2, 5, 10, 20];
        figures.spaces = await spacesCurve({ spaces, members: 20, copies: quick ? 1_200 : 20_000, ...shared });
      } else {
        const pending = quick ? [0, 2_000] : [0, 10_000, 100_000, 300_000, 1_000_000];
        const sizes = quick ? { members: 20, posts: 20 } : { members: 1_000, posts: 20 };
        figures.backlog = spread('pending', await backlogCurve({ pending, ...sizes, ...shared }));
      }
    }
    return figures;
  },
};

/** The curve, and what a copy costs at its dearest against its cheapest. */
function spread<T extends { daemonUs: number; copiesPerSecond: number }>(by: string, curve: readonly T[]) {
  const of = (figure: 'daemonUs' | 'copiesPerSecond') => curve.map((point) => point[figure]);
  const ratio = (values: readonly number[]) => Number((Math.max(...values) / Math.min(...values)).toFixed(2));
  return { by, spreadDaemonUs: ratio(of('daemonUs')), spreadCopiesPerSecond: ratio(of('copiesPerSecond')), curve };
}
