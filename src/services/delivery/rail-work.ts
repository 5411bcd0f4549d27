/**
 * What the rails answer. A handler answers with the operation's data, refuses by throwing a `Plane3Error`, or stays silent
 * (the broker was silent, so nothing is known): the caller hears nothing and may ask again.
 */
import { describeError, Plane3Error } from '../../domain/errors/catalogue.ts';
import type { JoinAnswer, LeaveAnswer } from '../../domain/membership.ts';
import { readPost } from '../../domain/message.ts';
import { type Member, memberKey } from '../../domain/names.ts';
import {
  type AdminOp,
  type ArgsOf,
  type DataOf,
  type DeliveryOp,
  HISTORY_DEFAULT,
  OWED_MAX,
  readRequest,
} from '../../domain/rail.ts';
import type { RoutingIndex } from '../../domain/routing.ts';
import { type AclState, mayRead } from '../../domain/rows.ts';
import { memberRowKey } from '../../domain/subjects.ts';
import type { Clock, Copies, Entries, Posts, RailRequest, Rows, StoredPost } from '../ports.ts';
import { owedTo, owedToAll } from './owed-answers.ts';

export type Silence = 'silent';
type Handler<O extends DeliveryOp | AdminOp> = (asked: {
  principal: string;
  args: ArgsOf<O>;
}) => Promise<DataOf<O> | Silence>;
export type Handlers = { [O in DeliveryOp | AdminOp]?: Handler<O> };

export interface RailPorts {
  readonly space: string;
  readonly rows: Rows;
  readonly posts: Posts;
  readonly entries: Entries;
  readonly copies: Copies;
  readonly index: RoutingIndex;
  readonly clock: Clock;
  maxPayload(): number;
  /** Puts a request to the row's membership actor; resolves with its answer, or never. */
  ask(key: string, ask: { kind: 'join' } | { kind: 'leave'; generation: number }): Promise<JoinAnswer | LeaveAnswer>;
  /** Resolves when the writer routes by this revision of the channel's row. */
  channelSeen(channel: string, revision: number): Promise<void>;
  /** Has the member's lane look at its copies again. */
  review(member: string): Promise<{ withdrawn: number; removed: number }>;
}

/** Answers one request, at most once. */
export async function answerRequest(handlers: Handlers, request: RailRequest): Promise<void> {
  const read = readRequest(request.rail, request.principal, request.body);
  const op = read.kind === 'request' ? read.op : 'request';
  try {
    if (read.kind === 'refused') throw read.error;
    const handler = handlers[read.op] as Handler<DeliveryOp> | undefined;
    if (handler === undefined) throw new Plane3Error('rail.not-wired', { op, reason: 'it was started without it' });
    const data = await handler({ principal: request.principal, args: read.args });
    if (data !== 'silent') request.reply(op, { ok: true, data });
  } catch (error) {
    if (!(error instanceof Plane3Error)) throw error;
    request.reply(op, { ok: false, error: describeError(error) });
  }
}

