/** One request of the HTTP table, with what its handler needs. */
import type { Engine } from '../engine/engine.ts';
import type { Dispatcher } from '../engine/messages.ts';

export interface Exchange {
  readonly engine: Engine;
  readonly dispatcher: Dispatcher;
  readonly request: Request;
  /** The variable part of the path, decoded. */
  readonly name: string;
}
