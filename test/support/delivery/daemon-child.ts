/** A daemon as a process of its own: daemon-child.ts <space> <root> <server> [standby]. */
import { createDaemon } from '../../../src/main.ts';
import { openJournal } from '../../../src/services/log.ts';

const [space = '', root = '', server = '', standby] = process.argv.slice(2);
const journal = openJournal({ process: 'delivery', level: 'info' });
const daemon = createDaemon({ space, root, server, journal, standby: standby === 'standby' });
daemon.actor.subscribe((state) => {
  if (state.hasTag('serving')) process.send?.({ serving: true });
});
process.on('message', (asked) => {
  if (asked === 'tally') process.send?.({ tally: daemon.tally.all() });
});
const { code } = await daemon.run();
process.exit(code);
