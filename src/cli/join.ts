/** `cotal join`: live by the broker's word, durable by the registry's, and never said to be what it is not. */
import type { Standing } from '../client/client.ts';
import { parseChannel } from '../domain/names.ts';
import { asAgent, JoinedChannels } from './as-agent.ts';
import { type Define, examples } from './frame.ts';
import type { Output } from './output.ts';

export const define: Define = (command, frame) => {
  command
    .argument('<channel>', 'a concrete channel', parseChannel)
    .requiredOption('--as <name>', 'the agent that joins')
    .action(
      frame.action<[channel: string, options: { as: string }]>(async (call, channel, { as }) => {
        const { standing, member, open } = await asAgent(call, as, async (agent, place) => {
          const standing = await call.out.waiting(`joining ${channel}`, agent.join(channel));
          await new JoinedChannels(place, as).add(channel);
          return { standing, member: agent.principal, open: agent.open };
        });
        const { channel: _channel, ...rest } = standing;
        call.out.answer({ channel, member, ...rest }, textOf(call.out, member, standing, open));
        return 0;
      }),
    );
  examples(command, 'cotal join team.general --as alice');
};

const HINT =
  '\n  Posts reach it only while it is subscribed; "cotal inbox --follow" establishes the backstop when it can be.';

/** What is told to a person. */
export function textOf(out: Output, member: string, standing: Standing, open: boolean): string {
  const { channel, state, generation, reason, shortfall } = standing;
  const who = `${out.paint('bold', member)} joined ${channel}`;
  if (state === 'joining') {
    const first = out.paint('yellow', '!');
    return `${first} ${out.paint('bold', member)} is not subscribed to ${channel} at the moment: ${reason}${HINT}`;
  }
  if (state !== 'durable') {
    const hint = open ? '' : HINT;
    return `${out.paint('yellow', '!')} ${who} live, durable backstop unestablished: ${reason}${hint}`;
  }
  const short = shortfall === undefined ? '' : `; ${shortfall.count} posts were not copied, its quota was full`;
  return `${out.paint('green', '✓')} ${who} durable (generation ${generation})${short}`;
}
