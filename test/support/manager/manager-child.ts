/**
 * A manager as a process of its own: manager-child.ts <root> <space> <url>. With `KILL_AT_RECORD=n` it ends by SIGKILL when the
 * store has the n-th record of its eviction, before anything else is done.
 */
import { cursorSchema } from '../../../src/domain/eviction.ts';
import { ManagerRows } from '../../../src/manager/auth-rows.ts';
import { openManager } from '../../../src/manager/process.ts';
import { openJournal } from '../../../src/services/log.ts';

const [root = '', space = '', url = ''] = process.argv.slice(2);
const killAt = Number(process.env.KILL_AT_RECORD ?? 0);
let records = 0;
const { write } = ManagerRows.prototype;
ManagerRows.prototype.write = async function (of) {
  const written = await write.call(this, of);
  const cursor = of.key.startsWith('eprepair.') ? cursorSchema.parse(of.value) : undefined;
  if (cursor !== undefined && cursor.count > 0 && ++records === killAt) {
    process.kill(process.pid, 'SIGKILL');
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  }
  return written;
};

const manager = await openManager({ root, space, url, journal: openJournal({ process: 'manager', level: 'info' }) });
manager.actor.subscribe((state) => {
  if (state.hasTag('serving')) process.send?.('serving');
});
process.once('SIGTERM', () => manager.stop('SIGTERM'));
const { code } = await manager.run();
process.exit(code);
