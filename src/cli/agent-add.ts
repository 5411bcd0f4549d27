/** `cotal agent add`: a lifecycle, its rights, its delivery durable, and the credential that the agent presents. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseToken } from '../domain/names.ts';
import { addAgent } from '../manager/lifecycle.ts';
import { SECRET_FOLDER } from '../services/local/files.ts';
import { keepCreds } from '../services/local/mint.ts';
import { patterns } from './flags.ts';
import { type Define, examples } from './frame.ts';
import { agentCredsPath, CLI_PRINCIPAL, principalNamed, withRights } from './open-mesh.ts';

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
        const path = agentCredsPath(place, principalNamed(name));
        const added = await withRights(place, 'manager', ({ connection, keys }) => {
          // A folder that cannot be made is said before anything is written on the mesh.
          mkdirSync(dirname(path), { recursive: true, mode: SECRET_FOLDER });
          const by = { managerInstance: CLI_PRINCIPAL, processEpoch: 0 };
          return addAgent({ connection, keys, name, read, post, by });
        });
        keepCreds(path, added.credential);
        const { principal, member } = added;
        call.out.answer(
          { name, principal, lifecycleUid: member.uid, read, post, creds: path },
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

const said = (patterns: readonly string[]): string => (patterns.length === 0 ? 'nothing' : patterns.join(', '));
