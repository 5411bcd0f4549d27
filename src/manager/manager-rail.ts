/**
 * The responder of the manager's rail. A request is answered at most once; while there is a doubt about the lease, or the
 * rail is given up, nobody is answered.
 */
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { describeError, Plane3Error } from '../domain/errors/catalogue.ts';
import { type ManagerArgs, type ManagerOp, readManagerRequest } from '../domain/manager-rail.ts';
import { readJson } from '../domain/message.ts';
import { encodeReply, type RailReply } from '../domain/rail.ts';
import { isReplyOf, managerSubject, readRequester } from '../domain/subjects.ts';
import type { Journal, Stoppable } from '../services/ports.ts';
import type { Losses } from './losses.ts';

export type ManagerHandlers = { [O in ManagerOp]: (args: ManagerArgs<O>) => Promise<object> };

export function serveManagerRail(of: {
  connection: NatsConnection;
  losses: Losses;
  space: string;
  handlers: ManagerHandlers;
  /** True while an answer may be given. */
  holds(): boolean;
  journal: Journal;
  /** The broker has the subscription. */
  bound(): void;
  lost(why: string): void;
}): Stoppable {
  const { connection, space, handlers, holds, journal } = of;
  let over = false;
  const answer = async (message: Msg): Promise<void> => {
    const principal = readRequester(message.subject);
    if (principal === undefined || !isReplyOf(message.subject, message.reply)) {
      journal.tell('rail.dropped', { rail: 'manager', subject: message.subject });
      return;
    }
    let op = 'request';
    let reply: RailReply;
    try {
      const request = readManagerRequest(principal, readJson(message.data));
      op = request.op;
      if (over || !holds()) return;
      const handler = handlers[request.op] as (args: never) => Promise<object>;
      reply = { ok: true, data: await handler(request.args) };
    } catch (error) {
      if (!(error instanceof Plane3Error)) journal.tell('manager.rail-fault', { op, ...describeError(error) });
      const facts = error instanceof Plane3Error ? { facts: error.facts } : {};
      reply = { ok: false, error: { ...describeError(error), ...facts } };
    }
    if (over || !holds()) return;
    connection.publish(message.reply, encodeReply(op, reply, connection.info?.max_payload ?? 1_048_576));
    journal.tell('manager.asked', { op, principal, ok: reply.ok });
  };
  const subscription = connection.subscribe(managerSubject(space, '*.*'), {
    queue: 'manager',
    callback: (error, message) => {
      if (error !== null) of.lost(error.message);
      else void answer(message);
    },
  });
  connection.flush().then(
    () => {
      if (!over) of.bound();
    },
    (error: Error) => {
      if (!over) of.lost(error.message);
    },
  );
  const unheard = of.losses.hear((why) => of.lost(why));
  return {
    stop: async () => {
      over = true;
      unheard();
      if (!connection.isClosed()) subscription.unsubscribe();
    },
  };
}
