/** Who waits for which answer. A ticket is given out once and answered once; an answer to an unknown ticket is dropped. */
export class Tickets<Answer> {
  readonly #waiting = new Map<string, (answer: Answer) => void>();
  #next = 0;

  open(): { ticket: string; answer: Promise<Answer> } {
    const ticket = String(++this.#next);
    return { ticket, answer: new Promise((settle) => this.#waiting.set(ticket, settle)) };
  }

  settle(ticket: string, answer: Answer): void {
    this.#waiting.get(ticket)?.(answer);
    this.#waiting.delete(ticket);
  }

  /** Whoever waits hears nothing: in doubt, silence. */
  clear(): void {
    this.#waiting.clear();
  }
}
