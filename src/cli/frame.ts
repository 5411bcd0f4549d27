/**
 * The frame that every command runs in. A command's file exports `define`: it gives its arguments, options and examples
 * to commander, and its work to `frame.action`, which hands it a `Call`.
 */
import type { Command } from 'commander';
import type { ExitCode } from './failure.ts';
import type { Output } from './output.ts';
import { type Place, placeOf, placeToMake, type SharedOptions } from './place.ts';

export interface Call {
  readonly out: Output;
  /** Root and space of this call; refused where there is no workspace. */
  place(): Place;
  /** The same, for a command that makes its workspace. */
  placeToMake(): Place;
  readonly shared: SharedOptions;
  /**
   * Aborted when somebody asks to stop: SIGINT, SIGTERM, SIGHUP, or stdout has no reader any more. Asking for it arms the
   * signals, so only a command that heeds it should. `reason` is the signal's name.
   */
  stopped(): AbortSignal;
}

/** The work of a command; what it returns is the exit code, 0 for nothing. What it throws is told and gives its own. */
export type Work<Given extends readonly unknown[]> = (call: Call, ...given: Given) => Promise<ExitCode | undefined>;

export type Define = (command: Command, frame: Frame) => void;

/** A line of the list of commands. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load?: () => Promise<{ define: Define }>;
  /** Commands below this one: `agent add`. */
  readonly commands?: readonly CommandEntry[];
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export class Frame {
  readonly #out: Output;
  readonly #shared: () => SharedOptions;
  #stop: AbortController | undefined;
  code: ExitCode = 0;
  /** Every command there is, for those that speak of all of them. */
  readonly commands: readonly CommandEntry[];

  constructor(of: { out: Output; shared: () => SharedOptions; commands: readonly CommandEntry[] }) {
    this.#out = of.out;
    this.#shared = of.shared;
    this.commands = of.commands;
  }

  /** Commander's action for a command. `Given`: its arguments in order, then its options. */
  action<Given extends readonly unknown[]>(work: Work<Given>): (...given: unknown[]) => Promise<void> {
    return async (...given) => {
      const shared = this.#shared();
      const call: Call = {
        out: this.#out,
        shared,
        place: () => placeOf(shared),
        placeToMake: () => placeToMake(shared),
        stopped: () => this.#stopped(),
      };
      this.code = (await work(call, ...(given as unknown as Given))) ?? 0;
    };
  }

  #stopped(): AbortSignal {
    if (this.#stop === undefined) {
      const stop = new AbortController();
      this.#stop = stop;
      for (const signal of SIGNALS) process.on(signal, () => stop.abort(signal));
      this.#out.whenClosed(() => stop.abort('stdout'));
    }
    return this.#stop.signal;
  }
}

/** Examples below the options of `--help`. */
export const examples = (command: Command, ...lines: readonly string[]): Command =>
  command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`);
