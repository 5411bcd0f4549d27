/**
 * providerLink: one provider of one hosted node, from this side.
 *
 *   H1  connected is Ready and nothing else: a register was accepted, with cursors, on this very connection
 *   H2  before Ready node.register is sent and nothing else
 *   H3  a deliver before Ready ends the attempt, unacknowledged
 *   H4  every failure closes the socket; none is open, and nothing is dialled, in BackingOff
 *   H5  every failure is told with its code and counted; none is final but a token that cannot be had
 *   H6  the wait is what the peer asked for, else it doubles with every failure; it starts over only after an inventory reply
 *   H7  a peer that answers nothing for 120 s is gone, whatever its socket says
 *   H8  heartbeat and inventory go out at once and then at their pace; a refused inventory is asked again
 *   H9  a 401 has the token read anew, five times, at the pace of the back-off; then the link is refused
 *   H10 a stop ends it in every state, and nothing is dialled after it
 *   H11 a gap has an inventory asked for at once; one that stays with the cursors of its reply ends the session
 *
 * The socket belongs to `Attempt`: it lives exactly as long. Frames are no events of this machine; its session tells what
 * moves a lifecycle.
 */
import { deafToLateFailures, ends, fact } from './effects.ts';
import type { Failure, LinkErrorCode } from './provider-link.facts.ts';
import { type LinkContext, link } from './provider-link.setup.ts';

type With<E> = { context: LinkContext; event: E };
type Told = Failure & { guidanceMs?: number | null };

const known = (code: LinkErrorCode, message: string): Failure => ({ code, message });

/** The attempt is over, for this reason. */
const fails = <E>(params: (of: With<E>) => Told) =>
  ({
    target: '#providerLink.BackingOff',
    actions: [
      { type: 'keepFailure', params },
      { type: 'tellFailed', params },
    ],
  }) as const;
const failsWith = (code: LinkErrorCode, message: string) => fails(() => known(code, message));
const refused = <E>(params: (of: With<E>) => Failure) =>
  ({
    target: '#providerLink.Refused',
    actions: [
      { type: 'keepRefusal', params },
      { type: 'tellRefused', params },
    ],
  }) as const;

const unauthorized = () => known('unauthorized', 'the peer refuses the token of this node');

export const providerLinkMachine = link.createMachine({
  id: 'providerLink',
  context: ({ input }) => ({
    ...input,
    failures: 0,
    unauthorized: 0,
    end: 'stopped',
    failure: null,
    guidanceMs: null,
    waitMs: 1_000,
  }),
  initial: 'Attempt',
  on: { ...deafToLateFailures, 'stop.requested': '.Stopped' },
  states: {
    Attempt: {
      invoke: {
        id: 'holdSocket',
        src: 'holdSocket',
        input: ({ context }) => ({ renewToken: context.unauthorized > 0 }),
        onError: { actions: 'faulted' },
      },
      initial: 'Disconnected',
      on: {
        'transport.closed': fails(({ event: { code, reason } }) =>
          known('transport_closed', `the socket closed with ${code}${reason === '' ? '' : ` ${reason}`}`),
        ),
        'write.failed': fails(({ event }) => known('write_failed', event.message)),
        'effect.failed': fails(({ event }) => known('effect_failed', `${event.effect}: ${event.message}`)),
      },
      states: {
        Disconnected: {
          after: { connectWithin: failsWith('connect_timeout', 'no socket within the time for it') },
          on: {
            'transport.opened': { target: 'Unregistered', actions: 'forgetUnauthorized' },
            'dial.failed': fails(fact),
            'dial.unauthorized': [
              {
                guard: 'mayReadTokenAgain',
                ...fails(unauthorized),
                actions: ['countUnauthorized', ...fails(unauthorized).actions],
              },
              refused(unauthorized),
            ],
            'token.refused': refused(fact),
          },
        },

        /** Both the write and the reply of the register have their one deadline here. */
        Unregistered: {
          tags: 'transport',
          after: { registerWithin: failsWith('register_timeout', 'the register was not answered within its time') },
          initial: 'TransportConnected',
          states: {
            TransportConnected: {
              invoke: { id: 'writeRegister', src: 'writeRegister', ...ends },
              on: { 'register.written': 'Registering' },
            },
            Registering: {},
          },
          on: {
            'register.accepted': { target: 'Ready', actions: 'tellReady' },
            'register.refused': {
              target: '#providerLink.BackingOff',
              actions: [
                { type: 'keepFailure', params: fact },
                { type: 'tellRejected', params: fact },
              ],
            },
            'deliver.uncertified': fails(({ event: { agentId, seq } }) =>
              known('early_deliver', `a deliver of ${agentId}, ${seq}, came before the register was accepted`),
            ),
          },
        },

        Ready: {
          tags: ['transport', 'serving'],
          type: 'parallel',
          states: {
            heartbeat: {
              initial: 'Sending',
              states: {
                Sending: {
                  invoke: { id: 'sendHeartbeat', src: 'sendHeartbeat', ...ends },
                  on: { 'heartbeat.written': 'Resting' },
                },
                Resting: { after: { heartbeatEvery: 'Sending' } },
              },
            },
            inventory: {
              initial: 'Asking',
              states: {
                Asking: {
                  invoke: { id: 'syncInventory', src: 'syncInventory', ...ends },
                  on: {
                    'inventory.replied': [
                      {
                        guard: { type: 'leavesGap', params: fact },
                        ...failsWith('sequence_gap', 'a deliver is missing and the peer does not send it again'),
                      },
                      { target: 'Resting', actions: 'forgetFailures' },
                    ],
                    'inventory.refused': [
                      { guard: { type: 'isUnregistered', params: fact }, ...fails(fact) },
                      { target: 'Refused', actions: { type: 'tellInventoryRefused', params: fact } },
                    ],
                  },
                },
                Resting: {
                  after: { inventoryEvery: 'Asking' },
                  on: { 'gap.met': { target: 'Asking', actions: { type: 'tellGap', params: fact } } },
                },
                Refused: { after: { inventoryAgain: 'Asking' } },
              },
            },
            proof: {
              initial: 'Awaited',
              states: {
                Awaited: {
                  after: { deadAfter: failsWith('no_reply', 'nothing was answered for too long') },
                  on: { 'reply.came': { target: 'Awaited', reenter: true } },
                },
              },
            },
          },
          on: {
            'deliver.uncertified': { actions: { type: 'tellUncertified', params: fact } },
            'gap.met': { actions: { type: 'tellGap', params: fact } },
          },
        },
      },
    },

    BackingOff: {
      initial: 'Planning',
      states: {
        Planning: {
          invoke: {
            id: 'planRetry',
            src: 'planRetry',
            input: ({ context: { failures, guidanceMs } }) => ({ failures, guidanceMs }),
            ...ends,
          },
          on: {
            'retry.planned': { target: 'Waiting', actions: { type: 'keepWait', params: fact } },
            'effect.failed': 'Waiting',
          },
        },
        Waiting: { after: { retryAfter: '#providerLink.Attempt' } },
      },
    },

    /** There is no token to be had. */
    Refused: { type: 'final' },
    Stopped: { type: 'final' },
  },
  output: ({ context: { end, failure } }) => ({ end, failure }),
});
