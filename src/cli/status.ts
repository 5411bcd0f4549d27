/** `cotal status` and `cotal doctor`: what is true now, each fact asked for at the call. */
import type { Command } from 'commander';
import { readNumbers } from '../domain/config.ts';
import { type Fact, type FactOptions, factsOf } from '../launch/facts.ts';
import { type Define, examples } from './frame.ts';
import type { Output } from './output.ts';

export function tellFacts(out: Output, facts: readonly Fact[]): void {
  const width = Math.max(...facts.map(({ name }) => name.length));
  const mark = (ok: boolean | null) =>
    ok === null ? out.paint('yellow', '?') : ok ? out.paint('green', '✓') : out.paint('red', '✗');
  out.answer(
    { facts: facts.map(({ words, ...fact }) => fact) },
    facts.map(({ name, ok, words }) => `${mark(ok)} ${name.padEnd(width)}  ${words}`).join('\n'),
  );
}

export const askedOf = (place: { root: string; space: string }): FactOptions => ({
  ...place,
  numbers: readNumbers(process.env),
});

export const define: Define = (command: Command, frame) => {
  command.action(
    frame.action(async (call) => {
      tellFacts(call.out, await factsOf(askedOf(call.place())));
      return 0;
    }),
  );
  examples(command, 'cotal status', 'cotal status --json');
};
