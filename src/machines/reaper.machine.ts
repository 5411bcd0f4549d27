/**
 * reaper: when the alarm of a node is due. The same code in Node and in workerd; it is stepped by events that carry the
 * time, and `dueAt` of its context is what the platform's alarm is set to.
 *
 *   A1  armed whenever there is anything to watch, also after a sweep that failed
 *   A2  never armed for now: a sweep that keeps failing, or a deadline in the past, cannot spin
 *   A3  tied to the next deadline, not to a fixed tick; nothing to watch, no alarm
 *   A4  a deadline that comes up during a sweep is not lost
 */
import { assign, setup } from 'xstate';
import { fact } from './effects.ts';

export interface ReaperInput {
  /** Least time between now and the alarm, and the wait after a failed sweep. */
  readonly leastMs: number;
  readonly againMs: number;
}

export interface ReaperContext extends ReaperInput {
  /** Milliseconds; null when no alarm is wanted. */
  readonly dueAt: number | null;
}

export type ReaperEvent =
  | { readonly type: 'deadline.known'; readonly at: number; readonly due: number }
  | { readonly type: 'alarm.fired'; readonly at: number }
  /** The sweep ended; `next` is the earliest deadline it saw. */
  | { readonly type: 'sweep.ended'; readonly at: number; readonly next: number | null }
  | { readonly type: 'sweep.failed'; readonly at: number };

const earliest = (one: number | null, other: number | null): number | null =>
  one === null ? other : other === null ? one : Math.min(one, other);

const reaper = setup({
  types: { context: {} as ReaperContext, events: {} as ReaperEvent, input: {} as ReaperInput },
  actions: {
    arm: assign(({ context }, { at, due }: { at: number; due: number | null }) => {
      const wanted = earliest(context.dueAt, due);
      return { dueAt: wanted === null ? null : Math.max(wanted, at + context.leastMs) };
    }),
    armAgain: assign(({ context }, { at }: { at: number }) => ({
      dueAt: Math.max(at + context.leastMs, earliest(context.dueAt, at + context.againMs) ?? 0),
    })),
    disarm: assign({ dueAt: null }),
  },
  guards: {
    isSomethingDue: ({ context }, { next }: { next: number | null }) => context.dueAt !== null || next !== null,
  },
});

const due = ({ event }: { event: { at: number; due: number } }) => ({ at: event.at, due: event.due });
const swept = ({ event }: { event: { at: number; next: number | null } }) => ({ at: event.at, due: event.next });

export const reaperMachine = reaper.createMachine({
  id: 'reaper',
  context: ({ input }) => ({ ...input, dueAt: null }),
  initial: 'Resting',
  states: {
    /** Nothing to watch. */
    Resting: {
      on: {
        'deadline.known': { target: 'Armed', actions: { type: 'arm', params: due } },
        'alarm.fired': 'Sweeping',
      },
    },
    Armed: {
      on: {
        'deadline.known': { actions: { type: 'arm', params: due } },
        'alarm.fired': { target: 'Sweeping', actions: 'disarm' },
      },
    },
    /** Bounded by the database's own deadline for every step of the sweep. */
    Sweeping: {
      on: {
        'deadline.known': { actions: { type: 'arm', params: due } },
        'sweep.ended': [
          {
            guard: { type: 'isSomethingDue', params: fact },
            target: 'Armed',
            actions: { type: 'arm', params: swept },
          },
          { target: 'Resting' },
        ],
        'sweep.failed': { target: 'Armed', actions: { type: 'armAgain', params: fact } },
      },
    },
  },
});
