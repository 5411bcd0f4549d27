/** What a provider link hears: the facts that its effects answer with, and what it is asked from outside. */
import type { EffectFailed } from './effects.ts';

export interface Failure {
  /** Stable: a code of the peer, or one of `LinkErrorCode`. */
  readonly code: string;
  readonly message: string;
}

/** What the link itself calls a failure; a peer's own codes come beside these. */
export type LinkErrorCode =
  | 'connect_timeout'
  | 'register_timeout'
  | 'unauthorized'
  | 'early_deliver'
  | 'cursor_not_accepted'
  | 'transport_closed'
  | 'write_failed'
  | 'no_reply'
  | 'sequence_gap'
  | 'effect_failed';

/** Told by the socket and by what comes over it, as long as an attempt lasts. */
export type SocketFact =
  | { type: 'transport.opened' }
  | ({ type: 'dial.failed' } & Failure)
  /** 401 on the upgrade: the token is not, or no longer, good. */
  | { type: 'dial.unauthorized' }
  /** There is no token to be had, and there will be none: asking again is of no use. */
  | ({ type: 'token.refused' } & Failure)
  | { type: 'register.accepted' }
  | ({ type: 'register.refused'; guidanceMs: number | null } & Failure)
  /** A deliver for an identity whose cursor this connection does not hold. It was not acknowledged. */
  | { type: 'deliver.uncertified'; agentId: string; seq: number }
  /** A deliver that is not the next one. It was not acknowledged. */
  | { type: 'gap.met'; agentId: string; expected: number; seq: number }
  /** An answer to a request of this connection. Nothing else shows that the peer is there. */
  | { type: 'reply.came' }
  | { type: 'transport.closed'; code: number; reason: string };

export type WriteFailed = { type: 'write.failed'; message: string };
export type RegisterFact = { type: 'register.written' } | WriteFailed;
export type HeartbeatFact = { type: 'heartbeat.written' } | WriteFailed;
export type InventoryFact =
  /** `gaps`: identities whose next deliver is still missing with the cursors of this very reply. */
  | { type: 'inventory.replied'; agents: number; rejected: number; gaps: number }
  | ({ type: 'inventory.refused' } & Failure)
  | WriteFailed;
export type RetryFact = { type: 'retry.planned'; waitMs: number };

export type LinkEvent =
  | SocketFact
  | RegisterFact
  | HeartbeatFact
  | InventoryFact
  | RetryFact
  | EffectFailed
  | { type: 'stop.requested' };

/** How a link ends; every other trouble is a back-off. `failure`: the last one, which refused it where it was refused. */
export interface LinkEnd {
  readonly end: 'stopped' | 'refused';
  readonly failure: Failure | null;
}

export interface LinkInput {
  /** How often the token is read anew after a 401 before the link is refused. */
  readonly tokenRereads: number;
}
