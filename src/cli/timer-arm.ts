/** `cotal timer arm`: asks for a checkpoint timer, and says whether the writer has armed it. */
import { setTimeout as pause } from 'node:timers/promises';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { inboxPrefix } from '../domain/permissions.ts';
import { isTimerToken, LATEST_DEADLINE_MS, type Timer, type TimerName } from '../domain/timers.ts';
import { Timers } from '../services/nats/timers.ts';
import { whole } from './flags.ts';
import { type Define, examples } from './frame.ts';
import { withRights } from './open-mesh.ts';

interface Options {
  readonly endpoint: string;
  readonly instance: string;
  readonly epoch: string;
  readonly generation: number;
  readonly at?: number;
  readonly in?: number;
  readonly wait: number;
}
const LOOK_MS = 50;

const token = (name: string) => (text: string) => {
  if (isTimerToken(text)) return text;
  throw new Plane3Error('timer.token', { name, input: text });
};
/** A time with its zone, or milliseconds since the epoch. */
function moment(text: string): number {
  const at = /^\d{1,16}$/.test(text) ? Number(text) : zoned(text);
  if (at >= 0 && at <= LATEST_DEADLINE_MS) return Math.ceil(at);
  throw new Plane3Error('timer.deadline', { input: text, latest: new Date(LATEST_DEADLINE_MS).toISOString() });
}
/** A time without a zone would be another moment on every machine. */
const zoned = (text: string): number => (/(Z|[+-]\d\d:?\d\d)$/i.test(text) ? Date.parse(text) : Number.NaN);

export const define: Define = (command, frame) => {
  command
    .argument('<timer>', 'id of the timer, one token', token('the timer'))
    .requiredOption('--endpoint <token>', 'endpoint of the workflow', token('--endpoint'))
    .requiredOption('--instance <token>', 'instance of the endpoint', token('--instance'))
    .requiredOption('--epoch <token>', 'epoch of the instance', token('--epoch'))
    .option('--generation <n>', 'a higher one replaces what is armed', whole('--generation', 1), 1)
    .option('--at <time>', 'when it fires: a time with its zone, or milliseconds since the epoch', moment)
    .option('--in <ms>', 'in so many milliseconds', whole('--in', 0))
    .option('--wait <ms>', 'how long to wait until it is armed', whole('--wait', 0), 5_000)
    .action(
      frame.action<[timerId: string, options: Options]>(async (call, timerId, options) => {
        const { out } = call;
        const { endpoint, instance, epoch, generation } = options;
        if ((options.at === undefined) === (options.in === undefined)) throw new Plane3Error('timer.when', {});
        const deadline = options.at ?? Date.now() + (options.in ?? 0);
        const name: TimerName = { endpoint, instance, epoch, timerId };
        const timer: Timer = { v: 1, timerId, generation, deadline };
        const place = call.place();
        const state = await withRights(place, 'scheduler', async ({ connection, credential }) => {
          const timers = new Timers({
            connection,
            inboxPrefix: inboxPrefix(credential.publicKey),
            space: place.space,
          });
          const asked = await timers.ask(name, timer);
          if (asked.kind !== 'asked') throw new Plane3Error('timer.ask', { timerId, reason: JSON.stringify(asked) });
          return out.waiting('waiting for the timer writer', seen(timers, name, timer, options.wait));
        });
        const at = new Date(deadline).toISOString();
        out.answer(
          { timerId, generation, deadline, state: state ?? 'asked' },
          state === undefined
            ? `${out.paint('yellow', '!')} ${timerId} is asked for, but not armed yet: no timer writer has taken the request`
            : `${out.paint('green', '✓')} ${timerId} (generation ${generation}) ${state === 'armed' ? `is armed, fires at ${at}` : 'has fired'}`,
        );
        return 0;
      }),
    );
  examples(command, 'cotal timer arm pause1 --endpoint flow --instance i1 --epoch 1 --in 60000');
};

async function seen(timers: Timers, name: TimerName, timer: Timer, waitMs: number) {
  const end = performance.now() + waitMs;
  for (;;) {
    const state = await timers.stateOf(name, timer);
    if (state !== undefined || performance.now() >= end) return state;
    await pause(LOOK_MS);
  }
}
