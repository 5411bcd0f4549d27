/** Gives the broker a new account JWT, over a connection of the system account that may do nothing else. */
import type { NatsConnection } from '@nats-io/nats-core';
import { z } from 'zod';
import { readJson } from '../../domain/message.ts';
import { type DriverFailure, parseDriverError } from './driver-errors.ts';

export type PushOutcome =
  /** The broker has it; new connections are judged by it at once. */
  | { kind: 'accepted' }
  | { kind: 'refused'; code: number; message: string }
  | { kind: 'failed'; failure: DriverFailure };

const answerSchema = z.union([
  z.object({ data: z.object({ code: z.number(), message: z.string().optional() }) }),
  z.object({ error: z.object({ code: z.number(), description: z.string().optional() }) }),
]);
const ACCEPTED = 200;

export async function pushAccount(asked: {
  connection: NatsConnection;
  accountJwt: string;
  timeoutMs?: number;
}): Promise<PushOutcome> {
  const { connection, accountJwt, timeoutMs = 5_000 } = asked;
  try {
    const reply = await connection.request('$SYS.REQ.CLAIMS.UPDATE', accountJwt, { timeout: timeoutMs });
    const answer = answerSchema.safeParse(readJson(reply.data));
    if (!answer.success) return { kind: 'refused', code: 0, message: 'the reply cannot be read' };
    if ('error' in answer.data) {
      const { code, description = '' } = answer.data.error;
      return { kind: 'refused', code, message: description };
    }
    const { code, message = '' } = answer.data.data;
    return code === ACCEPTED ? { kind: 'accepted' } : { kind: 'refused', code, message };
  } catch (error) {
    return { kind: 'failed', failure: parseDriverError(error) };
  }
}
