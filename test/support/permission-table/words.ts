/**
 * Words for the permission tables: the subjects of the wire format by name, for the space `main`. Written by hand from the
 * wire format, without the builders of `src/domain`.
 */
import type { Member } from '../../../src/domain/names.ts';

/** What the subjects of a table depend on. */
export interface Facts {
  readonly alice: Member;
  readonly bob: Member;
  /** Public keys of the space's account and of the system account. */
  readonly account: string;
  readonly systemAccount: string;
}
/** One line of the table: what it is, and subjects that stand for it. */
export type Row = readonly [what: string, subjects: (facts: Facts) => readonly string[]];
export interface Part {
  readonly publish: readonly Row[];
  readonly subscribe: readonly Row[];
  readonly neverPublish: readonly Row[];
  readonly neverSubscribe: readonly Row[];
}

export const api = (what: string) => `$JS.API.${what}`;
export const kv = (bucket: string, key: string) => `$KV.cotal_${bucket}_main.${key}`;
export const kvStream = (bucket: string) => `KV_cotal_${bucket}_main`;
export const own = ({ alice }: Facts) => `dlv_local-alice-${alice.uid}`;
export const other = ({ bob }: Facts) => `dlv_local-bob-${bob.uid}`;

export const STREAMS = ['CHAT_main', 'INBOX_main', 'DLV_main', 'EPT_REQ_main', 'EPT_main'];
export const BUCKETS = ['presence', 'channels', 'members', 'acl', 'lanes', 'delivery', 'manager', 'auth'];
export const everyStream = [...STREAMS, ...BUCKETS.map(kvStream)];
export const watching = (bucket: string) => [
  api(`STREAM.INFO.${kvStream(bucket)}`),
  api(`CONSUMER.CREATE.${kvStream(bucket)}.oc_x_1.${kv(bucket, 'some.thing')}`),
  api(`CONSUMER.INFO.${kvStream(bucket)}.oc_x_1`),
  api(`CONSUMER.DELETE.${kvStream(bucket)}.oc_x_1`),
  `$JS.FC.${kvStream(bucket)}.oc_x_1.abc`,
];
export const direct = (stream: string) => [api(`DIRECT.GET.${stream}`), api(`DIRECT.GET.${stream}.some.subject`)];
/** The same by the stream's leader. */
export const byLeader = (stream: string) => api(`STREAM.MSG.GET.${stream}`);
