/** A delivery daemon as a process of its own, for measuring: node bench/daemon-child.ts <space> <root> <server>. */
import { createDaemon } from '../src/main.ts';
import { openJournal } from '../src/services/log.ts';

const [space = '', root = '', server = ''] = process.argv.slice(2);
const daemon = createDaemon({ space, root, server, journal: openJournal({ process: 'delivery', level: 'warn' }) });
daemon.actor.subscribe((state) => {
  if (state.hasTag('serving')) process.send?.({ serving: true, rss: process.memoryUsage().rss });
});
process.on('message', (asked) => {
  if (asked === 'rss') process.send?.({ rss: process.memoryUsage().rss, tally: daemon.tally.all() });
});
const { code } = await daemon.run();
process.exit(code);
