/** Requests on the rails: who asks, and which of the responders gets it. */
import type { RailName } from '../../domain/subjects.ts';

export interface RawRequest {
  readonly rail: RailName;
  /** The subject, and the reply subject that the asker gave. */
  readonly subject: string;
  readonly reply: string;
  readonly data: Uint8Array;
  answer(data: Uint8Array): void;
}

export class Requests {
  readonly #responders = new Set<(request: RawRequest) => void>();
  #next = 0;

  respond(responder: (request: RawRequest) => void): () => void {
    this.#responders.add(responder);
    return () => this.#responders.delete(responder);
  }

  /** A queue group: one of the responders gets it. False: there is none. */
  send(request: RawRequest): boolean {
    const all = [...this.#responders];
    const one = all[this.#next++ % Math.max(1, all.length)];
    one?.(request);
    return one !== undefined;
  }
}
