/** The command line: arguments → command → exit code. */
import { commands } from './commands.ts';
import { tellFailure } from './failure.ts';
import { Frame } from './frame.ts';
import { Output } from './output.ts';
import type { SharedOptions } from './place.ts';
import { addCommands, commandIn, createProgram } from './program.ts';

async function main(argv: readonly string[]): Promise<number> {
  const out = new Output({ json: argv.includes('--json') });
  const program = createProgram();
  const frame = new Frame({ out, shared: () => program.opts<SharedOptions>(), commands });
  addCommands(program, frame);
  try {
    await program.parseAsync(argv[0] === 'help' ? [...argv.slice(1), '--help'] : [...argv], { from: 'user' });
    return frame.code;
  } catch (error) {
    return tellFailure(error, out, ['cotal', ...commandIn(argv, commands)].join(' '));
  } finally {
    await out.flushed();
  }
}

process.exit(await main(process.argv.slice(2)));
