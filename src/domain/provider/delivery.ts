/**
 * Delivery state of one identity on one connection (rule 6): NotReady → Replaying → Live. Everything here is a pure step;
 * who writes frames and rows is elsewhere.
 *
 *   replay    on the way from NotReady to Live queued *and* delivered rows above the cursor are sent, ascending
 *   drain     a Live identity that is behind is sent queued rows only
 *   dirty     something was refused meanwhile: Live only after another empty pass
 */
import type { SendReason } from './codes.ts';

export type DeliveryPhase = 'NotReady' | 'Replaying' | 'Live';

export interface Delivery {
  readonly phase: DeliveryPhase;
  /** The cursor that the connection was given: nothing at or below it was written here. */
  readonly base: number;
  /** Highest sequence written on this connection; `base` before the first. */
  readonly sent: number;
  /** A row came up that the running pass may have missed. */
  readonly dirty: boolean;
}

export const notReady: Delivery = { phase: 'NotReady', base: 0, sent: 0, dirty: false };

/**
 * The connection was given the cursor and declared the identity. What is Live stays Live and is looked at again for
 * queued rows; when the cursor had to skip what can never be sent, the peer refused everything behind it, so that all of
 * it is owed again.
 */
export function certified(delivery: Delivery, { cursor, skipped }: { cursor: number; skipped: number }): Delivery {
  if (delivery.phase === 'NotReady' || skipped > 0)
    return { phase: 'Replaying', base: cursor, sent: cursor, dirty: false };
  return { ...delivery, dirty: true };
}

export type Offer = 'write' | 'drain' | 'written' | Extract<SendReason, 'not_ready' | 'replaying' | 'behind'>;

/** What to do with a row that was just offered for sending. */
export function offered(delivery: Delivery, seq: number): Offer {
  if (delivery.phase === 'NotReady') return 'not_ready';
  if (delivery.phase === 'Replaying') return 'replaying';
  if (seq <= delivery.base) return 'behind';
  if (seq <= delivery.sent) return 'written';
  return seq === delivery.sent + 1 && !delivery.dirty ? 'write' : 'drain';
}

export const marked = (delivery: Delivery): Delivery => (delivery.dirty ? delivery : { ...delivery, dirty: true });

export const wrote = (delivery: Delivery, seq: number): Delivery =>
  seq > delivery.sent ? { ...delivery, sent: seq } : delivery;

/** A pass found no row: Live if nothing came up meanwhile, otherwise another pass is due. */
export const passedEmpty = (delivery: Delivery): Delivery =>
  delivery.phase === 'NotReady'
    ? delivery
    : { ...delivery, phase: delivery.dirty ? delivery.phase : 'Live', dirty: false };
