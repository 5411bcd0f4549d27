/**
 * credential: the daemon's own credential, from one renewal to the next.
 *
 *   C1  an expired credential is never presented again: nothing is dialled with it, here or anywhere
 *   C2  a renewal is adopted only after the broker accepted it on a connection of its own, which is thrown away
 *   C3  explicit reloads and the re-read at 75 % share one flight, which ends by its deadline
 *   C4  a reload is refused until the start-up is complete; a refusal adopts nothing
 *   C5  what is another credential is judged by the fingerprint
 *   C7  a proved renewal builds a new resident connection; where the old one had ended and the dial fails, the watch of
 *       the broker goes on from there
 *   B5  from the expiry until a proved renewal only the backstop from the expiry runs
 *
 * The credentials themselves are in the keeper, which is behind the effects.
 */
import {
  AWAITING,
  adopt,
  dial,
  FRESH,
  flies,
  LATE,
  land,
  notDialled,
  notRenewed,
  ofOne,
  opened,
  prove,
  queued,
  RENEWED,
  read,
  refuse,
  replaced,
  since,
  surprise,
  unproved,
  unusable,
} from './credential.parts.ts';
import { credential } from './credential.setup.ts';
import { deafToLateFailures, type EffectFailed, ends, fact } from './effects.ts';

