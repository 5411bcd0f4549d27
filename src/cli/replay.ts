/** `cotal replay`: a recording through today's machines. Exit 1 where they would act otherwise. */
import { readFileSync } from 'node:fs';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { type Difference, type Outcome, replay } from '../inspector/replay.ts';
import type { ExitCode } from './failure.ts';
import { type Define, examples } from './frame.ts';

export const define: Define = (command, frame) => {
  command.argument('<file>', 'what "cotal deliver --record FILE" wrote');
  command.action(
    frame.action(async ({ out }, file: string): Promise<ExitCode> => {
      const { head, actors, steps, differences, unknown } = replay(file, read(file));
      for (const difference of differences) out.answer(difference, textOf(difference));
      const same = differences.length === 0 && unknown.length === 0;
      const counted = `${steps} steps of ${actors} actors of ${head.process} in space ${head.space}`;
      const gone = unknown.length === 0 ? '' : `; machines that are not there any more: ${unknown.join(', ')}`;
      out.answer(
        { file, process: head.process, space: head.space, actors, steps, differences: differences.length, unknown },
        same
          ? `${out.paint('green', '✓')} ${counted}: today’s machines would do the same`
          : `${out.paint('red', '✗')} ${counted}: ${differences.length} actors would act otherwise${gone}`,
      );
      return same ? 0 : 1;
    }),
  );
  examples(
    command,
    'cotal deliver --record yesterday.jsonl',
    'cotal replay yesterday.jsonl',
    'cotal replay yesterday.jsonl --json',
  );
};

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw new Plane3Error('replay.file', { path, reason: code }, { cause: error });
  }
}

function textOf({ line, machine, id, on, was, now, rest }: Difference): string {
  const after = rest === 0 ? '' : `; ${rest} further steps of it are not compared`;
  return `line ${line}: ${machine} ${id} on ${on}${after}\n  then  ${outcome(was)}\n  now   ${outcome(now)}`;
}

const outcome = ({ to, asked, said }: Outcome): string =>
  [
    to.join(' ∥ '),
    ...(asked.length === 0 ? [] : [`asks ${asked.join(', ')}`]),
    ...(said.length === 0 ? [] : [`tells ${said.join(', ')}`]),
  ].join('; ');
