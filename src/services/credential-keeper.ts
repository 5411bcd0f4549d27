/**
 * The delivery credential of this process: where it is read, which one is in use, and which ones are not presented any
 * more. Whoever dials asks here, at every dial, so that everybody has the freshest one (C6), and nobody an expired one (C1):
 * one that the broker has called expired, or that is so by its own date.
 */
import { accountOf } from '../domain/claims.ts';
import { isExpired, nextLook } from '../domain/credential-life.ts';
import { describeError, Plane3Error } from '../domain/errors/catalogue.ts';
import { type Credential, fingerprintOf, readCreds } from './credential.ts';
import type { Clock } from './ports.ts';

export interface CredentialSource {
  /** Where it is read from, for messages: the name of the file. */
  readonly name: string;
  /** The text of the creds file of this moment; undefined when there is none. */
  read(): Promise<string | undefined>;
}

export type Look =
  /** Another one than the one in use. It is kept as the candidate. */
  | { kind: 'found'; fingerprint: string }
  | { kind: 'unchanged'; fingerprint: string }
  | { kind: 'unusable'; why: string };

export class CredentialKeeper {
  readonly #source: CredentialSource;
  readonly #clock: Clock;
  #current: Credential | undefined;
  #candidate: Credential | undefined;
  /** The last one that was in use for each user key: a connection keeps its key for life. */
  readonly #byKey = new Map<string, Credential>();
  /** Fingerprints of those that the broker has called expired. */
  readonly #expired = new Set<string>();

  constructor({ source, clock }: { source: CredentialSource; clock: Clock }) {
    this.#source = source;
    this.#clock = clock;
  }

  /**
   * Reads the first one.
   * @throws Plane3Error `start.credential` naming what is missing or expired, `credential.unreadable`.
   */
  async begin(): Promise<Credential> {
    const text = await this.#source.read();
    if (text === undefined) throw new Plane3Error('start.credential', { reason: `${this.#source.name} is missing` });
    const credential = readCreds(text, this.#source.name);
    const expired = this.#whyExpired(credential);
    if (expired !== undefined) throw new Plane3Error('start.credential', { reason: expired });
    this.#use(credential);
    return credential;
  }

  /** The one in use, presented or not. */
  get current(): Credential {
    if (this.#current === undefined) throw new Error('no credential was read yet');
    return this.#current;
  }

  /**
   * The one to dial with.
   * @throws Plane3Error `credential.expired`.
   */
  freshest(): Credential {
    return this.#presentable(this.current);
  }

  /**
   * The freshest one of this user key, for a connection that reconnects.
   * @throws Plane3Error `credential.expired`.
   */
  freshestOf(publicKey: string): Credential {
    return this.#presentable(this.#byKey.get(publicKey) ?? this.current);
  }

  /** The broker has called this one expired. */
  expired({ jwt }: Pick<Credential, 'jwt'>): void {
    this.#expired.add(fingerprintOf(jwt));
  }

  nextLook(): { isDue: boolean; waitMs: number } {
    return nextLook(this.current.claims, this.#clock.now().wallMs);
  }

  /** Reads the source again. Another credential becomes the candidate, unless it could not be used anyway. */
  async look(): Promise<Look> {
    this.#candidate = undefined;
    const { name } = this.#source;
    try {
      const text = await this.#source.read();
      if (text === undefined) return { kind: 'unusable', why: `${name} is missing` };
      const found = readCreds(text, name);
      const expired = this.#whyExpired(found);
      if (expired !== undefined) return { kind: 'unusable', why: expired };
      if (accountOf(found.claims) !== accountOf(this.current.claims)) {
        return { kind: 'unusable', why: `${name} is of another account` };
      }
      this.#candidate = found;
      const fingerprint = fingerprintOf(found.jwt);
      return { kind: fingerprint === fingerprintOf(this.current.jwt) ? 'unchanged' : 'found', fingerprint };
    } catch (error) {
      return { kind: 'unusable', why: describeError(error).message };
    }
  }

  /** What the last look found. */
  get candidate(): Credential {
    if (this.#candidate === undefined) throw new Error('no candidate was found');
    return this.#candidate;
  }

  /** The candidate is the one in use from here on. */
  adopt(): void {
    this.#use(this.candidate);
  }

  #use(credential: Credential): void {
    this.#current = credential;
    this.#byKey.set(credential.publicKey, credential);
  }

  #presentable(credential: Credential): Credential {
    const why = this.#whyExpired(credential);
    if (why !== undefined) throw new Plane3Error('credential.expired', { reason: why });
    return credential;
  }

  #whyExpired({ jwt, claims }: Credential): string | undefined {
    const { name } = this.#source;
    const at = claims.exp === undefined ? '' : ` at ${new Date(claims.exp * 1000).toISOString()}`;
    if (isExpired(claims, this.#clock.now().wallMs)) return `${name} expired${at}`;
    return this.#expired.has(fingerprintOf(jwt)) ? `the broker has called ${name} expired` : undefined;
  }
}
