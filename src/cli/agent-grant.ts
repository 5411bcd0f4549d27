/** `cotal agent grant`: what an agent may read and post to from now on. */
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { said } from './agent-add.ts';
import { askManager } from './ask-manager.ts';
import { patterns } from './flags.ts';
import { type Define, examples } from './frame.ts';
import { agentCredsPath, principalNamed } from './open-mesh.ts';

interface Options {
  readonly read?: readonly string[];
  readonly post?: readonly string[];
}

export const define: Define = (command, frame) => {
  command
    .argument('<name>', 'name of the agent, or its principal (owner.actor)')
    .option(
      '--read <patterns>',
      'channels it may subscribe to and read from now on, with commas; "" for none',
      patterns,
    )
    .option('--post <patterns>', 'channels it may post to from now on, with commas; "" for none', patterns)
    .action(
      frame.action<[name: string, options: Options]>(async (call, name, { read, post }) => {
        if (read === undefined && post === undefined) {
          throw new Plane3Error('cli.usage', { reason: '--read or --post is missing', command: 'cotal agent grant' });
        }
        const place = call.place();
        const principal = principalNamed(name);
        const granted = await askManager(place, 'grant', {
          principal,
          ...(read === undefined ? {} : { read: [...read] }),
          ...(post === undefined ? {} : { post: [...post] }),
        });
        const now = granted as { read: string[]; post: string[]; effect: string; reason: string };
        const words =
          now.effect === 'withdrawn'
            ? 'what is not covered any more was taken back'
            : `it takes effect on what is pending when the daemon is back (${now.reason})`;
        const creds = agentCredsPath(place, principal);
        call.out.answer(
          { name, creds, ...granted },
          `${call.out.paint('green', '✓')} ${call.out.paint('bold', principal)} reads ${said(now.read)}, posts to ${said(now.post)}; ${words}\n  credential: ${creds}`,
        );
        return 0;
      }),
    );
  examples(command, 'cotal agent grant alice --read team.general', 'cotal agent grant alice --post ""');
};