/** The operations of `ctl.delivery`, and those of `ctl.delivery-admin` that need nothing but the delivery stores. */
export function deliveryHandlers(ports: RailPorts): Handlers {
  const { rows, posts, index, space } = ports;

  /** The one live lifecycle of a principal; which it is, is never the caller's to say. */
  const lifecycleOf = async (principal: string): Promise<{ member: Member; acl: AclState } | Silence> => {
    const found = await rows.lifecycles({ principal });
    if (found.kind === 'silent') return 'silent';
    const [only, ...others] = found.members;
    if (only === undefined) throw new Plane3Error('rail.no-lifecycle', { principal });
    if (others.length > 0) throw new Plane3Error('rail.several-lifecycles', { principal, count: found.members.length });
    return only;
  };

  return {
    durableJoin: async ({ principal, args: { channel } }) => {
      const lifecycle = await lifecycleOf(principal);
      if (lifecycle === 'silent') return 'silent';
      const answer = await ports.ask(memberRowKey(channel, lifecycle.member), { kind: 'join' });
      if (!('durable' in answer)) return 'silent';
      const row = index.membership(channel, lifecycle.member);
      return {
        ...answer,
        lifecycleUid: lifecycle.member.uid,
        ...(answer.durable && row?.shortfall !== undefined ? { shortfall: row.shortfall } : {}),
      };
    },

    durableLeave: async ({ principal, args: { channel, generation, lifecycleUid } }) => {
      const answer = await ports.ask(memberRowKey(channel, memberOf(principal, lifecycleUid)), {
        kind: 'leave',
        generation,
      });
      return 'left' in answer ? answer : 'silent';
    },

    listMemberships: async ({ principal, args: { lifecycleUid } }) => {
      const key = memberKey(memberOf(principal, lifecycleUid));
      const memberships = [...index.memberships()]
        .filter(({ member }) => memberKey(member) === key)
        .map(({ row }) => row);
      return { memberships };
    },

    readHistory: async ({ principal, args: { channel, limit = HISTORY_DEFAULT } }) => {
      const lifecycle = await lifecycleOf(principal);
      if (lifecycle === 'silent') return 'silent';
      if (!mayRead(lifecycle.acl, channel)) throw new Plane3Error('rail.not-readable', { principal, channel });
      const read = await posts.last({ channel, limit });
      return read.kind === 'silent' ? 'silent' : fitted(space, read.posts, ports.maxPayload());
    },

    pendingCount: async ({ principal }) => {
      const lifecycle = await lifecycleOf(principal);
      if (lifecycle === 'silent') return 'silent';
      return owedTo(ports, lifecycle.member);
    },

    channelSeen: async ({ args: { channel, revision } }) => {
      await ports.channelSeen(channel, revision);
      return { seen: true, class: index.classOf(channel) };
    },

    owed: async ({ args: { principal, after = '', limit = OWED_MAX } }) => {
      if (principal === undefined) {
        const [owed, kept] = await Promise.all([owedToAll(ports, { after, limit }), rows.floor()]);
        if (owed === 'silent' || kept.kind === 'silent') return 'silent';
        return { ...owed, discarded: kept.row?.discarded };
      }
      const lifecycle = await lifecycleOf(principal);
      if (lifecycle === 'silent') return 'silent';
      const owed = await owedTo(ports, lifecycle.member);
      return owed === 'silent'
        ? 'silent'
        : { members: [{ member: memberKey(lifecycle.member), ...owed }], more: false };
    },

    reauthorize: async ({ args: { principal, lifecycleUid } }) =>
      ports.review(memberKey(memberOf(principal, lifecycleUid))),
  };
}

/** `owner.actor` and a uid are a member; both come checked. */
function memberOf(principal: string, uid: string): Member {
  const [owner = '', actor = ''] = principal.split('.');
  return { owner, actor, uid };
}

/** Room for the reply's own frame around the items. */
const FRAME = 1_024;

/** The newest posts that fit one reply, oldest first. One that is too large by itself is named with its size. */
function fitted(space: string, posts: readonly StoredPost[], limit: number): DataOf<'readHistory'> {
  const items: DataOf<'readHistory'>['items'] = [];
  const omitted: { seq: number; bytes: number }[] = [];
  let room = limit - FRAME;
  let complete = true;
  for (const post of [...posts].reverse()) {
    const read = readPost(space, post.subject, post.data);
    if (read.kind === 'poison') continue;
    const bytes = Buffer.byteLength(JSON.stringify({ seq: post.seq, msg: read.message })) + 1;
    if (bytes > limit - FRAME) {
      omitted.push({ seq: post.seq, bytes });
      continue;
    }
    if (bytes > room) {
      complete = false;
      break;
    }
    room -= bytes;
    items.unshift({ seq: post.seq, msg: read.message });
  }
  return { items, complete, ...(omitted.length === 0 ? {} : { omitted }) };
}
