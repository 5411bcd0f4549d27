/** `cotal hosted serve`: the provider plane in this process, over one SQLite file, for those without Cloudflare. */
import { serveHosted } from '../provider/server/serve.ts';
import type { ExitCode } from './failure.ts';
import { whole } from './flags.ts';
import { type Define, examples } from './frame.ts';
import { journalOf } from './journal.ts';

interface Flags {
  readonly db: string;
  readonly host: string;
  readonly port: number;
}

export const define: Define = (command, frame) => {
  command
    .requiredOption('--db <file>', 'database file; made where there is none')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <n>', 'port to listen on; 0 takes a free one', whole('--port', 0, 65_535), 8787)
    .action(
      frame.action(async (call, { db, host, port }: Flags): Promise<ExitCode> => {
        const stopped = call.stopped();
        const server = await serveHosted({ db, host, port, env: process.env, journal: journalOf('hosted') });
        call.out.answer({ url: server.url, db }, `  sockets of nodes at ${server.url}/v1/node/ws; Ctrl-C stops it`);
        await new Promise<void>((resolve) => {
          stopped.addEventListener('abort', () => resolve());
          if (stopped.aborted) resolve();
        });
        await server.stop();
        return 0;
      }),
    );
  examples(
    command,
    'cotal hosted serve --db ./hosted.db',
    'HOSTED_REAP_MS=60000 cotal hosted serve --db ./hosted.db --port 0',
  );
};
