/** What the credential machine hears and says. */
import type { Reload } from '../domain/reload.ts';
import type { EffectFailed } from './effects.ts';

export type LifeFact = { type: 'life.measured'; isDue: boolean; waitMs: number };
export type LookFact =
  /** The store has one that is not in use, and that its own dates do not forbid. */
  | { type: 'credential.found'; fingerprint: string }
  /** The store has the one that is in use. */
  | { type: 'credential.unchanged'; fingerprint: string }
  /** Missing, unreadable, of another account, expired. */
  | { type: 'credential.unusable'; why: string };
export type ProofFact =
  | { type: 'credential.proved'; fingerprint: string }
  /** The broker did not accept it, or was not there to be asked. */
  | { type: 'credential.unproved'; fingerprint: string; why: string };
export type ResidentFact =
  | { type: 'resident.opened'; connection: number; at: number }
  | { type: 'resident.unreachable'; connection: number; at: number; why: string };
export type ExpiryFact = { type: 'expiry.measured'; elapsedMs: number };

export type CredentialEvent =
  | LifeFact
  | LookFact
  | ProofFact
  | ResidentFact
  | ExpiryFact
  | EffectFailed
  | { type: 'credential.expired'; connection: number; at: number }
  /** The start-up is complete: the lease watch is bound. */
  | { type: 'daemon.started' }
  | ({ type: 'reload.asked' } & Reload)
  /** Of this machine to itself. */
  | ({ type: 'reload.admitted' } & Reload);

/** What the system is told. */
export type CredentialReport =
  | { type: 'connection.replaced'; connection: number; connected: boolean; at: number }
  | { type: 'credential.lapsed' };

export interface CredentialInput {
  /** Number of the first resident connection. */
  readonly connection: number;
  readonly backstopMs: number;
}
