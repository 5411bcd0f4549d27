/**
 * plane3/client: the agent's side of the durable plane.
 *
 * ```ts
 * const agent = await connectAgent({ url, creds });
 * const { state, reason } = await agent.join('team.general');   // 'durable', or 'live' and why
 * await agent.post({ channel: 'team.general', text: 'hello', mentions: ['bob'] });
 * for await (const post of agent.read({ follow: true })) {
 *   show(post.message);
 *   await post.confirm();          // only now it is not owed any more
 * }
 * ```
 *
 * A post that was not confirmed comes again, to whoever reads next. Nothing is reported that was not proved: `durable` is
 * what the registry granted, `confirmed` what the broker acknowledged, silence is never a refusal and never "none".
 */

import { Plane3Error } from '../domain/errors/catalogue.ts';
import { type Member, memberKey, parseChannel, principalOf } from '../domain/names.ts';
import type { DataOf, DeliveryOp } from '../domain/rail.ts';
import { PlaneRows } from '../services/nats/plane-rows.ts';
import { askRail } from '../services/nats/rail-client.ts';
import type { Journal } from '../services/ports.ts';
import { Tally } from '../services/tally.ts';
import { OwnCopies } from './copies.ts';
import { Inbox, type ReadOptions } from './inbox.ts';
import { Link } from './link.ts';
import { type Left, Memberships, type Standing } from './memberships.ts';
import { type AgentOptions, whoIs } from './options.ts';
import { PlaneWatch } from './plane-watch.ts';
import { type Posted, type PostRequest, post } from './posting.ts';
import { Presence } from './presence.ts';
import { Receiver, type Surfaced } from './receiver.ts';

export { Plane3Error } from '../domain/errors/catalogue.ts';
export type { Message, Part } from '../domain/message.ts';
export type { ReadOptions } from './inbox.ts';
export type { Left, Standing } from './memberships.ts';
export type { AgentOptions } from './options.ts';
export type { DeliveryTier, Posted, PostRequest } from './posting.ts';
export type { Confirmed, Source, Surfaced } from './receiver.ts';

const TIMEOUT_MS = 5_000;
const REMEMBERED = 10_000;
const WAITING_LIVE = 1_000;
const silentJournal: Journal = { tell: () => {} };

/**
 * Connects as an agent and binds its delivery durable, by name only. Where no delivery daemon is ready on this plane, that
 * is warned of (`client.plane-not-ready`) and nothing more: a daemon that starts later delivers through it.
 *
 * @throws Plane3Error `client.credential` for a text that is no agent's credential, `broker.unreachable`, `client.no-durable`.
 */
export async function connectAgent(options: AgentOptions): Promise<Agent> {
  const { credential, identity } = whoIs(options);
  const { url, tls, timeoutMs = TIMEOUT_MS } = options;
  const name = options.name ?? identity.member.actor;
  const link = await Link.open({
    url,
    name,
    timeoutMs,
    ...(credential === undefined ? {} : { credential }),
    ...(tls === undefined ? {} : { tls }),
  });
  const agent = new Agent({ ...options, ...identity, name, link });
  try {
    await agent.bind();
  } catch (error) {
    await agent.close();
    throw error;
  }
  return agent;
}

type Parts = AgentOptions & { space: string; member: Member; name: string; link: Link };

export class Agent {
  readonly space: string;
  /** The one lifecycle that this is: owner, actor, uid. */
  readonly member: Member;
  /** `owner.actor` */
  readonly principal: string;
  readonly name: string;
  /** Open mode: live only. */
  readonly open: boolean;
  /** What happened, by name: duplicates, poison, foreign copies … */
  readonly tally = new Tally();
  readonly #link: Link;
  readonly #journal: Journal;
  readonly #rows: PlaneRows;
  readonly #watch: PlaneWatch;
  /** Undefined in open mode. */
  readonly #copies: OwnCopies | undefined;
  readonly #receiver: Receiver;
  readonly #inbox: Inbox;
  readonly #memberships: Memberships;
  readonly #presence: Presence;

