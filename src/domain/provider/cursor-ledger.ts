/**
 * The cursors of one connection, from the receiving side. An identity is known here only once the peer has said its
 * `delivery_ack_seq` on this connection. `received` is the highest sequence that was surfaced, `acked` the highest that was
 * acknowledged: the end of the contiguous prefix of what was confirmed. Between them lies what is with its reader.
 */

export interface CursorOf {
  readonly agentId: string;
  readonly agent: string;
  readonly received: number;
  readonly acked: number;
}

export type Offered =
  /** The one that is due: to be surfaced. */
  | { readonly kind: 'next' }
  /** Was there before: the cursor is said again. */
  | { readonly kind: 'duplicate'; readonly ack: number }
  /** One before it is missing: refused without an acknowledgement. */
  | { readonly kind: 'gap'; readonly expected: number }
  | { readonly kind: 'uncertified' };

export type Seeded =
  | { readonly kind: 'seeded' | 'unchanged' }
  /** The peer's cursor is ahead: what lies between will not come. */
  | { readonly kind: 'skipped'; readonly from: number; readonly to: number };

interface Cursor {
  readonly agent: string;
  received: number;
  acked: number;
  /** Confirmed above `acked`, not contiguous with it. */
  readonly confirmed: Set<number>;
  isGapped: boolean;
}

export class CursorLedger {
  readonly #cursors = new Map<string, Cursor>();

  /** Takes the authoritative cursor of an identity. It never moves one back that is held already. */
  seed(agentId: string, agent: string, ackSeq: number): Seeded {
    const held = this.#cursors.get(agentId);
    if (held === undefined) {
      this.#cursors.set(agentId, { agent, received: ackSeq, acked: ackSeq, confirmed: new Set(), isGapped: false });
      return { kind: 'seeded' };
    }
    if (ackSeq <= held.acked) return { kind: 'unchanged' };
    const from = held.acked + 1;
    if (ackSeq > held.received) held.isGapped = false;
    held.received = Math.max(held.received, ackSeq);
    held.acked = ackSeq;
    advance(held);
    return { kind: 'skipped', from, to: ackSeq };
  }

  offer(agentId: string, seq: number): Offered {
    const held = this.#cursors.get(agentId);
    if (held === undefined) return { kind: 'uncertified' };
    if (seq <= held.received) return { kind: 'duplicate', ack: held.acked };
    if (seq > held.received + 1) {
      held.isGapped = true;
      return { kind: 'gap', expected: held.received + 1 };
    }
    held.received = seq;
    held.isGapped = false;
    return { kind: 'next' };
  }

  /** What was surfaced is confirmed: the new end of the contiguous prefix, or undefined where that did not move. */
  confirm(agentId: string, seq: number): number | undefined {
    const held = this.#cursors.get(agentId);
    if (held === undefined || seq <= held.acked || seq > held.received) return undefined;
    held.confirmed.add(seq);
    return advance(held) ? held.acked : undefined;
  }

  /** An identity that the peer does not take from us any more. */
  forget(agentId: string): void {
    this.#cursors.delete(agentId);
  }

  /** Identities whose next deliver is missing. */
  gaps(): number {
    return [...this.#cursors.values()].filter((each) => each.isGapped).length;
  }

  all(): readonly CursorOf[] {
    return [...this.#cursors].map(([agentId, { agent, received, acked }]) => ({ agentId, agent, received, acked }));
  }
}

/** Moves `acked` over what is confirmed right above it, and forgets what lies below. */
function advance(cursor: Cursor): boolean {
  const before = cursor.acked;
  while (cursor.confirmed.delete(cursor.acked + 1)) cursor.acked += 1;
  for (const seq of cursor.confirmed) if (seq <= cursor.acked) cursor.confirmed.delete(seq);
  return cursor.acked > before;
}
