/** One thing that is true of a mesh now, or is not, or could not be asked. */
import type { NatsConnection } from '@nats-io/nats-core';
import type { Numbers } from '../domain/numbers.ts';

export interface Fact {
  readonly name: string;
  readonly value: unknown;
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
  /** Null: it could not be asked. */
  readonly ok: boolean | null;
  /** For a person: what it means, or what is wrong. */
  readonly words: string;
}

export interface FactOptions {
  readonly root: string;
  readonly space: string;
  readonly numbers: Numbers;
}

export const fact = (name: string, ok: boolean | null, value: unknown, words: string): Fact => ({
  name,
  value,
  askedAt: Date.now(),
  ok,
  words,
});

/** A connection to ask over. `publicKey`: of its credential; undefined in open mode. */
export type Opened = { connection: NatsConnection; publicKey: string | undefined };
