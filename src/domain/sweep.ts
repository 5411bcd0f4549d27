/**
 * Rules of the sweep: who is connected to our account, by the broker's own word, and what may be concluded from it.
 *
 *   - A scan is complete only when every server that is known of has answered (`known-servers.ts`), at least one has, and
 *     each has given every page that it owes.
 *   - Pages overlap: connections that end between two pages would shift others past the next one. A page that does not reach
 *     back to the one before makes the scan incomplete.
 *   - `gone` is said of a complete scan only, and one that was taken after the last kick.
 *   - What is kicked was there in the first scan. Whoever comes later is seen, and is not kicked: it may have a new credential.
 */
import { z } from 'zod';
import { readUserClaims } from './claims.ts';
import { type HeardServer, silenceOf } from './known-servers.ts';
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

const connectionSchema = z.object({
  cid: z.int().min(1),
  authorized_user: z.string().optional(),
  jwt: z.string().optional(),
  subscriptions_list: z.array(z.string()).optional(),
});

const answerSchema = z.object({
  server: z.looseObject({ id: z.string().min(1), name: z.string().optional(), host: z.string().optional() }),
  data: z.object({
    offset: z.int().min(0),
    total: z.int().min(0),
    connections: z.array(connectionSchema).nullish(),
  }),
});

/** How far one server has told. */
interface Told extends HeardServer {
  readonly upTo: number;
  readonly total: number;
  readonly lastCid: number;
}

export type ScanResult<T = LiveConnection> =
  | { readonly kind: 'complete'; readonly connections: readonly T[] }
  /** What was seen was there; nothing follows for what was not. */
  | { readonly kind: 'incomplete'; readonly why: string; readonly connections: readonly T[] };

/** What a scan asks of each connection. */
export interface ScanOf<T> {
  readonly subscriptions: boolean;
  /** Undefined: it does not say what it has to say. */
  read(connection: z.infer<typeof connectionSchema>, server: string): T | undefined;
}

const whose: ScanOf<LiveConnection> = {
  subscriptions: false,
  read: ({ cid, authorized_user: user, jwt }, server) => {
    const principal = jwt === undefined ? undefined : readUserClaims(jwt)?.name;
    return user === undefined || principal === undefined ? undefined : { server, cid, user, principal };
  },
};

/** Who has to answer: what the broker told of its cluster, and who answered before. */
export type Awaited = Pick<Parameters<typeof silenceOf>[0], 'urls' | 'expected'>;

/** One scan of an account, page by page. Everybody is asked for the same page at a time. */
export class AccountScan<T> {
  readonly #numbers: Pick<SweepNumbers, 'pageSize' | 'overlap' | 'mostPages'>;
  readonly #awaited: Awaited;
  readonly #of: ScanOf<T>;
  readonly #told = new Map<string, Told>();
  readonly #seen = new Map<string, T>();
  /** Servers that have answered for the page that is asked for now. */
  #answered = new Set<string>();
  #page = 0;
  #fault: string | undefined;

  constructor(numbers: Pick<SweepNumbers, 'pageSize' | 'overlap' | 'mostPages'>, awaited: Awaited, of: ScanOf<T>) {
    this.#numbers = numbers;
    this.#awaited = awaited;
    this.#of = of;
  }

  /** A scan for whose each connection is. */
  static ofPrincipals(
    numbers: Pick<SweepNumbers, 'pageSize' | 'overlap' | 'mostPages'>,
    awaited: Awaited,
  ): AccountScan<LiveConnection> {
    return new AccountScan(numbers, awaited, whose);
  }

  /** What is asked for now, as the body of the question. */
  question(): { auth: true; subscriptions: boolean; offset: number; limit: number } {
    return { auth: true, subscriptions: this.#of.subscriptions, offset: this.#offset, limit: this.#numbers.pageSize };
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
    for (const connection of connections) {
      const { cid } = connection;
      const read = this.#of.read(connection, server.id);
      if (read === undefined) return this.fail(`connection ${cid} of server ${server.id} does not say whose it is`);
      this.#seen.set(connectionKey({ server: server.id, cid }), read);
    }
    this.#told.set(server.id, {
      id: server.id,
      name: server.name ?? server.id,
      host: server.host,
      upTo: data.offset + connections.length,
      total: data.total,
      lastCid: last?.cid ?? before?.lastCid ?? 0,
    });
  }

  fail(why: string): void {
    this.#fault ??= why;
  }

  /** Who has answered. */
  get heard(): readonly HeardServer[] {
    return [...this.#told.values()];
  }

  /** Why it is not whole yet, of the servers that are known of; undefined when each of them has answered. */
  get silence(): string | undefined {
    return silenceOf({ ...this.#awaited, heard: this.heard });
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
    const { silence } = this;
    if (silence !== undefined) this.fail(silence);
    const late = [...this.#told].filter(([id, told]) => !isDone(told) && !this.#answered.has(id));
    if (late.length > 0) this.fail(`server ${late.map(([id]) => id).join(', ')} still owes a page`);
    if (this.#fault !== undefined || [...this.#told.values()].every(isDone)) return false;
    this.#page += 1;
    this.#answered = new Set();
    if (this.#page < this.#numbers.mostPages) return true;
    this.fail(`more than ${this.#numbers.mostPages} pages of connections`);
    return false;
  }

  result(): ScanResult<T> {
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
