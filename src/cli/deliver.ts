/** `cotal deliver`: the delivery daemon in the foreground. What it says goes to stderr and to the log of its space. */
import { Option } from 'commander';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { reportEnd } from '../launch/end-report.ts';
import { createDaemon, type DaemonOptions, type Ended } from '../main.ts';
import { clearStopped, isStopped, logPath } from '../services/local/process-record.ts';
import type { ExitCode } from './failure.ts';
import { portOf } from './flags.ts';
import { type Define, examples } from './frame.ts';
import { journalOf } from './journal.ts';
import { httpFlag, inspectFlag, inspectPort, recordFlag, watched } from './watching.ts';

interface DeliverOptions {
  readonly server?: string;
  readonly creds?: string;
  readonly tls?: boolean;
  readonly standby?: boolean;
  readonly launched?: string;
  readonly inspect?: string | true;
  readonly http?: number;
  readonly record?: string;
}

/** A space grows by its broker's cluster, never by a second daemon. */
const onlyShard = (text: string): '0' => {
  if (text === '0') return text;
  throw new Plane3Error('deliver.shard', { input: text });
};

export const define: Define = (command, frame) => {
  command
    .option('--server <url>', "broker to dial; refused when the machine's registry has another one for the space")
    .option('--creds <file>', 'delivery credential to serve with (default: the one under the root)')
    .option('--tls', 'demand TLS of the broker; a mesh that was recorded with TLS always demands it')
    .option('--shard <n>', 'one daemon serves a space: only 0 is taken', onlyShard)
    .option('--standby', 'wait for the lease when another daemon holds it, and take over')
    .option(inspectFlag, 'open the inspector on a loopback port, a free one unless told: see "cotal inspect"')
    .option(httpFlag, 'metrics and health on a loopback port: /metrics, /healthz, /readyz', portOf('--http'))
    .option(recordFlag, 'write every step of every machine to a new file, for "cotal replay"; no bodies, no tokens')
    // Given by `cotal up`: how it knows this run on the lease row, and that it does not itself undo a stop.
    .addOption(new Option('--launched <incarnation>').hideHelp());
  command.action(
    frame.action(async (call, options: DeliverOptions): Promise<ExitCode> => {
      const { root, space } = call.place();
      const name = { root, what: 'delivery', space } as const;
      const { launched, server, creds, tls, standby } = options;
      const inspect = inspectPort(options.inspect);
      const journal = journalOf('delivery', logPath(name));
      if (launched === undefined) clearStopped(name);
      else if (isStopped(name)) return 0;
      const watch = await watched({ ...name, journal, inspect, http: options.http, record: options.record });
      const end = async (asked: DaemonOptions): Promise<Ended> => {
        const daemon = createDaemon(asked);
        watch?.show(daemon.exhibit);
        const stopped = call.stopped();
        stopped.addEventListener('abort', () => daemon.stop(String(stopped.reason)));
        return daemon.run();
      };
      try {
        const ended = await end({
          space,
          root,
          journal,
          signals: false,
          standby: standby === true,
          ...(server === undefined ? {} : { server }),
          ...(creds === undefined ? {} : { creds }),
          ...(tls === true ? { tls: {} } : {}),
          ...(launched === undefined ? {} : { incarnation: launched }),
          ...(watch === undefined ? {} : { inspect: watch.inspect }),
        });
        if (launched !== undefined) reportEnd(ended);
        return ended.code;
      } catch (error) {
        if (!(error instanceof Plane3Error)) throw error;
        journal.tell('daemon.refused', { message: error.message });
        call.out.remark(`  ${error.help}`);
        if (launched !== undefined) reportEnd({ end: 'refused', message: error.message });
        return error.exit === 64 ? 64 : 1;
      } finally {
        await watch?.close();
      }
    }),
  );
  examples(
    command,
    'cotal deliver --space main',
    'cotal deliver --space main --root /srv/mesh --standby',
    'cotal deliver --inspect 9229 --http 9464',
  );
};
