/** `cotal hosted workspace add NAME`: makes a workspace; its key is shown here and nowhere else. */
import { resolve } from 'node:path';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { addDevWorkspace } from '../provider/server/dev.ts';
import { addHostedWorkspace } from '../provider/server/serve.ts';
import type { ExitCode } from './failure.ts';
import { type Define, examples } from './frame.ts';

interface Flags {
  readonly db?: string;
  readonly persistTo?: string;
}

export const define: Define = (command, frame) => {
  command
    .argument('<name>', 'name of the workspace')
    .option('--db <file>', 'database file of "cotal hosted serve"')
    .option('--persist-to <folder>', 'folder of "cotal hosted dev"')
    .action(
      frame.action<[name: string, flags: Flags]>(async (call, name, { db, persistTo }): Promise<ExitCode> => {
        if ((db === undefined) === (persistTo === undefined)) throw new Plane3Error('hosted.which', {});
        const made =
          db === undefined
            ? await addDevWorkspace({
                persistTo: resolve(persistTo ?? ''),
                name,
                say: (line) => call.out.remark(`  ${line}`),
              })
            : await addHostedWorkspace({ db, name });
        call.out.answer(
          { name, ...made },
          `✓ workspace ${name} ${made.id}\n  key  ${made.key}\n  It is kept nowhere else: only its hash is stored.`,
        );
        return 0;
      }),
    );
  examples(
    command,
    'cotal hosted workspace add acme --db ./hosted.db',
    'cotal hosted workspace add acme --persist-to .wrangler-state',
  );
};
