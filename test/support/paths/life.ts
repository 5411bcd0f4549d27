import type { AnyEventObject, AnyMachineSnapshot } from 'xstate';
import type { Effect } from './effects.ts';

/**
 * What still moves a machine on its own: children that have not ended, and timers that have not elapsed. A snapshot alone
 * does not tell: XState keeps a child that has ended until its state is left.
 */
export interface Life {
  readonly children: ReadonlySet<string>;
  /** Timers by the type of their event. */
  readonly timers: ReadonlySet<string>;
}

export const noLife: Life = { children: new Set(), timers: new Set() };

/** The child whose end this event is: `xstate.done.actor.<id>`, `xstate.error.actor.<id>`. */
export const endOf = ({ type }: AnyEventObject): string | undefined =>
  /^xstate\.(?:done|error)\.actor\.(.+)$/.exec(type)?.[1];

/** Whether this can come about now: a child that does not run cannot end, a timer that is not armed cannot elapse. */
export function canCome({ children, timers }: Life, event: AnyEventObject): boolean {
  const child = endOf(event);
  if (child !== undefined) return children.has(child);
  return !event.type.startsWith('xstate.after.') || timers.has(event.type);
}

export function lifeAfter(
  life: Life,
  {
    before,
    event,
    after,
    effects,
  }: {
    before: AnyMachineSnapshot | undefined;
    event: AnyEventObject;
    after: AnyMachineSnapshot;
    effects: readonly Effect[];
  },
): Life {
  if (after.status !== 'active') return noLife;
  const ended = endOf(event);
  const children = Object.entries(after.children).flatMap(([id, child]) => {
    if (child === undefined) return [];
    const isSame = before?.children[id] === child;
    return isSame && (id === ended || !life.children.has(id)) ? [] : [id];
  });
  const timers = new Set(life.timers);
  timers.delete(event.type);
  for (const effect of effects) {
    if (effect.kind === 'arm') timers.add(effect.timer);
    if (effect.kind === 'disarm') timers.delete(effect.timer);
  }
  return { children: new Set(children.sort()), timers };
}

export const isSameLife = (a: Life, b: Life): boolean =>
  [...a.children].join('\n') === [...b.children].join('\n') && [...a.timers].join('\n') === [...b.timers].join('\n');
