/**
 * Liveness of the delivery plane: every daemon answers for itself, by its instance. It is no rail: it has no queue group, so
 * that a standby's answer never stands for the one that serves. A reply goes only under the request's own subtree.
 */
import { randomBytes } from 'node:crypto';
import type { NatsConnection } from '@nats-io/nats-core';
import { z } from 'zod';
import { readJson, shaped } from '../../domain/message.ts';
import { isReplyOf, livenessSubject, readRequester, replyPrefix } from '../../domain/subjects.ts';
import type { Stoppable } from '../ports.ts';

/** `stale`: it would serve, but its fence does not hold. */
export type ResponderState = 'bound' | 'unbound' | 'stale' | 'unknown';

const answerSchema = z.looseObject({
  plane: z.literal('delivery'),
  responder: z.enum(['bound', 'unbound', 'stale', 'unknown']),
  instance: z.string(),
});
export type LivenessAnswer = z.infer<typeof answerSchema>;

/** Answers until stopped. `responder` is asked for each request. */
export function answerLiveness(of: {
  connection: NatsConnection;
  space: string;
  instance: string;
  responder(): ResponderState;
  lost(why: string): void;
}): Stoppable {
  const { connection, space, instance } = of;
  const subscription = connection.subscribe(livenessSubject(space, '*.*'), {
    callback: (error, message) => {
      if (error !== null) return of.lost(error.message);
      if (readRequester(message.subject) === undefined || !isReplyOf(message.subject, message.reply)) return;
      const answer: LivenessAnswer = { plane: 'delivery', responder: of.responder(), instance };
      connection.publish(message.reply, JSON.stringify(answer));
    },
  });
  return {
    stop: async () => subscription.unsubscribe(),
  };
}

/** Everybody who answers within the time; ends early with the answer of `instance`, when that is asked for. */
export async function askLiveness(asked: {
  connection: NatsConnection;
  space: string;
  /** Whose request subject this connection may publish on. */
  principal: string;
  instance?: string;
  timeoutMs: number;
}): Promise<LivenessAnswer[]> {
  const { connection, space, principal, instance, timeoutMs } = asked;
  const subject = livenessSubject(space, principal);
  const reply = replyPrefix(subject) + randomBytes(8).toString('hex');
  const answers: LivenessAnswer[] = [];
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      subscription.unsubscribe();
      resolve();
    };
    const subscription = connection.subscribe(reply, {
      callback: (error, message) => {
        if (error !== null) return end();
        const answer = shaped(answerSchema, readJson(message.data));
        if (answer === undefined) return;
        answers.push(answer);
        if (answer.instance === instance) end();
      },
    });
    const timer = setTimeout(end, timeoutMs);
    connection.publish(subject, new Uint8Array(), { reply });
  });
  return answers;
}
