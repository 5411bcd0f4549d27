/** Parts of the credential chart that it has more than once: what a flight does to those who wait for it, and its steps. */
import { failed, landed, type ReloadAnswer, type Settled, unwanted } from '../domain/reload.ts';
import type { CredentialContext } from './credential.setup.ts';
import { type EffectFailed, ends, fact } from './effects.ts';

type Seen<E> = { context: CredentialContext; event: E };
export const surprise = ({ event }: { event: EffectFailed }) => ({ why: event.message });
export const since = ({ context }: { context: CredentialContext }) => ({ since: context.since });
export const ofOne = (...names: string[]) =>
  ({ type: 'isOf', params: ({ event }: { event: EffectFailed }) => ({ effect: event.effect, of: names }) }) as const;

export const FRESH = '#credential.Living.renewal.Fresh';
export const AWAITING = '#credential.Living.renewal.AwaitingProof';
export const RENEWED = '#credential.Living.renewal.Renewed';

/** Answers those for whom the flight was, and keeps those who wait for the next one. */
const settle = <E>(settled: (seen: Seen<E>) => Settled) =>
  [
    { type: 'answer', params: settled },
    { type: 'keepLeft', params: settled },
  ] as const;
export const land = settle<{ fingerprint: string }>(({ context, event }) => landed(context, event.fingerprint));
export const refuse = settle<{ fingerprint: string }>(({ context, event }) => unwanted(context, event.fingerprint));
/** A flight that found no renewal is told; everybody whom it was for is told why. Only a look of our own is counted. */
const fail = <E>(why: (event: E) => string, answer: (event: E) => ReloadAnswer) => {
  const told = { type: 'tellNotRenewed', params: ({ event }: Seen<E>) => ({ why: why(event) }) } as const;
  return [
    { guard: 'isOwnLook', target: `${FRESH}.Landed`, actions: [told, 'countFailure'] },
    {
      target: `${FRESH}.Landed`,
      actions: [told, ...settle<E>(({ context, event }) => failed(context, answer(event)))],
    },
  ] as const;
};
export const unusable = <E>(why: (event: E) => string) =>
  fail<E>(why, (event) => ({ kind: 'unusable', why: why(event) }));
export const unproved = fail<{ fingerprint: string; why: string }>(
  ({ why }) => why,
  ({ fingerprint, why }) => ({ kind: 'unproved', fingerprint, why }),
);
export const LATE = 'no answer in time';
export const notRenewed = (why: string) => ({ type: 'tellNotRenewed', params: { why } }) as const;
export const adopt = ['adopt', { type: 'tellAdopted', params: fact }, 'forgetFailures'] as const;
export const replaced = (connected: boolean) =>
  ({
    type: 'report',
    params: ({ event: { connection, at } }: { event: { connection: number; at: number } }) => ({
      type: 'connection.replaced' as const,
      connection,
      connected,
      at,
    }),
  }) as const;
export const opened = ['moveIn', 'forgetFailures', { type: 'keepConnection', params: fact }, replaced(true)] as const;
export const notDialled = ['countFailure', { type: 'tellNotDialled', params: fact }] as const;
export const queued = { 'reload.admitted': { actions: { type: 'queue', params: fact } } } as const;
export const flies = { 'reload.admitted': { target: 'Flying', actions: { type: 'queue', params: fact } } } as const;

export const read = { invoke: { id: 'readCredential', src: 'readCredential', ...ends } } as const;
export const prove = { invoke: { id: 'proveCredential', src: 'proveCredential', ...ends } } as const;
export const dial = { invoke: { id: 'openResident', src: 'openResident', ...ends } } as const;
