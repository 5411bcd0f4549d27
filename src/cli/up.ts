/** `cotal up`: broker, delivery daemon and manager, in the foreground until it is told to stop, or detached. */
import type { AskedSettings, MeshSettings } from '../domain/mesh-settings.ts';
import { createUp, type UpReport } from '../launch/up.ts';
import { logPath } from '../services/local/process-record.ts';
import type { Journal } from '../services/ports.ts';
import type { ExitCode } from './failure.ts';
import { oneOf, portOf, whole } from './flags.ts';
import { type Define, examples } from './frame.ts';
import { journalOf } from './journal.ts';
import { Progress } from './progress.ts';
import { httpFlag, inspectFlag, inspectPort, watched } from './watching.ts';

interface UpFlags {
  readonly detach?: boolean;
  readonly open?: boolean;
  readonly host?: string;
  readonly port?: number;
  readonly tls?: boolean;
  readonly manager: boolean;
  readonly replicas?: number;
  readonly durability?: MeshSettings['durability'];
  readonly history?: number;
  readonly quota?: number;
  readonly inspect?: string | true;
  readonly http?: number;
}

export const define: Define = (command, frame) => {
  command
    .option('-d, --detach', 'start what is missing, wait until it serves, and leave it running')
    .option('--open', 'a mesh without accounts: live only, no delivery daemon, nothing durable')
    .option('--host <address>', 'address to listen on (default: kept, at first 127.0.0.1)')
    .option('--port <n>', 'port of the broker; 0 takes a free one (default: kept, at first 4222)', portOf('--port'))
    .option('--tls', 'TLS with an authority of the mesh’s own; plaintext is refused from then on')
    .option('--no-manager', 'without the manager')
    .option('--replicas <n>', 'copies of each stored message in a cluster (at first 1)', whole('--replicas', 1, 5))
    .option(
      '--durability <how>',
      'strict: acknowledged is on disk; relaxed: synced every two minutes (at first strict)',
      oneOf('--durability', ['strict', 'relaxed']),
    )
    .option('--history <n>', 'posts kept for each channel and sender (at first 10000)', whole('--history', 1))
    .option('--quota <n>', 'entries that one member may be owed (at first 100000)', whole('--quota', 1))
    .option(inspectFlag, 'open the inspectors; the delivery daemon\'s on this port, or a free one: see "cotal inspect"')
    .option(httpFlag, "the delivery daemon's metrics and health on a loopback port", portOf('--http'));
  command.action(
    frame.action(async (call, flags: UpFlags): Promise<ExitCode> => {
      const { root, space } = call.placeToMake();
      const port = inspectPort(flags.inspect);
      const progress = new Progress();
      const told = journalOf('up', logPath({ root, what: 'delivery', space }));
      const journal: Journal = {
        tell: (...event) => {
          progress.clear();
          told.tell(...event);
        },
      };
      const watch = await watched({
        ...{ root, what: 'up', space, journal },
        inspect: port === undefined || flags.detach === true ? undefined : 0,
      });
      const up = createUp({
        root,
        asked: askedOf(space, flags),
        manager: flags.manager,
        isForeground: flags.detach !== true,
        journal,
        progress: progress.say,
        ...(watch === undefined ? {} : { inspect: watch.inspect }),
        wordsFor: (what) => [
          ...(port === undefined ? [] : ['--inspect', String(what === 'delivery' ? port : 0)]),
          ...(flags.http === undefined || what !== 'delivery' ? [] : ['--http', String(flags.http)]),
        ],
        onUp: (report) => {
          progress.stop();
          call.out.answer(report, textOf(report, space, flags.detach !== true));
        },
      });
      const stopped = call.stopped();
      stopped.addEventListener('abort', () => up.stop(String(stopped.reason)));
      progress.say('starting');
      const ended = await up.run();
      await watch?.close();
      progress.stop();
      if (ended.code !== 0 && ended.end !== 'unbound') {
        if (ended.help !== '') call.out.remark(`  ${ended.help}`);
        if (call.out.json) call.out.answer({ healthy: false, end: ended.end, reason: ended.message }, '');
      }
      return ended.code;
    }),
  );
  examples(
    command,
    'cotal up',
    'cotal up --detach --port 0',
    'cotal up --tls --host 0.0.0.0',
    'cotal up --inspect',
    'cotal up --detach --http 9464',
  );
};

const askedOf = (space: string, flags: UpFlags): AskedSettings => {
  const { host, port, durability, replicas, history, quota } = flags;
  return {
    space,
    open: flags.open === true,
    tls: flags.tls === true,
    manager: flags.manager,
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
    ...(durability === undefined ? {} : { durability }),
    layout: {
      ...(replicas === undefined ? {} : { replicas }),
      ...(history === undefined ? {} : { history }),
      ...(quota === undefined ? {} : { quota }),
    },
  };
};

function textOf({ healthy, mode, broker, delivery, manager, log }: UpReport, space: string, stays: boolean): string {
  return [
    healthy ? `✓ the mesh of space ${space} is up` : `! the mesh of space ${space} is up, but not everything serves`,
    `  broker    ${broker.url}  pid ${broker.pid}, ${mode === 'open' ? 'open' : broker.durability}`,
    ...(delivery === null ? [] : [`  delivery  pid ${delivery.pid ?? 'unknown'}, responder ${delivery.responder}`]),
    ...(manager === null ? [] : [`  manager   pid ${manager.pid ?? 'unknown'}`]),
    `  log       ${log}`,
    stays ? '  Ctrl-C stops all of it.' : '  "cotal status" looks at it, "cotal down" stops it.',
  ].join('\n');
}
