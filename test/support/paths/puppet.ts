import type { ActorLogic, AnyActorRef, AnyActorScope, AnyEventObject, Snapshot } from 'xstate';

/**
 * What stands in for every effect and every child of a machine under test. It does nothing on its own: the test says when
 * it answers or fails, and XState itself then makes the real done or error event of that child.
 */

type PuppetSnapshot = Snapshot<unknown>;
export type PuppetCommand =
  | { readonly type: 'puppet.answer'; readonly output: unknown }
  | { readonly type: 'puppet.fail'; readonly error: unknown };

/** The puppets that run now, and what they were told. */
export interface Stage {
  readonly running: Map<string, AnyActorRef>;
  readonly told: { readonly to: string; readonly event: AnyEventObject }[];
}

export const emptyStage = (): Stage => ({ running: new Map(), told: [] });

const ended = (end: Partial<PuppetSnapshot> & { status: PuppetSnapshot['status'] }): PuppetSnapshot =>
  ({ output: undefined, error: undefined, ...end }) as PuppetSnapshot;

export function puppetLogic(stage: () => Stage): ActorLogic<PuppetSnapshot, AnyEventObject, unknown> {
  const leave = (self: AnyActorRef) => {
    if (stage().running.get(self.id) === self) stage().running.delete(self.id);
  };
  return {
    getInitialSnapshot: () => ended({ status: 'active' }),
    getPersistedSnapshot: (snapshot) => snapshot,
    restoreSnapshot: (snapshot) => snapshot as PuppetSnapshot,
    start: (_snapshot, { self }: AnyActorScope) => {
      stage().running.set(self.id, self);
    },
    transition: (snapshot, event, { self }: AnyActorScope) => {
      switch (event.type) {
        case 'puppet.answer':
          leave(self);
          return ended({ status: 'done', output: event.output });
        case 'puppet.fail':
          leave(self);
          return ended({ status: 'error', error: event.error });
        case 'xstate.stop':
          leave(self);
          return ended({ status: 'stopped' });
        default:
          stage().told.push({ to: self.id, event });
          return snapshot;
      }
    },
  };
}
