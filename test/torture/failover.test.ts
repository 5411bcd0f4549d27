import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { failovers } from '../../src/torture/failover.ts';

it('a standby serves after the serving daemon was killed by SIGKILL, and no post is lost (npm run failover measures it)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plane3-failover-'));
  const { takeoverMs, posts, lost } = await failovers({ folder, times: 1, leaseTtlMs: 4_000 });
  expect(takeoverMs).toHaveLength(1);
  expect(posts).toBeGreaterThan(0);
  expect(lost).toEqual([]);
  rmSync(folder, { recursive: true, force: true });
});
