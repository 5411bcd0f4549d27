/** What the checker says: one finding a fault, in words that name who, what and when. */
export type Charge =
  /** A current member never saw a post that it was owed, or the store lost what it had acknowledged. */
  | 'lost'
  /** Something surfaced, or was handed off, outside of interval or ACL. */
  | 'unauthorized'
  /** An effect of a daemon while another one held the lease. */
  | 'double-serving'
  /** A post surfaced again without any reason that at-least-once gives. */
  | 'duplicate'
  /** A refusal, or an end of a daemon, that nothing in the histories explains. */
  | 'unexplained'
  /** After everything was well again something stayed owed or in the stores. */
  | 'unsettled';

export interface Finding {
  readonly charge: Charge;
  readonly at: number;
  readonly what: string;
}

export const finding = (charge: Charge, at: number, what: string): Finding => ({ charge, at, what });
