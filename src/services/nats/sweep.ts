/**
 * The sweep over a real broker: observer and evictor of the system account, read from the daemon's own store at every use.
 * Admission at the start is `admit`, and so is what every sweep begins with: the same rule over the same source. The account
 * is pinned by the daemon's own credential, never by where somebody stands.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/nats-core';
import { z } from 'zod';
import { describeError, Plane3Error } from '../../domain/errors/catalogue.ts';
import type { KnownServers } from '../../domain/known-servers.ts';
import { readJson, shaped } from '../../domain/message.ts';
import { refuseObserver } from '../../domain/observer.ts';
import { inboxPrefix } from '../../domain/permissions.ts';
import type { DataOf } from '../../domain/rail.ts';
import {
  AccountScan,
  connectionKey,
  connectionsOf,
  evictionResults,
  type LiveConnection,
  livenessIn,
  type ScanResult,
  type SweepNumbers,
  sweepNumbers,
} from '../../domain/sweep.ts';
import { type Credential, readCreds } from '../credential.ts';
import type { Gate } from '../fence.ts';
import type { SecretStore } from '../ports.ts';
import type { Tally } from '../tally.ts';
import { scanAccount, toldOfCluster } from './account-scan.ts';
import { connectOnce, type Dial } from './connect.ts';
import { parseDriverError } from './driver-errors.ts';

export interface SweepSource {
  readonly store: Pick<SecretStore, 'read'>;
  /** Public key of the account that the daemon belongs to. */
  readonly account: string;
  /** How the broker is reached; whose credential is presented, the sweep says. */
  readonly dial: Omit<Dial, 'credential' | 'name'>;
  nowMs(): number;
}

export interface SystemCredentials {
  readonly observer: Credential;
  /** Absent: nobody can be evicted, which is said by name when it is asked for. */
  readonly evictor: Credential | undefined;
}

/** @throws Plane3Error `start.observer` naming what is wrong with the observer, or with the pair. */
export async function admit({
  store,
  account,
  nowMs,
}: Pick<SweepSource, 'store' | 'account' | 'nowMs'>): Promise<SystemCredentials> {
  const [observerText, evictorText] = await Promise.all([store.read('observer'), store.read('evictor')]);
  const observer = observerText === undefined ? undefined : readCreds(observerText, 'observer.creds');
  const evictor = evictorText === undefined ? undefined : readCreds(evictorText, 'evictor.creds');
  const reason = refuseObserver({
    observer: observer?.claims,
    evictor: evictor?.claims,
    account,
    nowMs: nowMs(),
  });
  if (reason !== undefined || observer === undefined) {
    throw new Plane3Error('start.observer', { reason: reason ?? 'observer.creds is missing' });
  }
  return { observer, evictor };
}

const kickedSchema = z.union([
  z.object({ error: z.object({ code: z.number(), description: z.string() }) }),
  z.object({ server: z.object({ id: z.string() }), error: z.undefined().optional() }),
]);

type Op = 'evictPrincipals' | 'principalLiveness';

export class Sweeper {
  readonly #source: SweepSource;
  readonly #gate: Gate;
  readonly #tally: Tally;
  readonly #servers: KnownServers;
  readonly #numbers: SweepNumbers;

  /**
   * `gate`: asked before every kick; while it is shut nobody is kicked and nothing is answered. `servers`: whom the sweeps of
   * this process have heard.
   */
  constructor(of: { source: SweepSource; gate: Gate; tally: Tally; servers: KnownServers; numbers?: SweepNumbers }) {
    this.#source = of.source;
    this.#gate = of.gate;
    this.#tally = of.tally;
    this.#servers = of.servers;
    this.#numbers = of.numbers ?? sweepNumbers;
  }

  /** Scans, read-only. @throws Plane3Error `rail.not-wired` when there is no observer that is good. */
  async liveness(principal: string): Promise<DataOf<'principalLiveness'>> {
    const { observer } = await this.#credentials('principalLiveness');
    return this.#connected<DataOf<'principalLiveness'>>(
      'observer',
      observer,
      async (opened) => livenessIn(await this.#scan(opened), principal),
      (note) => ({ liveness: 'unknown', note }),
    );
  }

