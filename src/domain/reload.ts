/**
 * Explicit reloads of the daemon's credential, and how one flight answers those who wait for it (C3, C4, C5). A credential
 * is known by its fingerprint: the SHA-256 of its JWT.
 */

/** One request that waits. `expected`: fingerprint of the credential that the caller has signed and stored. */
export interface Reload {
  readonly ticket: string;
  readonly expected: string;
}

export type ReloadAnswer =
  /** It is the one in use: the broker has accepted it. */
  | { readonly kind: 'adopted'; readonly fingerprint: string }
  | { readonly kind: 'starting' }
  /** The store has another one than the expected one. */
  | { readonly kind: 'other'; readonly expected: string; readonly found: string }
  | { readonly kind: 'unusable'; readonly why: string }
  /** The broker did not accept it. */
  | { readonly kind: 'unproved'; readonly fingerprint: string; readonly why: string };

export interface Answered {
  readonly ticket: string;
  readonly answer: ReloadAnswer;
}

/** Those who wait for the flight, and those who came after it had begun to read. */
export interface Waiting {
  readonly asked: readonly Reload[];
  readonly later: readonly Reload[];
}

/** Whether a credential that was found is to be proved: nobody asked for one, or somebody for this one. */
export const isWanted = ({ asked }: Pick<Waiting, 'asked'>, fingerprint: string): boolean =>
  asked.length === 0 || asked.some(({ expected }) => expected === fingerprint);

/** What those are told for whom a flight has ended, and who waits for the next one. */
export interface Settled {
  readonly answers: readonly Answered[];
  readonly left: readonly Reload[];
}

const other =
  (found: string) =>
  ({ ticket, expected }: Reload): Answered => ({ ticket, answer: { kind: 'other', expected, found } });

/** The flight has ended with this one in use. Of those who came later, those whom it satisfies need no other flight. */
export function landed({ asked, later }: Waiting, fingerprint: string): Settled {
  const isFor = ({ expected }: Reload) => expected === fingerprint;
  const adopted = [...asked, ...later]
    .filter(isFor)
    .map(({ ticket }): Answered => ({ ticket, answer: { kind: 'adopted', fingerprint } }));
  const others = asked.filter((reload) => !isFor(reload)).map(other(fingerprint));
  return { answers: [...adopted, ...others], left: later.filter((reload) => !isFor(reload)) };
}

/** The store has one that nobody of them asked for: it is not adopted. */
export const unwanted = ({ asked, later }: Waiting, found: string): Settled => ({
  answers: asked.map(other(found)),
  left: later,
});

/** The flight has failed: everybody whom it was for is told the same. */
export const failed = ({ asked, later }: Waiting, answer: ReloadAnswer): Settled => ({
  answers: asked.map(({ ticket }) => ({ ticket, answer })),
  left: later,
});
