/** Requests to look at a member's copies again, and who waits for the answer. Met by the member's lane. */
import type { HeldCopy } from '../ports.ts';

export interface ReviewAnswer {
  /** Handed-off copies that were taken back. */
  readonly withdrawn: number;
  /** Entries that were removed, the withdrawn copies' included. */
  readonly removed: number;
}

export interface ReviewOf {
  readonly channel?: string;
  readonly generation?: number;
  readonly again?: boolean;
}

export class ReviewRequest {
  /** A leave closes one channel; a changed grant names none. */
  readonly channel: string | undefined;
  /** Copies that the member's durable passed over are to be handed off again. */
  readonly again: boolean;
  /** Entries of the channel that were removed for it so far. */
  removed = 0;
  /** Entries whose copies were taken back for it so far, by sequence, with their channel. */
  readonly taken = new Map<number, string>();
  readonly #generation: number;
  readonly settle: (answer: ReviewAnswer) => void;
  readonly refuse: (error: Error) => void;

  constructor(of: ReviewOf & { settle: (answer: ReviewAnswer) => void; refuse: (error: Error) => void }) {
    this.channel = of.channel;
    this.again = of.again ?? false;
    this.#generation = of.generation ?? 0;
    this.settle = of.settle;
    this.refuse = of.refuse;
  }

  /** True for a copy of the channel whose generation the leave closed; mentions on it go too. */
  closes(copy: Pick<HeldCopy, 'channel' | 'generation'>): boolean {
    return copy.channel === this.channel && copy.generation <= this.#generation;
  }
}

export class Reviews {
  readonly #requests = new Map<string, ReviewRequest[]>();

  /** Resolves when the member's lane has made the review; rejects when it was refused. */
  ask(key: string, of: ReviewOf): Promise<ReviewAnswer> {
    return new Promise((settle, refuse) => {
      const request = new ReviewRequest({ ...of, settle, refuse });
      this.#requests.set(key, [...this.of(key), request]);
    });
  }

  of(key: string): readonly ReviewRequest[] {
    return this.#requests.get(key) ?? [];
  }

  answer(key: string, request: ReviewRequest, answer: ReviewAnswer): void {
    this.#drop(key, request);
    request.settle(answer);
  }

  #drop(key: string, request: ReviewRequest): void {
    const left = this.of(key).filter((each) => each !== request);
    if (left.length === 0) this.#requests.delete(key);
    else this.#requests.set(key, left);
  }

  /** Refuses those who asked because a grant had changed. A leave is owed its end, and has it with the next review. */
  refuse(key: string, error: Error): void {
    for (const request of this.of(key).filter(({ channel, again }) => channel === undefined && !again)) {
      this.#drop(key, request);
      request.refuse(error);
    }
  }

  answerAll(key: string, answer: ReviewAnswer): void {
    for (const request of this.of(key)) this.answer(key, request, answer);
  }

  /** The lanes are gone: nobody will answer. Whoever waits is left to its own end, which is the same doubt. */
  clear(): void {
    this.#requests.clear();
  }
}
