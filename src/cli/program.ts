/** The command that all others lie below, with the options that every one of them takes. */
import { Command, Option } from 'commander';
import { type CommandEntry, examples, type Frame } from './frame.ts';
import { version } from './version.ts';

export const withSharedOptions = (program: Command): Command =>
  program
    .addOption(new Option('--json', 'one JSON object a line on stdout, nothing else there'))
    .option('--root <dir>', 'workspace root (default: the nearest .cotal above the working directory)')
    .option('--space <name>', 'space (default: the only one of the root, else main)');

export const createProgram = (): Command =>
  examples(
    withSharedOptions(new Command('cotal').description('The mesh of agents and its durable plane.').version(version()))
      .exitOverride()
      .configureOutput({ outputError: () => {} })
      .configureHelp({ showGlobalOptions: true })
      .helpCommand(false),
    'cotal up',
    'cotal status --watch',
    'cotal agent add --help',
    'source <(cotal completion bash)',
  );

/** A command's file is loaded when it is asked for. */
export function addCommands(parent: Command, frame: Frame, entries = frame.commands): void {
  const known = new Map(entries.map((entry) => [entry.name, entry]));
  for (const entry of entries) {
    const { name, summary, commands: below } = entry;
    const command = parent.command(name).summary(summary).description(summary).helpCommand(false);
    if (below === undefined) continue;
    addCommands(command, frame, below);
    groupExamples(command, entry);
  }
  parent.hook('preSubcommand', async (_parent, command) => {
    const file = await known.get(command.name())?.load?.();
    file?.define(command, frame);
  });
}

const VALUED = withSharedOptions(new Command()).options.flatMap(({ required, long }) => (required ? [long] : []));

/** The names of the command that these words name, as far as there is one; words before it may be values of shared options. */
export function commandIn(argv: readonly string[], entries: readonly CommandEntry[]): readonly string[] {
  const words = argv[0] === 'help' ? argv.slice(1) : argv;
  const at = words.findIndex((word, nth) => !word.startsWith('-') && !VALUED.includes(words[nth - 1]));
  const entry = entries.find(({ name }) => name === words[at]);
  if (entry === undefined) return [];
  return [entry.name, ...commandIn(words.slice(at + 1), entry.commands ?? [])];
}

/** A command that only has others below it leads to their help. */
export function groupExamples(command: Command, { commands: below = [] }: CommandEntry): void {
  const above: string[] = [];
  for (let one: Command | null = command; one !== null; one = one.parent) above.unshift(one.name());
  examples(command, ...below.map(({ name }) => `${above.join(' ')} ${name} --help`));
}
