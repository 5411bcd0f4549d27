/** How a command ends that did not do what it was asked: one error on stderr, with `--json` one object on stdout, a code. */
import { CommanderError } from 'commander';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import type { Output } from './output.ts';

/** 0 done or asked to stop, 1 refused or failed, 2 a repair refused, 64 usage. */
export type ExitCode = 0 | 1 | 2 | 64;

/** Says what happened, what was left as it was and what to do next; answers with the exit code. */
export function tellFailure(error: unknown, out: Output, command: string): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    return tellFailure(
      new Plane3Error('cli.usage', { reason: usageOf(error), command }, { cause: error }),
      out,
      command,
    );
  }
  const known = error instanceof Plane3Error;
  const message = error instanceof Error ? error.message : String(error);
  const code = known ? error.code : 'unexpected';
  const help = known ? error.help : 'This is a fault of plane3 itself; the stack above says where.';
  if (!known && error instanceof Error && error.stack !== undefined) process.stderr.write(`${error.stack}\n`);
  out.remark(`✗ ${message}`);
  out.remark(`  ${help}`);
  if (out.json) out.answer({ error: { code, message, help } }, '');
  return known ? error.exit : 1;
}

/** Commander's own words without its prefix; a command that only has others below it was named alone. */
const usageOf = ({ code, message }: CommanderError): string =>
  code === 'commander.help' ? 'a command is missing' : (message.replace(/^error: /, '').split('\n')[0] ?? message);
