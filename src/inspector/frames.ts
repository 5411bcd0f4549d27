/**
 * What a viewer is sent: one JSON object a message, in Stately's inspection protocol (`@statelyai/inspect`), with a field
 * `plane3` of ours beside it for what that protocol has no words for. A viewer that knows only Stately's reads past it.
 *
 *   @xstate.actor     an actor that began, or that lives when the viewer comes
 *   @xstate.event     what a machine was told, and by whom
 *   @xstate.snapshot  where it stood afterwards; also how an actor ended
 *   @plane3.hello     first of all: whose machines these are
 *   @plane3.standing  what follows, `count` of them, is every actor that lives; whoever is not among them is gone
 *   @plane3.dropped   how many records this viewer was not sent: it was too slow, or there were too many to keep
 */
import type { StatelyActorEvent, StatelyEventEvent, StatelySnapshotEvent } from '@statelyai/inspect';
import { machineDefinitions } from './definitions.ts';
import type { ActorFace, Began, Ended, LiveActor, Seen, Standing, Stepped } from './ring.ts';

export interface Hello {
  readonly type: '@plane3.hello';
  readonly process: string;
  readonly space: string;
  readonly pid: number;
  /** Number of the newest record, and how many have fallen out of the ring. */
  readonly last: number;
  readonly dropped: number;
}
export type OwnFrame =
  | Hello
  | { readonly type: '@plane3.standing'; readonly count: number; readonly seq: number }
  | { readonly type: '@plane3.dropped'; readonly count: number };

type Typed<Kind extends string, Extra> = { readonly plane3: { readonly kind: Kind; readonly seq: number } & Extra };
export type ActorFrame = Omit<StatelyActorEvent, 'id'> & Typed<'began' | 'lives', ActorFace & Partial<Standing>>;
export type SnapshotFrame = Omit<StatelySnapshotEvent, 'id' | 'snapshot'> & {
  readonly snapshot: { readonly status: string } & Partial<Pick<Standing, 'value' | 'context' | 'tags'>>;
} & (
    | Typed<'stepped', Omit<Stepped, 'kind' | 'event' | 'now' | 'root'> & { readonly states: readonly string[] }>
    | Typed<'ended', object>
  );
export type EventFrame = Omit<StatelyEventEvent, 'id'>;
export type Frame = OwnFrame | ActorFrame | SnapshotFrame | EventFrame;

/** Of the protocol, not of ours. */
const VERSION = '0.7.2';

export interface Manner {
  /** With the definition of each machine and the events on their own, for viewers that draw from those. */
  readonly whole: boolean;
}

export function framesOf(seen: Seen, manner: Manner): Frame[] {
  switch (seen.kind) {
    case 'began':
      return [actorFrame({ kind: 'began', seq: seen.seq, actor: seen.actor }, manner)];
    case 'ended':
      return [endFrame(seen)];
    case 'stepped':
      return manner.whole ? [eventFrame(seen), stepFrame(seen)] : [stepFrame(seen)];
  }
}

export const liveFrame = ({ actor, now }: LiveActor, seq: number, manner: Manner): Frame =>
  actorFrame({ kind: 'lives', seq, actor, ...(now === undefined ? {} : { now }) }, manner);

interface ActorSeen {
  readonly kind: 'began' | 'lives';
  readonly seq: number;
  readonly actor: Began['actor'];
  readonly now?: Standing;
}

function actorFrame({ kind, seq, actor, now }: ActorSeen, { whole }: Manner): ActorFrame {
  return {
    type: '@xstate.actor',
    _version: VERSION,
    name: actor.id,
    sessionId: actor.session,
    rootId: actor.root,
    parentId: actor.parent,
    createdAt: String(actor.began),
    definition: whole ? machineDefinitions(actor.machine) : undefined,
    snapshot: now === undefined ? { status: 'active' } : { status: 'active', value: now.value, context: now.context },
    plane3: { kind, seq, ...actor, ...(now === undefined ? {} : { states: now.states, tags: now.tags }) },
  };
}

const eventFrame = ({ session, root, at, event, source }: Stepped): EventFrame => ({
  type: '@xstate.event',
  _version: VERSION,
  sessionId: session,
  rootId: root,
  sourceId: source,
  createdAt: String(at),
  event,
});

function stepFrame({
  kind,
  seq,
  at,
  session,
  root,
  event,
  source,
  facts,
  from,
  now,
  asked,
  said,
  ignored,
}: Stepped): SnapshotFrame {
  const { value, context, tags, states } = now;
  return {
    type: '@xstate.snapshot',
    _version: VERSION,
    sessionId: session,
    rootId: root,
    createdAt: String(at),
    event,
    snapshot: { status: 'active', value, context, tags },
    plane3: {
      kind,
      seq,
      at,
      session,
      facts,
      from,
      states,
      asked,
      said,
      ignored,
      ...(source === undefined ? {} : { source }),
    },
  };
}

const endFrame = ({ seq, at, session, root, status }: Ended): SnapshotFrame => ({
  type: '@xstate.snapshot',
  _version: VERSION,
  sessionId: session,
  rootId: root,
  createdAt: String(at),
  event: { type: '' },
  snapshot: { status },
  plane3: { kind: 'ended', seq },
});
