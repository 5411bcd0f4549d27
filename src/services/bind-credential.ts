/** The credential machine over the keeper of credentials, the proof against the broker, and the resident connection. */
import type { Numbers } from '../domain/numbers.ts';
import { backOff } from '../domain/pacing.ts';
import type { Answered } from '../domain/reload.ts';
import type { ExpiryFact, LifeFact, LookFact, ProofFact, ResidentFact } from '../machines/credential.facts.ts';
import { credentialMachine } from '../machines/credential.machine.ts';
import { ask } from './bind-effects.ts';
import type { Journal } from './ports.ts';

export interface CredentialServices {
  readonly journal: Journal;
  readonly numbers: Numbers;
  nextLook(): { isDue: boolean; waitMs: number };
  /** Reads the source again; what is found becomes the candidate. */
  look(): Promise<{ kind: 'found' | 'unchanged'; fingerprint: string } | { kind: 'unusable'; why: string }>;
  /** Proves the candidate against the broker. */
  prove(): Promise<{ kind: 'proved'; fingerprint: string } | { kind: 'unproved'; fingerprint: string; why: string }>;
  adopt(): void;
  /** Dials another resident connection; it is one from `moveIn` on. */
  dialNext(): Promise<
    | { kind: 'opened'; connection: number; at: number }
    | { kind: 'unreachable'; connection: number; at: number; why: string }
  >;
  moveIn(): void;
  elapsedSince(since: number): number;
  answer(answered: Answered): void;
  /** Whoever waits for an answer hears nothing. */
  silence(): void;
}

export function bindCredential(services: CredentialServices) {
  const { journal, numbers } = services;
  return credentialMachine.provide({
    actors: {
      measureLife: ask<LifeFact, undefined>(async () => ({ type: 'life.measured', ...services.nextLook() })),
      readCredential: ask<LookFact, undefined>(async () => {
        const { kind, ...look } = await services.look();
        return { type: `credential.${kind}`, ...look } as LookFact;
      }),
      proveCredential: ask<ProofFact, undefined>(async () => {
        const { kind, ...proof } = await services.prove();
        return { type: `credential.${kind}`, ...proof } as ProofFact;
      }),
      openResident: ask<ResidentFact, undefined>(async () => {
        const { kind, ...next } = await services.dialNext();
        return { type: `resident.${kind}`, ...next } as ResidentFact;
      }),
      measureExpiry: ask<ExpiryFact, { since: number }>(async ({ since }) => ({
        type: 'expiry.measured',
        elapsedMs: services.elapsedSince(since),
      })),
    },
    actions: {
      adopt: () => services.adopt(),
      moveIn: () => services.moveIn(),
      silence: () => services.silence(),
      answer: (_, { answers }) => {
        for (const answered of answers) services.answer(answered);
      },
      tellExpired: () => journal.tell('credential.expired'),
      tellLapsed: () => journal.tell('credential.lapsed'),
      tellAdopted: (_, { fingerprint }) => journal.tell('credential.adopted', { fingerprint }),
      tellNotRenewed: (_, { why }) => journal.tell('credential.not-renewed', { why }),
      tellNotDialled: (_, { why }) => journal.tell('credential.not-dialled', { why }),
    },
    delays: {
      flightDeadline: numbers.credentialFlightMs,
      lookAgain: ({ context }) => backOff(context.failures, numbers.credentialRetryMs, numbers.credentialRetryLimitMs),
      waitForRenewal: ({ context }) => backOff(context.failures, numbers.renewalRetryMs, numbers.renewalRetryLimitMs),
      dialAgain: ({ context }) => backOff(context.failures, numbers.renewalRetryMs, numbers.renewalRetryLimitMs),
    },
  });
}
