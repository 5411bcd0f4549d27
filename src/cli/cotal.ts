/** The command line: arguments → command → exit code. */
import { Command } from 'commander';
import { type CommandEntry, commands } from './commands.ts';
import { tellFailure } from './failure.ts';
import { Frame } from './frame.ts';
import { Output } from './output.ts';
import type { SharedOptions } from './place.ts';
import { version } from './version.ts';

function addCommands(parent: Command, entries: readonly CommandEntry[], frame: Frame): void {
  const known = new Map(entries.map((entry) => [entry.name, entry]));
  for (const { name, summary, commands: below } of entries) {
    const command = parent.command(name).summary(summary).description(summary).helpCommand(false);
    if (below !== undefined) addCommands(command, below, frame);
  }
  parent.hook('preSubcommand', async (_parent, command) => {
    const file = await known.get(command.name())?.load?.();
    file?.define(command, frame);
  });
}

async function main(argv: readonly string[]): Promise<number> {
  const out = new Output({ json: argv.includes('--json') });
  const program = new Command('cotal')
    .description('The mesh of agents and its durable plane.')
    .version(version())
    .option('--json', 'one JSON object a line on stdout, nothing else there')
    .option('--root <dir>', 'workspace root (default: the nearest .cotal above the working directory)')
    .option('--space <name>', 'space (default: the only one of the root, else main)')
    .exitOverride()
    .configureOutput({ outputError: () => {} })
    .configureHelp({ showGlobalOptions: true })
    .helpCommand(false);
  const frame = new Frame({ out, shared: () => program.opts<SharedOptions>() });
  addCommands(program, commands, frame);
  const named = argv.filter((word) => !word.startsWith('-')).slice(0, 2);
  try {
    await program.parseAsync(argv[0] === 'help' ? [...argv.slice(1), '--help'] : [...argv], { from: 'user' });
    return frame.code;
  } catch (error) {
    return tellFailure(error, out, ['cotal', ...named.slice(0, 1)].join(' '));
  } finally {
    await out.flushed();
  }
}

process.exit(await main(process.argv.slice(2)));
