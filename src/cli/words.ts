/** Every command of the command line with its options, as it stands: what completions and the check of the help are made from. */
import { Command } from 'commander';
import type { WordReader } from './flags.ts';
import type { CommandEntry, Frame } from './frame.ts';

export interface OptionWords {
  /** `--tls`; an option without a long form has none here. */
  readonly long: string;
  readonly short?: string;
  readonly about: string;
  /** What it takes: nothing, one of these words, a file, or anything. */
  readonly takes: 'nothing' | 'file' | 'anything' | readonly string[];
}
export interface CommandWords {
  /** `['agent', 'add']`; empty for `cotal` itself. */
  readonly path: readonly string[];
  readonly about: string;
  readonly below: readonly { readonly name: string; readonly about: string }[];
  readonly options: readonly OptionWords[];
  /** What its first argument may be, where that is one of a few words. */
  readonly words: readonly string[];
  readonly command: Command;
}

const FILE = /<(?:file|dir|path|db)>/;

/** Of everything below, and of `cotal` itself: `--help` is everywhere, the shared options are told with `cotal`. */
export async function everyCommand(program: Command, frame: Frame): Promise<CommandWords[]> {
  const found: CommandWords[] = [wordsOf([], program, frame.commands)];
  const walk = async (entries: readonly CommandEntry[], above: readonly string[]): Promise<void> => {
    for (const { name, summary, load, commands: below = [] } of entries) {
      const command = new Command(name).summary(summary).description(summary);
      (await load?.())?.define(command, frame);
      found.push(wordsOf([...above, name], command, below));
      await walk(below, [...above, name]);
    }
  };
  await walk(frame.commands, []);
  return found;
}

function wordsOf(path: readonly string[], command: Command, below: readonly CommandEntry[]): CommandWords {
  const options = command.options.flatMap(
    ({ long, short, description, flags, hidden, argChoices, parseArg, required, optional }) =>
      hidden || long == null
        ? []
        : [
            {
              long,
              ...(short == null ? {} : { short }),
              about: description,
              takes:
                argChoices ??
                wordsIn(parseArg) ??
                (FILE.test(flags) ? 'file' : required || optional ? 'anything' : 'nothing'),
            } satisfies OptionWords,
          ],
  );
  const [argument] = command.registeredArguments;
  return {
    path,
    about: command.summary(),
    below: below.map(({ name, summary }) => ({ name, about: summary })),
    options,
    words: argument?.argChoices ?? wordsIn(argument?.parseArg) ?? [],
    command,
  };
}

/** Words that a reader of ours takes. */
const wordsIn = (reader: unknown): readonly string[] | undefined =>
  (reader as Partial<WordReader<string>> | undefined)?.words;
