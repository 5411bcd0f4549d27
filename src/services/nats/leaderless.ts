/**
 * Replies to `STREAM.INFO` and `CONSUMER.INFO` are the leader's word. But in a group that knows no leader (it is being elected, or
 * this member was cut off) every member answers with what it has, however old that is; such a reply names no leader.
 */
import { z } from 'zod';
import { shaped } from '../../domain/message.ts';

const groupSchema = z.looseObject({ cluster: z.looseObject({ leader: z.string().optional() }).optional() });

/** Whether the reply came from a group without a leader. A server that stands alone names no group. */
export function isLeaderless(reply: unknown): boolean {
  const cluster = shaped(groupSchema, reply)?.cluster;
  return cluster !== undefined && (cluster.leader ?? '') === '';
}
