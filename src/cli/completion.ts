/** `cotal completion`: prints what makes a shell complete the command line. */
import { Command } from 'commander';
import { completionsFor, type Shell, shells } from './completions.ts';
import { oneOf } from './flags.ts';
import { type Define, examples } from './frame.ts';
import { withSharedOptions } from './program.ts';
import { everyCommand } from './words.ts';

export const define: Define = (command, frame) => {
  command.argument('<shell>', shells.join(', '), oneOf('shell', shells));
  command.action(
    frame.action(async ({ out }, shell: Shell) => {
      const script = completionsFor(shell, await everyCommand(withSharedOptions(new Command('cotal')), frame));
      out.answer({ shell, script }, script.trimEnd());
      return 0;
    }),
  );
  examples(
    command,
    'source <(cotal completion bash)',
    'source <(cotal completion zsh)',
    'cotal completion fish > ~/.config/fish/completions/cotal.fish',
  );
};
