import { agentErrors } from './agents.ts';
import { brokerErrors } from './broker.ts';
import { cliErrors } from './cli.ts';
import { clientErrors } from './client.ts';
import { type ErrorEntry, type ErrorKind, fill, type Placeholders } from './define.ts';
import { deliveryErrors } from './delivery.ts';
import { inspectorErrors } from './inspector.ts';
import { launcherErrors } from './launcher.ts';
import { linkErrors } from './link.ts';
import { nameErrors } from './names.ts';
import { providerErrors } from './provider.ts';
import { repairErrors } from './repair.ts';
import { timerErrors } from './timers.ts';

/** Every error that plane3 can report, by code. */
export const errorCatalogue = {
  ...nameErrors,
  ...brokerErrors,
  ...agentErrors,
  ...deliveryErrors,
  ...launcherErrors,
  ...clientErrors,
  ...cliErrors,
  ...providerErrors,
  ...inspectorErrors,
  ...linkErrors,
  ...timerErrors,
  ...repairErrors,
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorCatalogue;

/** The facts that an error of this code must be given: one for each placeholder of its template. */
export type ErrorFacts<C extends ErrorCode> = {
  readonly [K in Placeholders<(typeof errorCatalogue)[C]['template']>]: unknown;
};

/** The one error class. `message` is the filled template; `help` says what was left as it was and what to do next. */
export class Plane3Error<C extends ErrorCode = ErrorCode> extends Error {
  readonly code: C;
  readonly facts: ErrorFacts<C>;

  constructor(code: C, facts: ErrorFacts<C>, options?: { cause?: unknown }) {
    super(fill(errorCatalogue[code].template, facts), options);
    this.name = 'Plane3Error';
    this.code = code;
    this.facts = facts;
  }

  /** Whether it is the error of this code, with its facts. */
  is<K extends ErrorCode>(code: K): this is Plane3Error<K> {
    return this.code === (code as ErrorCode);
  }

  get kind(): ErrorKind {
    return errorCatalogue[this.code].kind;
  }

  get help(): string {
    return fill(errorCatalogue[this.code].help, this.facts);
  }

  /** Exit code of a command that ends with this error. */
  get exit(): number {
    const entry: ErrorEntry = errorCatalogue[this.code];
    return entry.exit ?? 1;
  }
}

/** What a rail, a log line or `--json` carries of an error. */
export const describeError = (error: unknown): { code: string; message: string } =>
  error instanceof Plane3Error
    ? { code: error.code, message: error.message }
    : { code: 'unexpected', message: error instanceof Error ? error.message : String(error) };
