/**
 * What the leader of a replicated stream knows. A direct get is answered by whichever replica is near, and one that was cut
 * off, or is a moment behind, shows the stream as it was: a grant that was narrowed since, no row where there is one now, an
 * end that is none. What is not proved by such an answer is asked of the leader, a message at a time.
 */
import { z } from 'zod';
import type { StoredMessage } from '../../domain/held.ts';
import type { Denied, Refused, Silent } from '../ports.ts';
import { MESSAGE_NOT_FOUND } from './driver-errors.ts';
import type { GatedBroker } from './gated-broker.ts';
import { headersIn } from './stored-headers.ts';

const replySchema = z.object({
  message: z.object({
    subject: z.string(),
    seq: z.int(),
    data: z.base64().optional(),
    hdrs: z.base64().optional(),
    time: z.string(),
  }),
});

export type LeaderRead = { kind: 'found'; message: StoredMessage } | { kind: 'absent' } | Refused | Denied | Silent;

/** @param query `last_by_subj`; `next_by_subj` with the `seq` to look from; `seq` alone for exactly that message. */
export async function readByLeader(
  broker: GatedBroker,
  stream: string,
  query: { last_by_subj: string } | { next_by_subj: string; seq: number } | { seq: number },
): Promise<LeaderRead> {
  const reply = await broker.api(`STREAM.MSG.GET.${stream}`, query, replySchema);
  if (reply.kind === 'refused' && reply.code === String(MESSAGE_NOT_FOUND)) return { kind: 'absent' };
  if (reply.kind !== 'reply') return reply;
  const { subject, seq, data = '', hdrs = '', time } = reply.value.message;
  return {
    kind: 'found',
    message: {
      subject,
      seq,
      storedAt: Date.parse(time),
      data: new Uint8Array(Buffer.from(data, 'base64')),
      header: headersIn(hdrs),
    },
  };
}