  /**
   * One shared sweep for all of them: scan, kick what was there, scan again, at most three times.
   * @throws Plane3Error `rail.not-wired` naming the file that is missing or not good; nobody was kicked.
   */
  async evict(principals: readonly string[]): Promise<DataOf<'evictPrincipals'> | 'silent'> {
    const { observer, evictor } = await this.#credentials('evictPrincipals');
    if (evictor === undefined) {
      const reason = 'evictor.creds is missing; "cotal doctor --fix" makes one';
      throw new Plane3Error('rail.not-wired', { op: 'evictPrincipals', reason });
    }
    this.#tally.add('sweep.requests');
    const unseen = { kind: 'incomplete', connections: [] } as const;
    const none = (why: string) => ({ results: evictionResults(principals, { last: { ...unseen, why }, kicked: [] }) });
    return this.#connected<DataOf<'evictPrincipals'> | 'silent'>(
      'observer',
      observer,
      async (watching) => {
        const wanted = new Set(principals);
        let last = await this.#scan(watching);
        const mayBeKicked = new Set(connectionsOf(last, wanted).map(connectionKey));
        const kicked: string[] = [];
        let note: string | undefined;
        for (let round = 0; round < this.#numbers.rounds; round++) {
          const targets = connectionsOf(last, wanted).filter((each) => mayBeKicked.has(connectionKey(each)));
          if (targets.length === 0 && last.kind === 'complete') break;
          const kicks = await this.#kick(evictor, targets);
          if (kicks === 'silent') return 'silent';
          kicked.push(...kicks.kicked);
          note = kicks.note ?? note;
          // Whoever comes back at once, because it was not revoked, is to be seen.
          if (kicks.kicked.length > 0) await pause(this.#numbers.settleMs);
          last = await this.#scan(watching);
        }
        if (this.#gate() !== undefined) return 'silent';
        if (connectionsOf(last, wanted).some((each) => !mayBeKicked.has(connectionKey(each)))) {
          note ??= 'it has connected again: its credential was not revoked, or a newer one is in use';
        }
        return { results: evictionResults(principals, { last, kicked, ...(note === undefined ? {} : { note }) }) };
      },
      none,
    );
  }

  async #credentials(op: Op): Promise<SystemCredentials> {
    try {
      return await admit(this.#source);
    } catch (error) {
      if (!(error instanceof Plane3Error)) throw error;
      throw new Plane3Error('rail.not-wired', { op, reason: describeError(error).message }, { cause: error });
    }
  }

  /** Works over a connection of its own; `without`: what is answered where none comes about. */
  async #connected<T>(
    name: 'observer' | 'evictor',
    credential: Credential,
    work: (opened: Opened) => Promise<T>,
    without: (why: string) => T,
  ): Promise<T> {
    let connection: NatsConnection;
    try {
      connection = await connectOnce({ ...this.#source.dial, name, credential });
    } catch (error) {
      const failure = parseDriverError(error);
      return without(`the ${name} cannot connect: ${failure.kind === 'unexpected' ? failure.message : failure.kind}`);
    }
    try {
      return await work({ connection, inboxPrefix: inboxPrefix(credential.publicKey) });
    } finally {
      await connection.close();
    }
  }

  async #scan(opened: Opened): Promise<ScanResult> {
    this.#tally.add('sweep.scans');
    const told = toldOfCluster(opened.connection);
    const scan = AccountScan.ofPrincipals(this.#numbers, { urls: told.urls, expected: this.#servers.expect(told) });
    const result = await scanAccount({ ...opened, account: this.#source.account }, scan, this.#numbers);
    this.#servers.keep(scan.heard);
    return result;
  }

  async #kick(
    evictor: Credential,
    targets: readonly LiveConnection[],
  ): Promise<{ kicked: string[]; note?: string } | 'silent'> {
    if (targets.length === 0) return { kicked: [] };
    return this.#connected<{ kicked: string[]; note?: string } | 'silent'>(
      'evictor',
      evictor,
      async ({ connection }) => {
        const kicked: string[] = [];
        let note: string | undefined;
        for (let from = 0; from < targets.length; from += this.#numbers.kicksAtOnce) {
          if (this.#gate() !== undefined) return 'silent';
          const part = targets.slice(from, from + this.#numbers.kicksAtOnce);
          const outcomes = await Promise.all(part.map((target) => kickOne(connection, target, this.#numbers.capMs)));
          for (const [at, outcome] of outcomes.entries()) {
            if (outcome === 'kicked') kicked.push(part[at]?.principal ?? '');
            else if (outcome !== 'gone') note ??= outcome.why;
          }
        }
        this.#tally.add('sweep.kicks', '', kicked.length);
        return { kicked, ...(note === undefined ? {} : { note }) };
      },
      (note) => ({ kicked: [], note }),
    );
  }
}

interface Opened {
  readonly connection: NatsConnection;
  readonly inboxPrefix: string;
}

/** The server's number for a connection that it does not have. */
const NO_SUCH_CLIENT = 500;

async function kickOne(
  connection: NatsConnection,
  { server, cid }: LiveConnection,
  timeout: number,
): Promise<'kicked' | 'gone' | { why: string }> {
  try {
    const reply = await connection.request(`$SYS.REQ.SERVER.${server}.KICK`, JSON.stringify({ cid }), { timeout });
    const answer = shaped(kickedSchema, readJson(reply.data));
    if (answer === undefined) return { why: `server ${server} answered the kick with something unreadable` };
    if (answer.error === undefined) return 'kicked';
    return answer.error.code === NO_SUCH_CLIENT ? 'gone' : { why: answer.error.description };
  } catch (error) {
    const failure = parseDriverError(error);
    return { why: `the kick was not answered: ${failure.kind === 'unexpected' ? failure.message : failure.kind}` };
  }
}
