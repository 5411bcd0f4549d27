/** `cotal post`: publishes, and says how far the post is taken care of. */
import type { DeliveryTier } from '../client/client.ts';
import { parseChannel } from '../domain/names.ts';
import { asAgent } from './as-agent.ts';
import { list } from './flags.ts';
import { type Define, examples } from './frame.ts';

interface Options {
  readonly as: string;
  readonly mention?: readonly string[];
  readonly id?: string;
}

export const define: Define = (command, frame) => {
  command
    .argument('<channel>', 'a concrete channel', parseChannel)
    .argument('<text>', 'what is posted')
    .requiredOption('--as <name>', 'the agent that posts')
    .option('--mention <names>', 'agents that are mentioned, with commas', list)
    .option('--id <id>', 'id of the post; sent again with the same one it is the same post (default: a random one)')
    .action(
      frame.action<[channel: string, text: string, options: Options]>(async (call, channel, text, options) => {
        const { as, mention: mentions = [], id } = options;
        const { out } = call;
        const posted = await asAgent(call, as, (agent) =>
          agent.post({ channel, text, mentions, ...(id === undefined ? {} : { id }) }),
        );
        const again = posted.duplicate ? ' (it was there already)' : '';
        const what = posted.seq === null ? 'post' : `post ${posted.seq}`;
        const meaning =
          posted.seq === null ? 'sent to who is subscribed now; an open mesh stores nothing' : MEANING[posted.delivery];
        out.answer({ channel, ...posted }, `${out.paint('green', '✓')} ${what} on ${channel}${again}: ${meaning}`);
        return 0;
      }),
    );
  examples(
    command,
    'cotal post team.general "the build is green" --as alice',
    'cotal post team.general "look at this" --as alice --mention bob,carol --id build-17',
  );
};

/** In words: stored is one thing, copied another, and surfaced a third that is not known here. */
const MEANING: Readonly<Record<DeliveryTier, string>> = {
  durable: 'stored, and owed to every durable member until it confirms',
  queued: 'stored; no delivery daemon is ready, members get their copies when one is',
  live: 'stored as history; it reaches who is subscribed now, and on a live channel who is mentioned',
  unknown: 'stored; whether a daemon copies it is not known',
};
