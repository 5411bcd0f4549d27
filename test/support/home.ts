/**
 * Around every run of tests: a home of its own, so that no test meets the meshes that this user runs on this machine. A
 * nats-server that was fetched into the user's home is used from there.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

export default function ownHome(): () => void {
  const before = process.env.COTAL_HOME;
  const fetched = join(before || join(homedir(), '.cotal'), 'bin');
  const home = mkdtempSync(join(tmpdir(), 'plane3-home-'));
  mkdirSync(fetched, { recursive: true });
  symlinkSync(fetched, join(home, 'bin'));
  process.env.COTAL_HOME = home;
  return () => {
    if (before === undefined) delete process.env.COTAL_HOME;
    else process.env.COTAL_HOME = before;
    rmSync(home, { recursive: true, force: true });
  };
}
