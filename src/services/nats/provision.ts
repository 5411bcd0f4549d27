/**
 * Makes the store of a space, or says how the one that is there differs. Everything is looked at first; only when nothing
 * differs is what is missing made, so that a refusal leaves the store as it was. Nothing that is there is ever changed.
 */
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { type Difference, differencesOf } from '../../domain/differences.ts';
import { type ConsumerLayout, type LayoutOptions, standingConsumers, streamLayouts } from '../../domain/layout.ts';
import { CONSUMER_NOT_FOUND, type DriverFailure, parseDriverError, STREAM_NOT_FOUND } from './driver-errors.ts';

export type ProvisionOutcome =
  /** `created`: what was missing and is there now. */
  | { kind: 'ready'; created: string[] }
  /** Nothing was made. */
  | { kind: 'differs'; differences: Difference[] }
  /** The broker did not do one thing; `created` was made before it. */
  | { kind: 'failed'; what: string; failure: DriverFailure; created: string[] };

/** One thing of the store: how to look at it, and how to make it. */
interface Piece {
  readonly what: string;
  readonly wanted: object;
  look(): Promise<object | undefined>;
  make(): Promise<object>;
}

type Asked = LayoutOptions & { connection: NatsConnection; timeoutMs?: number };

export async function provision(asked: Asked): Promise<ProvisionOutcome> {
  const created: string[] = [];
  for (const pieces of await piecesOf(asked)) {
    const outcome = await settle(pieces, created);
    if (outcome.kind !== 'ready') return outcome;
  }
  return { kind: 'ready', created };
}

/** What of the store is missing, and what differs from the wanted layout. Nothing is made. */
export async function compareStore(
  asked: Asked,
): Promise<
  | { kind: 'read'; missing: string[]; differences: Difference[] }
  | { kind: 'failed'; what: string; failure: DriverFailure }
> {
  const seen = await look((await piecesOf(asked)).flat());
  return seen.kind === 'failed' ? seen : { ...seen, missing: seen.missing.map(({ what }) => what) };
}

async function piecesOf(asked: Asked): Promise<Piece[][]> {
  const { connection, timeoutMs = 5_000, ...options } = asked;
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: timeoutMs });
  const streams = streamLayouts(options).map(
    (wanted): Piece => ({
      what: `stream ${wanted.name}`,
      wanted,
      look: async () => (await unless(STREAM_NOT_FOUND, () => manager.streams.info(wanted.name)))?.config,
      make: async () => (await manager.streams.add(wanted)).config,
    }),
  );
  const consumers = standingConsumers(options.space).map(({ stream, config }) =>
    consumerPiece(manager, stream, config),
  );
  return [streams, consumers];
}

/** A durable consumer as a piece of the store. */
export function consumerPiece(manager: JetStreamManager, stream: string, wanted: ConsumerLayout): Piece {
  const name = wanted.durable_name;
  return {
    what: `consumer ${name} on ${stream}`,
    wanted,
    look: async () => (await unless(CONSUMER_NOT_FOUND, () => manager.consumers.info(stream, name)))?.config,
    make: async () => (await manager.consumers.add(stream, wanted)).config,
  };
}

async function look(
  pieces: readonly Piece[],
): Promise<
  | { kind: 'read'; missing: Piece[]; differences: Difference[] }
  | { kind: 'failed'; what: string; failure: DriverFailure }
> {
  const seen = await Promise.all(pieces.map((piece) => attempt(piece, () => piece.look())));
  const missing: Piece[] = [];
  const differences: Difference[] = [];
  for (const { piece, result } of seen) {
    if ('failure' in result) return { kind: 'failed', what: piece.what, failure: result.failure };
    if (result.config === undefined) missing.push(piece);
    else differences.push(...differencesOf(piece.what, result.config, piece.wanted));
  }
  return { kind: 'read', missing, differences };
}

/** Looks at all pieces, then makes the missing ones, several at a time. */
async function settle(pieces: readonly Piece[], created: string[]): Promise<ProvisionOutcome> {
  const seen = await look(pieces);
  if (seen.kind === 'failed') return { ...seen, created };
  const { missing, differences } = seen;
  if (differences.length > 0) return { kind: 'differs', differences };
  const made = await Promise.all(missing.map((piece) => attempt(piece, () => piece.make())));
  const failed = made.find(({ result }) => 'failure' in result);
  created.push(...made.filter(({ result }) => 'config' in result).map(({ piece }) => piece.what));
  if (failed !== undefined && 'failure' in failed.result) {
    return { kind: 'failed', what: failed.piece.what, failure: failed.result.failure, created };
  }
  return { kind: 'ready', created };
}

type Result = { config: object | undefined } | { failure: DriverFailure };

async function attempt(
  piece: Piece,
  work: () => Promise<object | undefined>,
): Promise<{ piece: Piece; result: Result }> {
  try {
    return { piece, result: { config: await work() } };
  } catch (error) {
    return { piece, result: { failure: parseDriverError(error) } };
  }
}

/** The work's answer, or undefined when JetStream refused it with this code. */
async function unless<T>(code: number, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const failure = parseDriverError(error);
    if (failure.kind === 'refused' && failure.code === code) return undefined;
    throw error;
  }
}
