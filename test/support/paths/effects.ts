import type { AnyActorRef, AnyEventObject } from 'xstate';

/**
 * What a machine asked for in one step, in order, as plain data: the same shape whether the step was only calculated or
 * was taken by a live actor.
 */
export type Effect =
  /** Told to the parent. */
  | { readonly kind: 'report'; readonly event: AnyEventObject }
  | { readonly kind: 'send'; readonly to: string; readonly event: AnyEventObject; readonly ms?: number }
  /** An invoke or a spawned child. */
  | { readonly kind: 'start'; readonly id: string; readonly src: string; readonly input: unknown }
  | { readonly kind: 'stop'; readonly id: string }
  | { readonly kind: 'arm'; readonly timer: string; readonly ms: number }
  | { readonly kind: 'disarm'; readonly timer: string }
  | { readonly kind: 'emit'; readonly event: AnyEventObject }
  /** A named action of the machine's own. */
  | { readonly kind: 'act'; readonly action: string; readonly params: unknown };

/** An action as XState hands it to its executor or to an inspector. */
export interface AskedAction {
  readonly type: string;
  readonly params: unknown;
}

interface Sent {
  readonly to?: AnyActorRef;
  readonly event: AnyEventObject;
  readonly id?: string;
  readonly delay?: number;
}

const nameOf = (actor: AnyActorRef): string => (actor as { systemId?: string }).systemId ?? actor.id;

/** Reads one action; undefined for those that have no effect outside of the machine. */
export function effectOf({ type, params }: AskedAction, parent: AnyActorRef | undefined): Effect | undefined {
  switch (type) {
    case 'xstate.raise': {
      const { event, id, delay } = params as Sent;
      return delay === undefined ? undefined : { kind: 'arm', timer: id ?? event.type, ms: delay };
    }
    case 'xstate.cancel':
      return { kind: 'disarm', timer: (params as { sendId: string }).sendId };
    case 'xstate.sendTo': {
      const { to, event, delay } = params as Sent;
      if (to === undefined) return { kind: 'send', to: '(nobody)', event };
      if (to === parent && delay === undefined) return { kind: 'report', event };
      return { kind: 'send', to: nameOf(to), event, ...(delay === undefined ? {} : { ms: delay }) };
    }
    case 'xstate.spawnChild': {
      const { actorRef, src, input } = params as { actorRef?: AnyActorRef; src: unknown; input: unknown };
      if (actorRef === undefined) throw new Error(`the child ${String(src)} has no logic`);
      return { kind: 'start', id: actorRef.id, src: sourceOf(src), input };
    }
    case 'xstate.stopChild':
      return params === undefined ? undefined : { kind: 'stop', id: (params as AnyActorRef).id };
    case 'xstate.emit':
      return { kind: 'emit', event: (params as { event: AnyEventObject }).event };
    default:
      return { kind: 'act', action: type, params };
  }
}

export const sourceOf = (src: unknown): string => (typeof src === 'string' ? src : '(inline)');

type Children = Readonly<Record<string, AnyActorRef | undefined>>;

/** Children spawned from within an `assign` ask for no action: they are found by comparing the children. */
export function spawnedSilently(before: Children, after: Children, seen: readonly Effect[]): Effect[] {
  const started = new Set(seen.flatMap((effect) => (effect.kind === 'start' ? [effect.id] : [])));
  return Object.entries(after).flatMap(([id, child]) =>
    child === undefined || child === before[id] || started.has(id)
      ? []
      : [{ kind: 'start' as const, id, src: sourceOf(child.src), input: undefined }],
  );
}
