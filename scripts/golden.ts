/**
 * Records the histories of test/golden anew, with today's machines: `npm run golden`. Their tests then hold the machines of
 * tomorrow to them. Do it when a machine is meant to act otherwise, and read the difference in the commit.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { histories, recordHistory } from '../test/support/delivery/histories.ts';
import { startMesh } from '../test/support/mesh.ts';

const folder = fileURLToPath(new URL('../test/golden', import.meta.url));
for (const name of Object.keys(histories)) {
  rmSync(join(folder, `${name}.jsonl`), { force: true });
  const mesh = await startMesh();
  process.env.COTAL_HOME = mesh.root;
  try {
    process.stdout.write(`${await recordHistory({ mesh, name, folder })}\n`);
  } finally {
    await mesh.dispose();
  }
}
process.exit(0);
