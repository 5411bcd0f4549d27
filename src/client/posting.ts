/** Publishing a post: stored by the broker before it is answered, recognized when it is sent again with the same id. */
import { randomUUID } from 'node:crypto';
import { carriedSize } from '../domain/entry.ts';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { type Message, messageSchema, type Part, postMessageId } from '../domain/message.ts';
import { mentionName, parseChannel } from '../domain/names.ts';
import { firstIssue } from '../domain/rail.ts';
import { chatSubject } from '../domain/subjects.ts';
import { publishOne } from '../services/nats/batch.ts';
import type { GatedBroker } from '../services/nats/gated-broker.ts';
import type { PlaneRows } from '../services/nats/plane-rows.ts';

export interface PostRequest {
  /** A concrete channel. */
  readonly channel: string;
  /** Shorthand for one text part. */
  readonly text?: string;
  readonly parts?: readonly Part[];
  /** Names of agents, in any case. */
  readonly mentions?: readonly string[];
  /** A random one unless told. A post with the same id, sender and channel is the same post; "" suppresses nothing. */
  readonly id?: string;
  readonly replyTo?: string;
  readonly contextId?: string;
}

/**
 * How far a stored post is taken care of. That somebody surfaced it is another fact, which nobody but the receiver knows.
 *
 *   durable   a daemon is ready: every durable member gets a copy that it is owed until it confirms it
 *   queued    no daemon is ready: the copies are made when one is
 *   live      the channel is live, or the post too large to be copied: only who is subscribed now gets it
 *             (on a live channel a mentioned agent too)
 *   unknown   the rows of the plane were not answered for
 */
export type DeliveryTier = 'durable' | 'queued' | 'live' | 'unknown';

export interface Posted {
  readonly id: string;
  /** Sequence of the post on the channel's stream; of the first one where it is a duplicate. Null in open mode: it is not stored. */
  readonly seq: number | null;
  /** It was there already. */
  readonly duplicate: boolean;
  readonly delivery: DeliveryTier;
}

export interface PostingSetting {
  readonly broker: GatedBroker;
  readonly space: string;
  /** `owner.actor` */
  readonly principal: string;
  /** Name shown with the post. */
  readonly name: string;
  readonly rows: PlaneRows;
  /** Open mode: nothing is stored, and nobody says so. */
  readonly open: boolean;
}

/**
 * @throws Plane3Error `name.channel…` or `post.malformed` before anything is sent; `post.denied` where the agent may not
 *   post there; `post.refused` with the broker's reason; `post.unanswered` where nobody knows whether it was stored.
 */
export async function post(setting: PostingSetting, request: PostRequest): Promise<Posted> {
  const { broker, space, principal } = setting;
  const message = messageOf(setting, request);
  const { id, channel } = message;
  const subject = chatSubject(space, principal, channel);
  const data = new TextEncoder().encode(JSON.stringify(message));
  const msgId = postMessageId(message);
  const shut = broker.shut();
  if (shut !== undefined) throw new Plane3Error('post.unanswered', { id, channel, reason: shut.why });
  if (setting.open) {
    broker.connection.publish(subject, data);
    await broker.connection.flush();
    return { id, seq: null, duplicate: false, delivery: 'live' };
  }
  const copied = carriedSize(data, channel) <= broker.maxPayload;
  const [outcome, delivery] = await Promise.all([
    publishOne({
      connection: broker.connection,
      message: { subject, data, ...(msgId === undefined ? {} : { msgId }) },
      timeoutMs: broker.timeoutMs,
    }),
    copied ? tierOf(setting, channel) : ('live' as const),
  ]);
  switch (outcome.kind) {
    case 'stored':
    case 'duplicate':
      return { id, seq: outcome.seq, duplicate: outcome.kind === 'duplicate', delivery };
    case 'denied':
      throw new Plane3Error('post.denied', { member: principal, channel, subject: outcome.subject });
    case 'unanswered':
      throw new Plane3Error('post.unanswered', { id, channel, reason: outcome.why });
    case 'refused':
      throw new Plane3Error('post.refused', { channel, reason: outcome.message });
    case 'conflict':
      throw new Plane3Error('post.refused', { channel, reason: 'another write came first' });
  }
}

function messageOf({ space, principal, name }: PostingSetting, request: PostRequest): Message {
  const channel = parseChannel(request.channel);
  const { text, id = randomUUID(), replyTo, contextId } = request;
  const parts = [...(text === undefined ? [] : [{ kind: 'text' as const, text }]), ...(request.parts ?? [])];
  const mentions = [...new Set((request.mentions ?? []).map(mentionName).filter((each) => each !== ''))];
  if (parts.length === 0) throw new Plane3Error('post.malformed', { channel, reason: 'it has neither text nor parts' });
  const parsed = messageSchema.safeParse({
    id,
    ts: Date.now(),
    space,
    from: { id: principal, name },
    channel,
    ...(mentions.length === 0 ? {} : { mentions }),
    parts,
    ...(replyTo === undefined ? {} : { replyTo }),
    ...(contextId === undefined ? {} : { contextId }),
  });
  if (!parsed.success) throw new Plane3Error('post.malformed', { channel, reason: firstIssue(parsed.error) });
  return parsed.data;
}

async function tierOf({ rows }: PostingSetting, channel: string): Promise<DeliveryTier> {
  const [lease, deliveryClass] = await Promise.all([rows.lease(), rows.classOf(channel)]);
  if (deliveryClass === 'live') return 'live';
  if (deliveryClass === 'unknown' || lease.kind === 'unknown') return 'unknown';
  return lease.kind === 'ready' ? 'durable' : 'queued';
}
