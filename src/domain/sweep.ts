/**
 * Rules of the sweep: who is connected to our account, by the broker's own word, and what may be concluded from it.
 *
 *   - A scan is complete only when every server that answered has given every page that it owes, and at least one answered.
 *   - Pages overlap: connections that end between two pages would shift others past the next one. A page that does not reach
 *     back to the one before makes the scan incomplete.
 *   - `gone` is said of a complete scan only, and one that was taken after the last kick.
 *   - What is kicked was there in the first scan. Whoever comes later is seen, and is not kicked: it may have a new credential.
 */
import { z } from 'zod';
import { readUserClaims } from './claims.ts';
import type { EvictionResult } from './rail.ts';

export const sweepNumbers = {
  /** Connections in one page, at most (the broker's own limit). */
  pageSize: 1_024,
  /** By how much a page reaches back into the one before. */
  overlap: 64,
  mostPages: 64,
  /** After an answer, further servers are waited for this long … */
  settleMs: 250,
  /** … and for one page in all, at most this long. */
  capMs: 2_000,
  kicksAtOnce: 16,
  /** Kicks, each followed by a scan, at most. */
  rounds: 3,
} as const;
export type SweepNumbers = { readonly [K in keyof typeof sweepNumbers]: number };

export interface LiveConnection {
  readonly server: string;
  readonly cid: number;
  /** User key of its credential. */
  readonly user: string;
  /** `owner.actor` that its credential was made out to. */
  readonly principal: string;
}

export const connectionKey = ({ server, cid }: Pick<LiveConnection, 'server' | 'cid'>): string => `${server}/${cid}`;

const answerSchema = z.object({
  server: z.looseObject({ id: z.string().min(1) }),
  data: z.object({
    offset: z.int().min(0),
    total: z.int().min(0),
    connections: z
      .array(z.object({ cid: z.int().min(1), authorized_user: z.string().optional(), jwt: z.string().optional() }))
      .nullish(),
  }),
});

/** How far one server has told. */
interface Told {
  readonly upTo: number;
  readonly total: number;
  readonly lastCid: number;
}

export type ScanResult =
  | { readonly kind: 'complete'; readonly connections: readonly LiveConnection[] }
  /** What was seen was there; nothing follows for what was not. */
  | { readonly kind: 'incomplete'; readonly why: string; readonly connections: readonly LiveConnection[] };

/** One scan of an account, page by page. Everybody is asked for the same page at a time. */
export class AccountScan {
  readonly #numbers: Pick<SweepNumbers, 'pageSize' | 'overlap' | 'mostPages'>;
  readonly #told = new Map<string, Told>();
  readonly #seen = new Map<string, LiveConnection>();
  /** Servers that have answered for the page that is asked for now. */
  #answered = new Set<string>();
  #page = 0;
  #fault: string | undefined;

  constructor(numbers: Pick<SweepNumbers, 'pageSize' | 'overlap' | 'mostPages'>) {
    this.#numbers = numbers;
  }

  /** What is asked for now, as the body of the question. */
  question(): { auth: true; subscriptions: false; offset: number; limit: number } {
    return { auth: true, subscriptions: false, offset: this.#offset, limit: this.#numbers.pageSize };
  }

  get #offset(): number {
    return this.#page * (this.#numbers.pageSize - this.#numbers.overlap);
  }

