/**
 * The engine: the provider plane's rules over a storage port, without transport. Every operation is a function that takes
 * the engine and one object, and answers with a tagged outcome or rows; it rejects only when storage does.
 */
import type { ProviderLimits } from '../../domain/provider/limits.ts';
import type { Storage } from '../storage/port.ts';

export interface Engine {
  readonly storage: Storage;
  readonly limits: ProviderLimits;
  /** Milliseconds. */
  now(): number;
  /** A fresh random id with that prefix. */
  newId(prefix: string): string;
}

/** Unix seconds, as the database has them. */
export const seconds = (engine: Pick<Engine, 'now'>): number => Math.floor(engine.now() / 1000);

/** Which provider of which node. */
export interface ProviderAt {
  readonly workspace: string;
  readonly node: string;
  readonly provider: string;
}

const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

export const randomHex = (digits: number): string => hex(crypto.getRandomValues(new Uint8Array(digits / 2)));

export const randomId = (prefix: string): string => `${prefix}_${randomHex(24)}`;
