/** `cotal hosted serve`: the provider plane in this process, over one SQLite file, for those without Cloudflare. */
import type { Watch } from '../inspector/watch.ts';
import { serveHosted } from '../provider/server/serve.ts';
import type { ExitCode } from './failure.ts';
import { whole } from './flags.ts';
import { type Define, examples } from './frame.ts';
import { journalOf } from './journal.ts';
import { inspectFlag, inspectPort, watched } from './watching.ts';

interface Flags {
  readonly db: string;
  readonly host: string;
  readonly port: number;
  readonly inspect?: string | true;
}

export const define: Define = (command, frame) => {
  command
    .requiredOption('--db <file>', 'database file; made where there is none')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <n>', 'port to listen on; 0 takes a free one', whole('--port', 0, 65_535), 8787)
    .option(inspectFlag, 'open the inspector on a loopback port, a free one unless told; needs a workspace')
    .action(
      frame.action(async (call, { db, host, port, inspect: asked }: Flags): Promise<ExitCode> => {
        const stopped = call.stopped();
        const journal = journalOf('hosted');
        const inspect = inspectPort(asked);
        const place = inspect === undefined ? undefined : call.place();
        let watch: Watch | undefined;
        const server = await serveHosted({
          db,
          host,
          port,
          env: process.env,
          journal,
          look: (step) => watch?.hand(step),
        });
        // Only now: a start that is refused opens no door, and takes nobody's address.
        if (place !== undefined) watch = await watched({ ...place, what: 'hosted', journal, inspect });
        call.out.answer({ url: server.url, db }, `  sockets of nodes at ${server.url}/v1/node/ws; Ctrl-C stops it`);
        await new Promise<void>((resolve) => {
          stopped.addEventListener('abort', () => resolve());
          if (stopped.aborted) resolve();
        });
        await server.stop();
        await watch?.close();
        return 0;
      }),
    );
  examples(
    command,
    'cotal hosted serve --db ./hosted.db',
    'cotal hosted serve --db ./hosted.db --inspect',
    'HOSTED_REAP_MS=60000 cotal hosted serve --db ./hosted.db --port 0',
  );
};
