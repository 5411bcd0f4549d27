/**
 * Ports: what the machines and rules need from the world. Nouns, with verbs that take one object and answer with a
 * tagged outcome for everything that is expected; they reject for surprises only and never retry on their own.
 */

import type { Instant } from '../domain/lease.ts';
import type { LogFacts, LogName } from '../domain/log-events/catalogue.ts';

/** Both clocks of the process. */
export interface Clock {
  now(): Instant;
}

/** Where events are told: the structured log, and for events with a line the operator. */
export interface Journal {
  tell<N extends LogName>(
    name: N,
    ...facts: object extends LogFacts<N> ? [facts?: LogFacts<N>] : [facts: LogFacts<N>]
  ): void;
}
