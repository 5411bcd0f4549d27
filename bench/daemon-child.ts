/** A delivery daemon as a process of its own, for measuring: node bench/daemon-child.ts <space> <root> <server> [inspect]. */
import { watchProcess } from '../src/inspector/watch.ts';
import { createDaemon } from '../src/main.ts';
import { openJournal } from '../src/services/log.ts';

const [space = '', root = '', server = '', inspected] = process.argv.slice(2);
const journal = openJournal({ process: 'delivery', level: 'warn' });
const watch = watchProcess({
  root,
  what: 'delivery',
  space,
  journal,
  inspect: inspected === 'inspect' ? 0 : undefined,
});
const daemon = createDaemon({
  ...{ space, root, server, journal },
  ...(watch === undefined ? {} : { inspect: watch.inspect }),
});
daemon.actor.subscribe((state) => {
  if (state.hasTag('serving')) process.send?.({ serving: true, rss: process.memoryUsage().rss });
});
process.on('message', (asked) => {
  if (asked === 'rss') process.send?.({ rss: process.memoryUsage().rss, cpuMs: cpuMs(), tally: daemon.tally.all() });
});
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
// Whoever measured is gone: nobody is left to say anything to.
process.on('disconnect', () => process.exit(1));
const { code } = await daemon.run();
process.exit(code);