  /** Takes the parsed answer of one server. */
  take(answer: unknown): void {
    const parsed = answerSchema.safeParse(answer);
    if (!parsed.success) return this.fail('an answer of the broker cannot be read');
    const { server, data } = parsed.data;
    const before = this.#told.get(server.id);
    if (this.#page > 0 && before === undefined) return this.fail(`server ${server.id} answered too late`);
    if (this.#answered.has(server.id) || (before !== undefined && isDone(before))) return;
    if (data.offset !== this.#offset) return this.fail(`server ${server.id} answered for another page`);
    this.#answered.add(server.id);
    const connections = data.connections ?? [];
    const [first] = connections;
    const last = connections.at(-1);
    if (connections.length === 0 && data.total > data.offset) {
      return this.fail(`server ${server.id} left a page empty`);
    }
    if (before !== undefined && (first === undefined || first.cid > before.lastCid) && data.total > before.upTo) {
      return this.fail(`connections came and went on server ${server.id} between two pages`);
    }
    for (const { cid, authorized_user: user, jwt } of connections) {
      const principal = jwt === undefined ? undefined : readUserClaims(jwt)?.name;
      if (user === undefined || principal === undefined) {
        return this.fail(`connection ${cid} of server ${server.id} does not say whose it is`);
      }
      const connection = { server: server.id, cid, user, principal };
      this.#seen.set(connectionKey(connection), connection);
    }
    this.#told.set(server.id, {
      upTo: data.offset + connections.length,
      total: data.total,
      lastCid: last?.cid ?? before?.lastCid ?? 0,
    });
  }

  fail(why: string): void {
    this.#fault ??= why;
  }

  /** True when nobody that is known to owe something of this page is still silent. */
  get isSettled(): boolean {
    return (
      this.#fault !== undefined ||
      (this.#page > 0 && [...this.#told].every(([id, told]) => this.#answered.has(id) || isDone(told)))
    );
  }

  /** Ends the page. True: there is a further one to ask for. */
  turn(): boolean {
    if (this.#told.size === 0) this.fail('no server answered');
    const late = [...this.#told].filter(([id, told]) => !isDone(told) && !this.#answered.has(id));
    if (late.length > 0) this.fail(`server ${late.map(([id]) => id).join(', ')} still owes a page`);
    if (this.#fault !== undefined || [...this.#told.values()].every(isDone)) return false;
    this.#page += 1;
    this.#answered = new Set();
    if (this.#page < this.#numbers.mostPages) return true;
    this.fail(`more than ${this.#numbers.mostPages} pages of connections`);
    return false;
  }

  result(): ScanResult {
    const connections = [...this.#seen.values()];
    return this.#fault === undefined
      ? { kind: 'complete', connections }
      : { kind: 'incomplete', why: this.#fault, connections };
  }
}

const isDone = ({ upTo, total }: Told): boolean => upTo >= total;

/** Connections of these principals. */
export const connectionsOf = (scan: ScanResult, principals: ReadonlySet<string>): LiveConnection[] =>
  scan.connections.filter(({ principal }) => principals.has(principal));

export interface SweepOutcome {
  /** Taken after the last kick. */
  readonly last: ScanResult;
  /** Principals of the connections that the broker said it ended, one for each. */
  readonly kicked: readonly string[];
  /** What went wrong with a kick. */
  readonly note?: string;
}

/** What is answered of each principal, in the order in which they were asked for. */
export function evictionResults(principals: readonly string[], outcome: SweepOutcome): EvictionResult[] {
  const { last, kicked } = outcome;
  const count = (names: readonly string[], name: string) => names.filter((each) => each === name).length;
  const there = last.connections.map(({ principal }) => principal);
  return principals.map((principal) => {
    const remaining = count(there, principal);
    const scanComplete = last.kind === 'complete';
    const verifiedGone = scanComplete && remaining === 0;
    const note = last.kind === 'incomplete' ? last.why : remaining > 0 ? outcome.note : undefined;
    return {
      principal,
      kicked: count(kicked, principal),
      remaining,
      verifiedGone,
      scanComplete,
      ...(note === undefined ? {} : { note }),
    };
  });
}

/** `gone` is said of a complete scan only; who was seen is live, whatever else was not. */
export function livenessIn(
  scan: ScanResult,
  principal: string,
): { liveness: 'live' | 'gone' | 'unknown'; note?: string } {
  if (connectionsOf(scan, new Set([principal])).length > 0) return { liveness: 'live' };
  return scan.kind === 'complete' ? { liveness: 'gone' } : { liveness: 'unknown', note: scan.why };
}
