/** `cotal agent add`: a lifecycle, its rights, its delivery durable, and the credential that the agent presents. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseToken } from '../domain/names.ts';
import { SECRET_FOLDER } from '../services/local/files.ts';
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
    .argument('<name>', 'name of the agent, unique without regard to case', parseToken)
    .option('--read <patterns>', 'channels it may subscribe to and read, with commas', patterns)
    .option('--post <patterns>', 'channels it may post to, with commas', patterns)
    .action(
      frame.action<[name: string, options: Options]>(async (call, name, { read = [], post = [] }) => {
        const place = call.place();
        const principal = principalNamed(name);
        const path = agentCredsPath(place, principal);
        // A folder that cannot be made is said before anything is written on the mesh.
        mkdirSync(dirname(path), { recursive: true, mode: SECRET_FOLDER });
        const { lifecycleUid } = await askManager(place, 'provision', { name, read: [...read], post: [...post] });
        call.out.answer(
          { name, principal, lifecycleUid, read, post, creds: path },
          `${call.out.paint('green', '✓')} ${call.out.paint('bold', principal)} reads ${said(read)}, posts to ${said(post)}\n  credential: ${path}`,
        );
        return 0;
      }),
    );
  examples(
    command,
    'cotal agent add alice --read "team.>" --post "team.>"',
    'cotal agent add watcher --read team.general',
  );
};

export const said = (patterns: readonly string[]): string => (patterns.length === 0 ? 'nothing' : patterns.join(', '));
