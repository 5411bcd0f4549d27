/**
 * What can go wrong between a port and the broker, said by a test in verbs. A fault is for one method (`entries.storeAll`),
 * for a port (`entries.*`) or for everything (`*`), and lasts for a number of calls, or until it is lifted.
 */
import type { Denied, Refused, Silent } from '../ports.ts';

type Fault =
  | { readonly kind: 'silent' }
  | { readonly kind: 'denied' }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'lost' }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'hold'; readonly until: Promise<void> };

interface Rule {
  readonly pattern: string;
  readonly fault: Fault;
  times: number;
}

/** Ends a fault. */
export type Lift = () => void;

export class Faults {
  #rules: Rule[] = [];
  readonly #held = new Set<() => void>();

  /** Nothing arrives and nothing is answered. */
  silent(pattern = '*', times = Number.POSITIVE_INFINITY): Lift {
    return this.#add({ pattern, fault: { kind: 'silent' }, times });
  }
  /** The rights do not suffice. */
  deny(pattern = '*', times = Number.POSITIVE_INFINITY): Lift {
    return this.#add({ pattern, fault: { kind: 'denied' }, times });
  }
  /** The broker says no, with its number. */
  refuse(pattern: string, code: string, times = Number.POSITIVE_INFINITY): Lift {
    return this.#add({ pattern, fault: { kind: 'refused', code }, times });
  }
  /** It is done, but the answer does not come back. */
  loseAnswer(pattern = '*', times = 1): Lift {
    return this.#add({ pattern, fault: { kind: 'lost' }, times });
  }
  /** It takes this long by the broker's clock. */
  delay(ms: number, pattern = '*', times = Number.POSITIVE_INFINITY): Lift {
    return this.#add({ pattern, fault: { kind: 'delay', ms }, times });
  }
  /** It is done, but answers wait until the hold is lifted. */
  hold(pattern = '*', times = Number.POSITIVE_INFINITY): Lift {
    let release = () => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    const lift = this.#add({ pattern, fault: { kind: 'hold', until }, times });
    const both = () => {
      lift();
      release();
      this.#held.delete(both);
    };
    this.#held.add(both);
    return both;
  }

  /** Lifts everything. */
  clear(): void {
    this.#rules = [];
    for (const release of [...this.#held]) release();
  }

  /** The fault that this call meets, if it does; taken off its rule. */
  take(verb: string): Fault | undefined {
    const rule = this.#rules.find(({ pattern, times }) => times > 0 && fits(pattern, verb));
    if (rule === undefined) return undefined;
    rule.times--;
    return rule.fault;
  }

  #add(rule: Rule): Lift {
    this.#rules.push(rule);
    return () => {
      this.#rules = this.#rules.filter((each) => each !== rule);
    };
  }
}

const fits = (pattern: string, verb: string): boolean =>
  pattern === '*' || pattern === verb || (pattern.endsWith('.*') && verb.startsWith(pattern.slice(0, -1)));

/** What a call comes to that never arrived. */
export function notArrived(fault: Fault | undefined, verb: string): Silent | Denied | Refused | undefined {
  switch (fault?.kind) {
    case 'silent':
      return { kind: 'silent', why: 'timeout' };
    case 'denied':
      return { kind: 'denied', subject: verb, operation: 'publish' };
    case 'refused':
      return { kind: 'refused', code: fault.code, message: `refused: ${verb}` };
    default:
      return undefined;
  }
}