  /** @internal Use `connectAgent`. */
  constructor(of: Parts) {
    const { space, member, name, link, journal = silentJournal, preferDurableMs = 0, onStanding } = of;
    this.space = space;
    this.member = member;
    this.principal = principalOf(member);
    this.name = name;
    this.open = of.open !== undefined;
    this.#link = link;
    this.#journal = journal;
    this.#rows = new PlaneRows(link.broker, space);
    this.#watch = new PlaneWatch(this.#rows, of.watch ?? { urgentMs: 1_000, calmMs: 10_000 });
    const shared = { broker: link.broker, space, member, journal, tally: this.tally };
    this.#copies = this.open ? undefined : new OwnCopies(shared);
    this.#receiver = new Receiver({
      remembered: of.remembered ?? REMEMBERED,
      waitingLive: WAITING_LIVE,
      announced: () => this.#inbox.ring(),
      dropped: (count) => {
        this.tally.add('client.live-dropped', '', count);
        if (this.tally.get('client.live-dropped') === count) journal.tell('client.live-dropped', { count });
      },
    });
    this.#memberships = new Memberships({
      ...shared,
      link,
      rows: this.#rows,
      watch: this.#watch,
      receiver: this.#receiver,
      preferDurableMs,
      open: this.open,
      ...(onStanding === undefined ? {} : { onStanding }),
    });
    this.#inbox = new Inbox({
      link,
      copies: this.#copies,
      receiver: this.#receiver,
      member: this.principal,
      isWanted: (copy) => this.#memberships.isSurfaceable(copy),
    });
    this.#presence = new Presence({ link, space, member, card: { name, kind: of.presence?.kind ?? 'agent' } });
    if (of.presence !== undefined && !this.open) this.#presence.start();
    link.hear({
      lost: () => this.#memberships.lost(),
      restored: () => {
        this.#memberships.restored();
        // Whatever plane it is now: the durable is bound there anew, by the next pull.
        void this.#warnUnlessReady();
      },
      closed: (reason) => {
        journal.tell('client.closed', { member: memberKey(member), reason });
        void this.#inbox.close({ reason, asked: false });
      },
    });
  }

  /** @internal Finds the durable, and warns where no daemon is ready to deliver through it. */
  async bind(): Promise<void> {
    if (this.#copies !== undefined) await Promise.all([this.#copies.bind(), this.#warnUnlessReady()]);
  }

  async #warnUnlessReady(): Promise<void> {
    const durable = this.#copies?.durable;
    if (durable === undefined) return;
    const lease = await this.#rows.lease();
    if (lease.kind === 'ready') return;
    const condition = lease.kind === 'unknown' ? `unknown (${lease.why})` : lease.kind;
    this.#journal.tell('client.plane-not-ready', { durable, space: this.space, condition });
  }

  /**
   * Joins a channel: live by a subscription that the broker enforces, durable as soon as the daemon has granted it. Resolves
   * with the first outcome; one that is `live` becomes `durable` by itself later, which `onStanding` tells. Joining again
   * changes nothing.
   *
   * @param backfill Posts of the channel's history to surface too, marked `backfill`; at most 200. Needs a daemon.
   * @throws Plane3Error `name.channel…`, `join.refused` where the broker denies the subscription, `client.closed`.
   */
  async join(channel: string, { backfill = 0 }: { backfill?: number } = {}): Promise<Standing> {
    this.#mustBeOpen();
    const standing = await this.#memberships.join(parseChannel(channel));
    if (backfill > 0) {
      const { items } = await this.history(channel, { limit: backfill });
      for (const { seq, msg } of items) {
        if (msg.from.id !== this.principal) this.#memberships.backfill(msg, seq);
      }
    }
    return standing;
  }

  /**
   * Leaves a channel. The generation that is closed is named; what was still owed of it is dropped and never surfaces, nor
   * does what came live or as history and was not read yet.
   * `left` false: the daemon did not answer, or refused, as `reason` says; where it did not answer, it is asked again.
   * @throws Plane3Error `name.channel…`, `client.closed`.
   */
  async leave(channel: string): Promise<Left> {
    this.#mustBeOpen();
    return this.#memberships.leave(parseChannel(channel));
  }

  /** What is true of every membership that this client has, without asking anybody. */
  standings(): Standing[] {
    return this.#memberships.standings();
  }

  /**
   * Durable memberships as the registry has them, left ones included.
   * @throws Plane3Error `rail.silent`, `rail.refused`, `rail.unreadable`, `client.closed`.
   */
  async memberships(): Promise<DataOf<'listMemberships'>['memberships']> {
    return (await this.#ask('listMemberships', { lifecycleUid: this.member.uid })).memberships;
  }

  /**
   * Publishes a post. See `PostRequest`, and `DeliveryTier` for what the answer means and does not mean.
   * @throws Plane3Error `post.malformed`, `post.denied`, `post.refused`, `post.unanswered` where nobody knows whether it was
   *   stored, `client.closed` where it was not sent.
   */
  async post(request: PostRequest): Promise<Posted> {
    this.#mustBeOpen();
    const { broker } = this.#link;
    const { space, principal, name, open } = this;
    return post({ broker, space, principal, name, rows: this.#rows, open }, request);
  }

  /**
   * The newest posts of a channel, oldest first; `complete` false where older ones did not fit the reply.
   * @param limit 100 unless told, at most 200.
   * @throws Plane3Error `rail.refused` where the read ACL does not cover the channel, `rail.silent` without a daemon,
   *   `client.closed`.
   */
  history(channel: string, { limit }: { limit?: number } = {}): Promise<DataOf<'readHistory'>> {
    return this.#ask('readHistory', { channel: parseChannel(channel), ...(limit === undefined ? {} : { limit }) });
  }

  /**
   * What is owed to this agent.
   * @throws Plane3Error `rail.silent` without a daemon: then it is not known, which is not the same as none; `client.closed`.
   */
  pendingCount(): Promise<DataOf<'pendingCount'>> {
    return this.#ask('pendingCount', {});
  }

  /**
   * Surfaces posts: live ones of the joined channels, backfill, and durable copies, each post once. Confirm each one after it
   * was surfaced. Whatever was pulled and not confirmed is given back when the loop ends, however it does.
   *
   * @throws Plane3Error `client.reading` when another loop of this client reads, `client.closed`, `client.pull-lost`.
   */
  read(options: ReadOptions = {}): AsyncGenerator<Surfaced, void, void> {
    return this.#inbox.read(options);
  }

  /** Says what the agent does now, in its presence: available, busy … */
  setStatus(status: string): void {
    this.#presence.say(status);
  }

  async #ask<O extends DeliveryOp>(op: O, args: Parameters<typeof askRail<O>>[0]['args']): Promise<DataOf<O>> {
    this.#mustBeOpen();
    const { broker } = this.#link;
    const answer = await askRail({ broker, space: this.space, principal: this.principal, op, args });
    const rail = 'ctl.delivery';
    switch (answer.kind) {
      case 'answered':
        return answer.data;
      case 'refused':
        throw new Plane3Error('rail.refused', { op, reason: answer.message, code: answer.code });
      case 'denied':
        throw new Plane3Error('rail.refused', { op, reason: `the broker denied ${answer.subject}`, code: 'denied' });
      case 'silent':
        this.#mustBeOpen();
        throw new Plane3Error('rail.silent', { op, rail, reason: answer.why });
      case 'unreadable':
        throw new Plane3Error('rail.unreadable', { op, rail });
    }
  }

  /** @throws Plane3Error `client.closed` from `close()` on, or when the connection was closed for good. */
  #mustBeOpen(): void {
    const reason = this.#inbox.closedBecause;
    if (reason !== undefined) throw new Plane3Error('client.closed', { member: this.principal, reason });
  }

  /**
   * Ends everything: what was pulled goes back, memberships stay as the registry has them. Confirmations under way are waited
   * for; questions and joins end with `client.closed`.
   */
  async close(): Promise<void> {
    this.#presence.stop();
    await this.#inbox.close({ reason: 'it was closed', asked: true });
    await this.#receiver.confirmed();
    this.#memberships.stop();
    this.#watch.stop();
    await this.#link.close();
  }
}
