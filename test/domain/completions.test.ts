import { spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { commands as all } from '../../src/cli/commands.ts';
import { completionsFor, shells } from '../../src/cli/completions.ts';
import { Frame } from '../../src/cli/frame.ts';
import { Output } from '../../src/cli/output.ts';
import { addCommands, createProgram } from '../../src/cli/program.ts';
import { type CommandWords, everyCommand } from '../../src/cli/words.ts';

const frame = new Frame({ out: new Output({ json: true }), shared: () => ({}), commands: all });
let commands: CommandWords[] = [];
beforeAll(async () => {
  commands = await everyCommand(createProgram(), frame);
  // Every command is loaded, and with them nearly everything there is.
}, 120_000);

/** What bash offers after these words, the last of which is under the cursor. */
function offered(...words: string[]): string[] {
  const script = `${completionsFor('bash', commands)}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _cotal; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const run = spawnSync('bash', ['--norc', '-c', script, 'bash', 'cotal', ...words], { encoding: 'utf8' });
  expect(run.stderr).toBe('');
  return run.stdout.trim().split('\n');
}

/** Help of a command, as a person sees it. */
async function helpOf(...path: string[]): Promise<string> {
  let text = '';
  const program = createProgram().configureOutput({
    writeOut: (part) => {
      text += part;
    },
  });
  addCommands(program, frame);
  await program.parseAsync([...path, '--help'], { from: 'user' }).catch(() => {});
  return text;
}

describe('completions', () => {
  it('offer in bash what may come next: commands, commands below them, options, words that an option takes', () => {
    expect(offered('')).toContain('up');
    expect(offered('agent', '')).toEqual(expect.arrayContaining(['add', 'list', '--json']));
    expect(offered('agent', '')).not.toContain('up');
    expect(offered('up', '--dur')).toEqual(['--durability']);
    expect(offered('up', '--durability', '')).toEqual(['strict', 'relaxed']);
    expect(offered('down', 'del')).toEqual(['delivery']);
    expect(offered('--json', 'channel', 's')).toEqual(['set']);
    expect(offered('deliver', '--la')).toEqual(['']);
  });

  it.each(shells)('have every command and every option in %s', (shell) => {
    const script = completionsFor(shell, commands);
    for (const { path, options } of commands) {
      expect(script).toContain(path.join(' '));
      for (const { long } of options) expect(script).toContain(shell === 'fish' ? `-l ${long.slice(2)}` : long);
    }
  });

  it('are not broken by what a summary has in it', () => {
    const [first] = commands;
    if (first === undefined) throw new Error('there are no commands');
    const nasty = { ...first, below: [{ name: 'x', about: `it's "so" $(touch no) \`such\` a:b` }] };
    const script = `${completionsFor('bash', [nasty])}\ntrue`;
    expect(spawnSync('bash', ['--norc', '-c', script], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    expect(completionsFor('fish', [nasty])).toContain(`-d 'it'\\''s "so"`);
  });
});

describe('--help', () => {
  it('has examples everywhere', async () => {
    expect(commands.length).toBeGreaterThan(20);
    for (const { path } of commands) {
      const help = await helpOf(...path);
      expect(help, path.join(' ')).toContain('Examples:\n  $ ');
      expect(help, path.join(' ')).toContain('Usage: cotal');
    }
  }, 120_000);
});
