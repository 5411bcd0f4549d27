/** `cotal leave`: closes the generation that the registry has, and says what was dropped. */
import { parseChannel } from '../domain/names.ts';
import { asAgent, JoinedChannels } from './as-agent.ts';
import { type Define, examples } from './frame.ts';

export const define: Define = (command, frame) => {
  command
    .argument('<channel>', 'a concrete channel', parseChannel)
    .requiredOption('--as <name>', 'the agent that leaves')
    .action(
      frame.action<[channel: string, options: { as: string }]>(async (call, channel, { as }) => {
        const { out } = call;
        const { left, member } = await asAgent(call, as, async (agent, place) => {
          await new JoinedChannels(place, as).remove(channel);
          return { left: await out.waiting(`leaving ${channel}`, agent.leave(channel)), member: agent.principal };
        });
        const { channel: _channel, ...rest } = left;
        const dropped = left.dropped === 0 ? '' : `, ${left.dropped} posts that it was owed were dropped`;
        out.answer(
          { channel, member, ...rest },
          left.left
            ? `${out.paint('green', '✓')} ${out.paint('bold', member)} left ${channel}${dropped}`
            : `${out.paint('red', '✗')} ${out.paint('bold', member)} is not subscribed to ${channel} any more, but its leave is not confirmed: ${left.reason}\n  What the registry has of it is as it was. Run the same command again when a daemon serves.`,
        );
        return left.left ? 0 : 1;
      }),
    );
  examples(command, 'cotal leave team.general --as alice');
};
