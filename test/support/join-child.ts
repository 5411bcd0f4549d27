/** Writes down channels as joined: join-child.ts <root> <space> <agent> <head> <count>. Begins when it is told to. */
import { JoinedChannels } from '../../src/cli/as-agent.ts';

const [root = '', space = '', name = '', head = '', count = '0'] = process.argv.slice(2);
const joined = new JoinedChannels({ root, space }, name);
process.once('message', async () => {
  for (let n = 0; n < Number(count); n++) await joined.add(`${head}.${n}`);
  process.disconnect();
});
process.send?.('ready');
