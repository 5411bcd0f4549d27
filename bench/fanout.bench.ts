/**
 * The delivery plane's figures (issue "a post reaches a member that was away"): what the writer does against the same
 * copies published one by one and in raw atomic batches, end to end against raw consume and acknowledge, latency, cost a
 * copy by members, start and restart. Both durabilities, one machine, one run.
 */

import type { Bench } from './bench.ts';
import { measureCostPerCopy, measureFanout } from './fanout/copies.ts';
import { measureEndToEnd } from './fanout/end-to-end.ts';
import { measureLatency } from './fanout/latency.ts';
import { measureSmallWrites } from './fanout/small-writes.ts';
import { measureStarts } from './fanout/starts.ts';

export const bench: Bench = {
  async run({ quick, say }) {
    const sizes = quick
      ? { posts: 4, members: 1000, reading: 20, readPosts: 5 }
      : { posts: 20, members: 1000, reading: 100, readPosts: 200 };
    const strict = {
      fanout: await measureFanout({ durability: 'strict', ...sizes, say }),
      endToEnd: await measureEndToEnd({ durability: 'strict', ...sizes, say }),
    };
    const relaxed = {
      fanout: await measureFanout({ durability: 'relaxed', ...sizes, say }),
      endToEnd: await measureEndToEnd({ durability: 'relaxed', ...sizes, say }),
    };
    const latency = await measureLatency({ seconds: quick ? 2 : 20, say });
    const counts = quick ? [2, 10] : [2, 4, 10, 30, 100];
    const smallWrites = {
      strict: await measureSmallWrites({ durability: 'strict', counts, say }),
      relaxed: await measureSmallWrites({ durability: 'relaxed', counts, say }),
    };
    const cost = await measureCostPerCopy({
      members: quick ? [10, 100] : [10, 100, 1000, 5000],
      copies: quick ? 2_000 : 20_000,
      say,
    });
    const starts = await measureStarts({ members: quick ? 20 : 1000, entries: quick ? 20 : 100, say });
    return {
      ratioToPipelined: strict.fanout.ratioToPipelined,
      ratioToAtomic: strict.fanout.ratioToAtomic,
      ratioEndToEnd: strict.endToEnd.ratioEndToEnd,
      copiesPerSecond: strict.fanout.copiesPerSecond,
      endToEndPerSecond: strict.endToEnd.endToEndPerSecond,
      p50Ms: latency.p50Ms,
      p99Ms: latency.p99Ms,
      strict,
      relaxed,
      latency,
      smallWrites,
      costPerCopyMs: cost,
      starts,
    };
  },
};
