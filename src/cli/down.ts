/** `cotal down`: the shared stop, of one part or of everything of the space: delivery, manager, broker. */
import { Argument } from 'commander';
import { readNumbers } from '../domain/config.ts';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import type { RecordedProcess } from '../domain/process-record.ts';
import { stopOf } from '../launch/stopper.ts';
import type { StopOutcome } from '../machines/stop.machine.ts';
import { logPath } from '../services/local/process-record.ts';
import type { ExitCode } from './failure.ts';
import { type Define, examples } from './frame.ts';
import { journalOf } from './journal.ts';
import { Progress } from './progress.ts';

const PARTS: readonly RecordedProcess[] = ['delivery', 'manager', 'broker'];

export const define: Define = (command, frame) => {
  command.addArgument(new Argument('[part]', 'what to stop (default: everything of the space)').choices(PARTS));
  command.action(
    frame.action(async (call, part: RecordedProcess | undefined): Promise<ExitCode> => {
      const { root, space } = call.place();
      const journal = journalOf('down', logPath({ root, what: 'delivery', space }));
      const numbers = readNumbers(process.env);
      const progress = new Progress();
      const outcomes: StopOutcome[] = [];
      try {
        for (const target of part === undefined ? PARTS : [part]) {
          progress.say(`stopping ${target}`);
          const outcome = await stopOf({ root, space, numbers, journal }, target);
          outcomes.push(outcome);
          refuse(outcome, part === undefined);
        }
      } finally {
        progress.stop();
      }
      call.out.answer(
        { stopped: outcomes.map(({ target, end, pid }) => ({ target, end, pid: pid === 0 ? null : pid })) },
        outcomes.map(textOf).join('\n'),
      );
      return 0;
    }),
  );
  examples(command, 'cotal down', 'cotal down delivery');
};

/** @throws Plane3Error for a stop that did not stop. A broker that others need stays when everything of a space is stopped. */
function refuse({ target, end, pid, message }: StopOutcome, isWhole: boolean): void {
  if (end === 'held') throw new Plane3Error('down.busy', { target, pid });
  if (end === 'needed' && !isWhole) throw new Plane3Error('down.needed', { names: message });
  if (end === 'survived') throw new Plane3Error('down.survived', { target, pid });
  if (end === 'failed') throw new Plane3Error('down.failed', { target, reason: message });
}

function textOf({ target, end, pid, message }: StopOutcome): string {
  if (end === 'stopped') return `✓ ${target} stopped (pid ${pid})`;
  return end === 'needed' ? `• ${target} keeps running: ${message} needs it` : `• ${target} was not running`;
}
