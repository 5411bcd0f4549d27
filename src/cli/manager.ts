/** `cotal manager`: the manager in the foreground. What it says goes to stderr and to the log of its space. */
import { Option } from 'commander';
import { describeError, Plane3Error } from '../domain/errors/catalogue.ts';
import { reportEnd } from '../launch/end-report.ts';
import { openManager } from '../manager/process.ts';
import { clearStopped, isStopped, logPath } from '../services/local/process-record.ts';
import type { ExitCode } from './failure.ts';
import { portOf } from './flags.ts';
import { type Define, examples } from './frame.ts';
import { journalOf } from './journal.ts';
import { isOpen } from './open-mesh.ts';
import { brokerOf } from './place.ts';
import { httpFlag, inspectFlag, inspectPort, recordFlag, watched } from './watching.ts';

interface ManagerFlags {
  readonly server?: string;
  readonly tls?: boolean;
  readonly standby?: boolean;
  readonly launched?: string;
  readonly inspect?: string | true;
  readonly http?: number;
  readonly record?: string;
}

export const define: Define = (command, frame) => {
  command
    .option('--server <url>', "broker to dial; refused when the machine's registry has another one for the space")
    .option('--tls', 'demand TLS of the broker; a mesh that was recorded with TLS always demands it')
    .option('--standby', 'wait for the lease when another manager holds it, and take over')
    .option(inspectFlag, 'open the inspector on a loopback port, a free one unless told: see "cotal inspect"')
    .option(httpFlag, 'metrics and health on a loopback port: /metrics, /healthz, /readyz', portOf('--http'))
    .option(recordFlag, 'write every step of every machine to a new file, for "cotal replay"; no bodies, no tokens')
    .addOption(new Option('--launched <incarnation>').hideHelp());
  command.action(
    frame.action(async (call, flags: ManagerFlags): Promise<ExitCode> => {
      const place = call.place();
      const { root, space } = place;
      const name = { root, what: 'manager', space } as const;
      const journal = journalOf('manager', logPath(name));
      const { launched, server } = flags;
      if (launched === undefined) clearStopped(name);
      else if (isStopped(name)) return 0;
      const stopped = call.stopped();
      const { http, record } = flags;
      const watch = await watched({ ...name, journal, inspect: inspectPort(flags.inspect), http, record });
      try {
        const address = brokerOf(place);
        if (isOpen(address)) throw new Plane3Error('mesh.open', { space });
        if (address.record !== undefined && server !== undefined && server !== address.url) {
          throw new Plane3Error('start.server', { input: server, space, recorded: address.url });
        }
        const tls = address.tls ?? (flags.tls === true ? {} : undefined);
        const manager = await openManager({
          root,
          space,
          url: address.record?.url ?? server ?? address.url,
          journal,
          signal: stopped,
          // A launched one outlives the row that a killed one has left; it ends by itself within seconds.
          standby: flags.standby === true || launched !== undefined,
          ...(watch === undefined ? {} : { inspect: watch.inspect }),
          ...(tls === undefined ? {} : { tls }),
          ...(launched === undefined ? {} : { incarnation: launched }),
        });
        // It counts nothing of its own, and owes nobody.
        watch?.show({
          counts: () => ({}),
          ready: () => manager.actor.getSnapshot().hasTag('serving'),
          alive: () => manager.actor.getSnapshot().status === 'active',
          stalledMs: () => 0,
          owed: async () => undefined,
        });
        const stop = () => manager.stop(String(stopped.reason));
        stopped.addEventListener('abort', stop);
        const running = manager.run();
        if (stopped.aborted) stop();
        const ended = await running;
        if (launched !== undefined) reportEnd(ended);
        return ended.code;
      } catch (error) {
        if (stopped.aborted && error === stopped.reason) {
          journal.tell('manager.signalled', { signal: String(stopped.reason), space });
          return 0;
        }
        const { message } = describeError(error);
        journal.tell('manager.refused', { message });
        if (launched !== undefined) reportEnd({ end: 'refused', message });
        if (!(error instanceof Plane3Error)) return 1;
        call.out.remark(`  ${error.help}`);
        return error.exit === 64 ? 64 : 1;
      } finally {
        await watch?.close();
      }
    }),
  );
  examples(
    command,
    'cotal manager --space main',
    'cotal manager --space main --root /srv/mesh --standby',
    'cotal manager --inspect --http 9465',
  );
};
