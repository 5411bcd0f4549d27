/** `cotal hosted dev`: the real worker on local workerd, with D1 and the objects' SQLite in a folder. Needs a checkout. */
import { resolve } from 'node:path';
import { devHosted } from '../provider/server/dev.ts';
import type { ExitCode } from './failure.ts';
import { whole } from './flags.ts';
import { type Define, examples } from './frame.ts';

interface Flags {
  readonly port: number;
  readonly persistTo: string;
}

export const define: Define = (command, frame) => {
  command
    .option('--port <n>', 'port to listen on; 0 takes a free one, which is printed', whole('--port', 0, 65_535), 8787)
    .option('--persist-to <folder>', 'where the database and the objects are kept', '.wrangler-state')
    .action(
      frame.action(async (call, { port, persistTo }: Flags): Promise<ExitCode> => {
        const stopped = call.stopped();
        const server = await devHosted({
          port,
          persistTo: resolve(persistTo),
          env: process.env,
          say(line) {
            const url = /Ready on (http:\/\/\S+)/.exec(line)?.[1];
            if (url !== undefined)
              call.out.answer({ url, persistTo: resolve(persistTo) }, `✓ hosted: on workerd at ${url}`);
            else call.out.remark(`  ${line}`);
          },
        });
        stopped.addEventListener('abort', () => server.stop());
        if (stopped.aborted) server.stop();
        const code = await server.ended;
        return stopped.aborted || code === 0 ? 0 : 1;
      }),
    );
  examples(command, 'cotal hosted dev', 'cotal hosted dev --port 0 --persist-to ./state');
};
