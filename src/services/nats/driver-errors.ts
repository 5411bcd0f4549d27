/** Errors of the NATS client, parsed once, here at the edge, into what they mean. */
import { JetStreamApiError, JetStreamError } from '@nats-io/jetstream';
import {
  AuthorizationError,
  ClosedConnectionError,
  ConnectionError,
  DrainingConnectionError,
  NoRespondersError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
  UserAuthenticationExpiredError,
} from '@nats-io/nats-core';

export type DriverFailure =
  | { kind: 'denied'; subject: string; operation: 'publish' | 'subscription' }
  /** Nobody listens on the subject; right after a broker's start its own store may be that nobody. */
  | { kind: 'no-responders'; subject: string }
  | { kind: 'timeout' }
  /** JetStream said no. `code`: its own number (10071 …). `message`: its words. */
  | { kind: 'refused'; code: number; message: string }
  /** The connection is closed or closing, or was lost. */
  | { kind: 'disconnected' }
  | { kind: 'expired' }
  | { kind: 'unauthorized' }
  | { kind: 'unexpected'; message: string };

/** For a person: what the broker did not do, and its own number for it where it has one. */
export function wordsOfFailure(failure: { readonly kind: string }): string {
  const { kind, message, code, subject, operation, failure: inner } = { ...EMPTY, ...failure };
  if (inner !== undefined) return wordsOfFailure(inner);
  if (subject !== undefined)
    return kind === 'denied' ? `${operation} on ${subject} was denied` : `${kind} on ${subject}`;
  return message === undefined ? kind : `${message}${code === undefined ? '' : ` (${code})`}`;
}
interface Said {
  readonly message?: string;
  readonly code?: number | string;
  readonly subject?: string;
  readonly operation?: string;
  /** What holds a failure of the broker has nothing else to say. */
  readonly failure?: { readonly kind: string };
}
const EMPTY: Said = {};

/** A lost compare-and-set has either of two numbers. */
export const CONFLICT_CODES: readonly number[] = [10071, 10164];
export const DUPLICATE_IN_BATCH = 10201;
/** Replicated streams only: a message with this id was proposed and is not decided. */
export const ID_IN_PROCESS = 10158;
export const STREAM_NOT_FOUND = 10059;
export const CONSUMER_NOT_FOUND = 10014;
export const MESSAGE_NOT_FOUND = 10037;

/** Said to every request that waits when its connection is closed, in the class that otherwise only carries another error. */
const CONNECTION_CLOSED = 'connection closed';

/** What an error of the client means. The cause of a request's error is looked at too. */
export function parseDriverError(error: unknown): DriverFailure {
  if (error instanceof PermissionViolationError) {
    return { kind: 'denied', subject: error.subject, operation: error.operation };
  }
  if (error instanceof NoRespondersError) return { kind: 'no-responders', subject: error.subject };
  if (error instanceof JetStreamApiError) return { kind: 'refused', code: error.code, message: error.message };
  if (error instanceof JetStreamError) return { kind: 'refused', code: statusOf(error), message: error.message };
  if (error instanceof TimeoutError) return { kind: 'timeout' };
  if (error instanceof UserAuthenticationExpiredError) return { kind: 'expired' };
  if (error instanceof AuthorizationError) return { kind: 'unauthorized' };
  if (
    error instanceof ClosedConnectionError ||
    error instanceof DrainingConnectionError ||
    error instanceof ConnectionError
  ) {
    return { kind: 'disconnected' };
  }
  if (error instanceof RequestError && error.message === CONNECTION_CLOSED) return { kind: 'disconnected' };
  if (isWrapper(error) && error.cause !== undefined) return parseDriverError(error.cause);
  return { kind: 'unexpected', message: error instanceof Error ? error.message : String(error) };
}

/** The name that a dial found no address for, and the resolver's own word for it. Undefined: it failed for another reason. */
export function unresolvedName(error: unknown): { host: string; reason: string } | undefined {
  if (!(error instanceof Error)) return undefined;
  if (!('syscall' in error) || error.syscall !== 'getaddrinfo') return unresolvedName(error.cause);
  const [host, reason] = ['hostname' in error ? error.hostname : '', 'code' in error ? error.code : ''];
  return { host: String(host), reason: String(reason) };
}

/**
 * Errors that only carry another one. The client calls "no responders" of its store "JetStream not enabled", in a class
 * that it keeps to itself.
 */
const isWrapper = (error: unknown): error is Error =>
  error instanceof RequestError || (error instanceof Error && error.name === 'JetStreamNotEnabled');

/** The number of a status line (404, 408, 503 …): the client keeps its class to itself. */
const statusOf = (error: Error): number => ('code' in error && typeof error.code === 'number' ? error.code : 0);
