/** `cotal status` and `cotal doctor`: what is true now, each fact asked for at the call. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { readNumbers } from '../domain/config.ts';
import type { Fact, FactOptions } from '../launch/fact.ts';
import { factsOf } from '../launch/facts.ts';
import { whole } from './flags.ts';
import { type Define, examples } from './frame.ts';
import type { Output } from './output.ts';

const WATCH_S = 2;
const DAY_S = 86_400;

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
  command.option('--watch [seconds]', 'again and again, every 2 seconds unless told, until Ctrl-C');
  command.action(
    frame.action(async (call, { watch }: { watch?: string | true }) => {
      const place = call.place();
      if (watch === undefined) {
        tellFacts(call.out, await factsOf(askedOf(place)));
        return 0;
      }
      const everyMs = 1000 * (watch === true ? WATCH_S : whole('--watch', 1, DAY_S)(watch));
      const stopped = call.stopped();
      while (!stopped.aborted) {
        const facts = await factsOf(askedOf(place));
        if (stopped.aborted) break;
        call.out.clear();
        call.out.text(call.out.paint('dim', `${new Date().toISOString()}  every ${everyMs / 1000} s, Ctrl-C ends it`));
        tellFacts(call.out, facts);
        // Rejects when it is asked to stop.
        await pause(everyMs, undefined, { signal: stopped }).catch(() => {});
      }
      return 0;
    }),
  );
  examples(command, 'cotal status', 'cotal status --watch', 'cotal status --watch 10 --json');
};