export const credentialMachine = credential.createMachine({
  id: 'credential',
  context: ({ input }) => ({
    ...input,
    failures: 0,
    waitMs: 0,
    since: 0,
    backstopWaitMs: input.backstopMs,
    asked: [],
    later: [],
  }),
  initial: 'Living',
  on: { ...deafToLateFailures },
  states: {
    Living: {
      type: 'parallel',
      states: {
        reloads: {
          initial: 'Refused',
          states: {
            Refused: {
              on: {
                'daemon.started': 'Admitted',
                'reload.asked': {
                  actions: {
                    type: 'answer',
                    params: ({ event: { ticket } }) => ({ answers: [{ ticket, answer: { kind: 'starting' } }] }),
                  },
                },
              },
            },
            Admitted: { on: { 'reload.asked': { actions: { type: 'admit', params: fact } } } },
          },
        },

        renewal: {
          initial: 'Fresh',
          states: {
            Fresh: {
              initial: 'Measuring',
              states: {
                Measuring: {
                  invoke: { id: 'measureLife', src: 'measureLife', ...ends },
                  on: {
                    ...flies,
                    'life.measured': [
                      {
                        guard: { type: 'isEarly', params: fact },
                        target: 'Waiting',
                        actions: ['forgetFailures', { type: 'keepWait', params: fact }],
                      },
                      { guard: 'hasFailed', target: 'Resting' },
                      { target: 'Flying' },
                    ],
                    'effect.failed': { guard: ofOne('measureLife'), target: 'Resting', actions: 'countFailure' },
                  },
                },
                Waiting: { after: { tick: 'Measuring' }, on: { ...flies } },
                /** Our own last look found no renewal. */
                Resting: { after: { lookAgain: 'Flying' }, on: { ...flies } },
                /** One flight at a time, for everybody who waits for it. */
                Flying: {
                  entry: 'board',
                  after: { flightDeadline: unusable<unknown>(() => LATE) },
                  initial: 'Rereading',
                  states: {
                    Rereading: {
                      ...read,
                      on: {
                        'credential.found': [
                          { guard: { type: 'isWanted', params: fact }, target: 'Proving' },
                          { target: `${FRESH}.Landed`, actions: refuse },
                        ],
                        'credential.unchanged': [
                          {
                            guard: 'isOwnLook',
                            target: `${FRESH}.Landed`,
                            actions: [notRenewed('it is still the same'), 'countFailure', ...land],
                          },
                          { target: `${FRESH}.Landed`, actions: land },
                        ],
                        'credential.unusable': unusable<{ why: string }>(({ why }) => why),
                      },
                    },
                    Proving: {
                      ...prove,
                      on: {
                        'credential.proved': { target: `${FRESH}.Swapping`, actions: [...adopt, ...land] },
                        'credential.unproved': unproved,
                      },
                    },
                  },
                  on: { ...queued, 'effect.failed': unusable<EffectFailed>(({ message }) => message) },
                },
                Landed: { always: [{ guard: 'isAwaited', target: 'Flying' }, { target: 'Measuring' }] },
                /** Answered first, swapped after: the old connection goes on until there is the new one. */
                Swapping: {
                  initial: 'Dialing',
                  states: {
                    Dialing: {
                      ...dial,
                      on: {
                        'resident.opened': { target: `${FRESH}.Landed`, actions: opened },
                        'resident.unreachable': { target: 'Resting', actions: notDialled },
                        'effect.failed': { target: 'Resting', actions: 'countFailure' },
                      },
                    },
                    Resting: { after: { dialAgain: 'Dialing' } },
                  },
                  on: { ...queued },
                },
              },
              on: {
                'credential.expired': {
                  guard: { type: 'isResident', params: fact },
                  target: 'AwaitingProof',
                  actions: [
                    'tellExpired',
                    'silence',
                    'forgetWaiting',
                    'forgetFailures',
                    { type: 'keepExpiry', params: fact },
                  ],
                },
              },
            },

            /** The broker no longer takes it. Nothing is dialled but what may prove a renewal. */
            AwaitingProof: {
              type: 'parallel',
              states: {
                clock: {
                  initial: 'Measuring',
                  states: {
                    Waiting: { after: { backstop: 'Measuring' } },
                    Measuring: {
                      invoke: { id: 'measureExpiry', src: 'measureExpiry', input: since, ...ends },
                      on: {
                        'expiry.measured': [
                          {
                            guard: { type: 'isPastBackstop', params: fact },
                            target: '#credential.Lapsed',
                            actions: ['tellLapsed', { type: 'report', params: { type: 'credential.lapsed' } }],
                          },
                          { target: 'Waiting', actions: { type: 'waitForBackstop', params: fact } },
                        ],
                        'effect.failed': { guard: ofOne('measureExpiry'), target: 'Waiting' },
                      },
                    },
                  },
                },
                proof: {
                  initial: 'Flying',
                  states: {
                    Flying: {
                      after: { flightDeadline: { target: 'Resting', actions: ['countFailure', notRenewed(LATE)] } },
                      initial: 'Rereading',
                      states: {
                        Rereading: {
                          ...read,
                          on: {
                            'credential.found': 'Proving',
                            /** The connection was still on an older one: the one in use is not known to be expired. */
                            'credential.unchanged': 'Proving',
                            'credential.unusable': {
                              target: `${AWAITING}.proof.Resting`,
                              actions: ['countFailure', { type: 'tellNotRenewed', params: fact }],
                            },
                          },
                        },
                        Proving: {
                          ...prove,
                          on: {
                            'credential.proved': { target: RENEWED, actions: adopt },
                            'credential.unproved': {
                              target: `${AWAITING}.proof.Resting`,
                              actions: ['countFailure', { type: 'tellNotRenewed', params: fact }],
                            },
                          },
                        },
                      },
                      on: {
                        'effect.failed': {
                          guard: ofOne('readCredential', 'proveCredential'),
                          target: 'Resting',
                          actions: ['countFailure', { type: 'tellNotRenewed', params: surprise }],
                        },
                      },
                    },
                    Resting: { after: { waitForRenewal: 'Flying' } },
                  },
                },
              },
            },

            /**
             * The renewal is proved. If no connection can be made with it, that is the broker's doing, and is watched as
             * such. A dial that ends in no way we know is none: the clock of the expiry goes on.
             */
            Renewed: {
              initial: 'Dialing',
              states: {
                Dialing: {
                  ...dial,
                  on: {
                    'resident.unreachable': { target: 'Resting', actions: [...notDialled, replaced(false)] },
                    'effect.failed': { target: AWAITING, actions: 'countFailure' },
                  },
                },
                Resting: { after: { dialAgain: 'Redialing' } },
                Redialing: {
                  ...dial,
                  on: {
                    'resident.unreachable': { target: 'Resting', actions: notDialled },
                    'effect.failed': { target: 'Resting', actions: 'countFailure' },
                  },
                },
              },
              on: { 'resident.opened': { target: 'Fresh', actions: opened } },
            },
          },
        },
      },
    },
    Lapsed: { type: 'final' },
  },
});
