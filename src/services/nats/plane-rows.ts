/**
 * What an agent may see of the plane: the lease row, and the class of a channel. One row at a time: an agent has no right to
 * the batched form of a direct get.
 */
import { readJson, shaped } from '../../domain/message.ts';
import {
  CHANNEL_DEFAULTS,
  type ChannelRow,
  channelRowSchema,
  type DeliveryClass,
  effectiveClass,
  isMarker,
  leaseRowSchema,
} from '../../domain/rows.ts';
import { bucketStream, buckets, keySubject, LEASE_KEY } from '../../domain/subjects.ts';
import type { Silent } from '../ports.ts';
import type { GatedBroker } from './gated-broker.ts';
import { StreamStore } from './stream-store.ts';

/** The state of the delivery lease, as far as it can be told. */
export type LeaseSight =
  | { kind: 'ready'; incarnation: string }
  /** Somebody holds it and does not serve yet. */
  | { kind: 'not ready' }
  | { kind: 'missing' }
  | { kind: 'unknown'; why: string };

export class PlaneRows {
  readonly #lease: StreamStore;
  readonly #channels: StreamStore;
  readonly #bucket: ReturnType<typeof buckets>;

  constructor(broker: GatedBroker, space: string) {
    this.#bucket = buckets(space);
    this.#lease = new StreamStore(broker, bucketStream(this.#bucket.delivery));
    this.#channels = new StreamStore(broker, bucketStream(this.#bucket.channels));
  }

  async lease(): Promise<LeaseSight> {
    const found = await this.#lease.lastAlone(keySubject(this.#bucket.delivery, LEASE_KEY));
    if (found.kind === 'absent') return { kind: 'missing' };
    if (found.kind !== 'found') return { kind: 'unknown', why: found.kind === 'silent' ? found.why : found.kind };
    if (isMarker(found.message.header)) return { kind: 'missing' };
    const row = shaped(leaseRowSchema, readJson(found.message.data));
    if (row === undefined) return { kind: 'unknown', why: 'the row cannot be read' };
    return row.ready ? { kind: 'ready', incarnation: row.incarnation } : { kind: 'not ready' };
  }

  /** The effective class of a channel; `unknown` where a row was not answered for. */
  async classOf(channel: string): Promise<DeliveryClass | 'unknown'> {
    const [own, defaults] = await Promise.all([this.#row(channel), this.#row(CHANNEL_DEFAULTS)]);
    return own.kind === 'silent' || defaults.kind === 'silent' ? 'unknown' : effectiveClass(own.row, defaults.row);
  }

  async #row(key: string): Promise<{ kind: 'row'; row: ChannelRow | undefined } | Silent> {
    const found = await this.#channels.lastAlone(keySubject(this.#bucket.channels, key));
    if (found.kind === 'absent') return { kind: 'row', row: undefined };
    if (found.kind !== 'found') return found.kind === 'silent' ? found : { kind: 'silent', why: found.kind };
    const row = isMarker(found.message.header) ? undefined : shaped(channelRowSchema, readJson(found.message.data));
    return { kind: 'row', row };
  }
}
