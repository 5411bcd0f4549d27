/**
 * `npm run -s failover -- [--times 20] [--ttl 30000] [--json]`: kills the serving daemon again and again, with a standby beside
 * it, and measures how long nobody serves. Exit 1 where a post was lost or a takeover took more than one life of the lease and
 * two seconds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { failovers } from '../src/torture/failover.ts';

const { values } = parseArgs({
  options: {
    times: { type: 'string', default: '20' },
    ttl: { type: 'string', default: '30000' },
    json: { type: 'boolean', default: false },
  },
});
const whole = (name: string, text: string, least: number): number => {
  if (/^\d{1,7}$/.test(text) && Number(text) >= least) return Number(text);
  process.stderr.write(`failover: --${name} is "${text}", not a whole number of at least ${least}\n`);
  process.exit(64);
};
const times = whole('times', values.times, 1);
const leaseTtlMs = whole('ttl', values.ttl, 1_000);
const folder = mkdtempSync(join(tmpdir(), 'plane3-failover-'));
const say = (line: string) => void process.stderr.write(`${line}\n`);
const { takeoverMs, ...counts } = await failovers({ folder, times, leaseTtlMs, say });
const sorted = [...takeoverMs].sort((a, b) => a - b);
const worstMs = sorted.at(-1) ?? 0;
const figures = { times, leaseTtlMs, worstMs, medianMs: sorted[sorted.length >> 1] ?? 0, takeoverMs, ...counts };
process.stdout.write(`${JSON.stringify(figures, undefined, values.json ? undefined : 1)}\n`);
const good = counts.lost.length === 0 && worstMs <= leaseTtlMs + 2_000;
if (good) rmSync(folder, { recursive: true, force: true });
else say(`kept: ${folder}`);
process.exit(good ? 0 : 1);
