/** The machine of a membership over the agent's connection: live subscription, registry, plane. */

import { carriedSize } from '../domain/entry.ts';
import type { Message } from '../domain/message.ts';
import { readPost } from '../domain/message.ts';
import type { Member } from '../domain/names.ts';
import { principalOf } from '../domain/names.ts';
import { chatOfChannel } from '../domain/subjects.ts';
import type { AskFact, CloseFact, LiveFact, PlaneFact } from '../machines/durable-membership.facts.ts';
import { durableMembershipMachine } from '../machines/durable-membership.machine.ts';
import type { Known, Open } from '../machines/durable-membership.setup.ts';
import { ask, listen } from '../services/bind-effects.ts';
import type { PlaneRows } from '../services/nats/plane-rows.ts';
import { askRail, type RailAnswer } from '../services/nats/rail-client.ts';
import type { Journal, Stoppable } from '../services/ports.ts';
import type { Tally } from '../services/tally.ts';
import type { Link } from './link.ts';
import { LIVE_CHANNEL, type PlaneWatch } from './plane-watch.ts';

export interface MembershipServices {
  readonly link: Link;
  readonly space: string;
  readonly member: Member;
  readonly rows: PlaneRows;
  readonly watch: PlaneWatch;
  readonly journal: Journal;
  readonly tally: Tally;
  /** Open mode: there is nobody to ask for a backstop. */
  readonly open: boolean;
  /** A live post of a channel that is joined. `copied`: it is not too large for a durable copy. */
  live(message: Message, copied: boolean): void;
}

const OPEN_MODE = 'open mode is live-only: there is no delivery daemon';

type Row = { generation: number; state: 'pending' | 'active' | 'left' };

export function bindMembership(services: MembershipServices) {
  const { link, space, member, rows, watch } = services;
  const { broker } = link;
  const question = { broker, space, principal: principalOf(member) };

  /** The registry's row of this member for a channel; undefined where it has none. */
  const rowOf = async (
    channel: string,
  ): Promise<{ kind: 'row'; row: Row | undefined } | { kind: 'no'; why: string }> => {
    const listed = await askRail({ ...question, op: 'listMemberships', args: { lifecycleUid: member.uid } });
    if (listed.kind !== 'answered') return { kind: 'no', why: whyNot(listed) };
    return { kind: 'row', row: listed.data.memberships.find((row) => row.channel === channel) };
  };

  /** Closes a generation at the registry; 0: whichever it has. */
  const leave = async (channel: string, generation: number): Promise<CloseFact> => {
    if (services.open) return { type: 'leave.absent' };
    let closing = generation;
    if (closing === 0) {
      const known = await rowOf(channel);
      if (known.kind === 'no') return { type: 'leave.unanswered', reason: known.why };
      if (known.row === undefined) return { type: 'leave.absent' };
      closing = known.row.generation;
    }
    const args = { channel, generation: closing, lifecycleUid: member.uid };
    const answer = await askRail({ ...question, op: 'durableLeave', args });
    if (answer.kind === 'silent' || answer.kind === 'unreadable') {
      return { type: 'leave.unanswered', reason: whyNot(answer) };
    }
    if (answer.kind !== 'answered') return { type: 'leave.refused', reason: whyNot(answer) };
    const { left, dropped, reason = '' } = answer.data;
    return left ? { type: 'leave.closed', generation: closing, dropped } : { type: 'leave.refused', reason };
  };

  return durableMembershipMachine.provide({
    actors: {
      subscribeLive: listen<LiveFact, { channel: string }>((tell, { channel }) => subscribe(services, channel, tell)),

      askDurable: ask<AskFact, Open>(async ({ channel, generation, owedLeave }) => {
        const no = (type: 'durable.withheld' | 'durable.unanswered', reason: string): AskFact => {
          return { type, reason, at: Date.now() };
        };
        if (services.open) return no('durable.withheld', OPEN_MODE);
        if (owedLeave !== null) {
          const left = await leave(channel, owedLeave);
          if (left.type === 'leave.unanswered') return no('durable.unanswered', left.reason);
        }
        if ((await rows.classOf(channel)) === 'live') return no('durable.withheld', LIVE_CHANNEL);
        if (generation > 0) {
          const known = await rowOf(channel);
          if (known.kind === 'no') return no('durable.unanswered', known.why);
          const { row } = known;
          if (row?.state === 'left' && row.generation >= generation) {
            return { type: 'membership.closed', generation: row.generation };
          }
        }
        const answer = await askRail({ ...question, op: 'durableJoin', args: { channel } });
        if (answer.kind !== 'answered') {
          const silent = answer.kind === 'silent' || answer.kind === 'unreadable';
          return no(silent ? 'durable.unanswered' : 'durable.withheld', whyNot(answer));
        }
        const { durable, reason, joinCursor, generation: granted, shortfall } = answer.data;
        if (!durable || granted === undefined || joinCursor === undefined) {
          return no('durable.withheld', reason ?? 'the daemon gave no reason');
        }
        return {
          type: 'durable.granted',
          generation: granted,
          joinCursor,
          ...(shortfall === undefined ? {} : { shortfall }),
        };
      }),

      closeDurable: ask<CloseFact, Known>(({ channel, generation }) => leave(channel, generation)),

      followPlane: listen<PlaneFact, { channel: string; urgent: boolean }>((tell, input) =>
        services.open ? { stop: async () => {} } : watch.follow({ ...input, tell }),
      ),
    },
  });
}

/** In words: why there is no answer. */
export function whyNot(answer: Exclude<RailAnswer<'durableJoin'>, { kind: 'answered' }>): string {
  switch (answer.kind) {
    case 'silent':
      return `no daemon answers (${answer.why})`;
    case 'unreadable':
      return 'the reply cannot be read';
    case 'denied':
      return `the broker denied ${answer.subject}`;
    case 'refused':
      return answer.message;
  }
}

/** Subscribes to a channel: the broker decides, and its refusal comes before it has answered a ping. */
function subscribe(of: MembershipServices, channel: string, tell: (fact: LiveFact) => void): Stoppable {
  const { link, space, member, journal, tally, live } = of;
  const { connection } = link;
  let over = false;
  const end = (fact: LiveFact) => {
    if (over) return;
    over = true;
    tell(fact);
  };
  const subscription = connection.subscribe(chatOfChannel(space, channel), {
    callback: (error, message) => {
      if (error !== null)
        return end({ type: 'live.refused', reason: `the broker denied the subscription (${error.message})` });
      if (over) return;
      const read = readPost(space, message.subject, message.data);
      if (read.kind === 'poison') {
        tally.add('client.poison-posts', read.why);
        if (tally.get('client.poison-posts', read.why) === 1)
          journal.tell('client.poison-post', { channel, why: read.why });
      } else if (read.channel === channel && read.principal !== principalOf(member)) {
        live(read.message, carriedSize(message.data, channel) <= link.broker.maxPayload);
      }
    },
  });
  void subscription.closed.then(() => end({ type: 'live.lost', reason: 'the subscription was closed' }));
  connection.flush().then(
    () => over || tell({ type: 'live.bound', at: Date.now() }),
    (error: Error) => end({ type: 'live.lost', reason: error.message }),
  );
  return {
    stop: async () => {
      over = true;
      subscription.unsubscribe();
    },
  };
}
