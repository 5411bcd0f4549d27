/** A daemon as a process of its own: daemon-child.ts <space> <root> <server>. */
import { createDaemon } from '../../../src/main.ts';
import { openJournal } from '../../../src/services/log.ts';

const [space = '', root = '', server = ''] = process.argv.slice(2);
const daemon = createDaemon({ space, root, server, journal: openJournal({ process: 'delivery', level: 'info' }) });
daemon.actor.subscribe((state) => {
  if (state.hasTag('serving')) process.send?.({ serving: true });
});
process.on('message', (asked) => {
  if (asked === 'tally') process.send?.({ tally: daemon.tally.all() });
});
const { code } = await daemon.run();
process.exit(code);
