/** `cotal channel history`: the newest posts of a channel, as far as the agent may read it. */
import { parseChannel } from '../domain/names.ts';
import { HISTORY_MAX } from '../domain/rail.ts';
import { asAgent } from './as-agent.ts';
import { whole } from './flags.ts';
import { type Define, examples } from './frame.ts';
import { lineOf, textOf } from './message-text.ts';

interface Options {
  readonly as: string;
  readonly limit?: number;
}

export const define: Define = (command, frame) => {
  command
    .argument('<channel>', 'a concrete channel', parseChannel)
    .requiredOption('--as <name>', 'the agent that reads')
    .option('--limit <n>', `at most so many, up to ${HISTORY_MAX} (default: 100)`, whole('--limit', 1, HISTORY_MAX))
    .action(
      frame.action<[channel: string, options: Options]>(async (call, channel, { as, limit }) => {
        const { out } = call;
        const read = await asAgent(call, as, (agent) => agent.history(channel, limit === undefined ? {} : { limit }));
        for (const { seq, msg } of read.items) {
          const post = { message: msg, channel, seq, durable: false };
          out.answer(lineOf(post), textOf(out, { ...post, durable: true }));
        }
        for (const { seq, bytes } of read.omitted ?? []) {
          out.remark(`! post ${seq} is ${bytes} bytes, more than one reply carries; it was left out`);
        }
        if (!read.complete) out.remark('! older posts did not fit the reply; ask for fewer with --limit');
        if (read.items.length === 0) out.text('no posts');
        return 0;
      }),
    );
  examples(command, 'cotal channel history team.general --as alice --limit 20');
};
