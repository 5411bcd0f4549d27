/** The memberships of one agent: an actor a channel, and what is true of each. */
import { type Actor, createActor } from 'xstate';
import { isSurfaceable } from '../domain/backstop.ts';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import type { Message } from '../domain/message.ts';
import { principalOf } from '../domain/names.ts';
import type { Shortfall } from '../domain/rows.ts';
import type { durableMembershipMachine } from '../machines/durable-membership.machine.ts';
import { bindMembership, type MembershipServices } from './bind-membership.ts';
import type { CopyInHand, Receiver } from './receiver.ts';

/**
 * What is true of a membership now.
 *
 *   durable   the registry granted it: a post after `joinCursor` is owed until it is confirmed, also while the connection is down
 *   live      subscribed; the durable backstop is not established, since when and why
 *   joining   not subscribed (yet, or at the moment): also while the connection is down, and until the broker has answered
 *             after it was given the subscription again
 *   leaving   not subscribed any more; the registry has not confirmed the leave
 *   left
 */
export interface Standing {
  readonly channel: string;
  readonly state: 'durable' | 'live' | 'joining' | 'leaving' | 'left';
  readonly generation?: number;
  readonly joinCursor?: number;
  /** Why it is not what was asked for. */
  readonly reason?: string;
  /** How long the backstop has not been established, milliseconds. */
  readonly unestablishedMs?: number;
  /** Posts that the member's quota had no room for. */
  readonly shortfall?: Shortfall;
}

export interface Left {
  readonly channel: string;
  readonly left: boolean;
  /** Entries that were owed and are not any more. */
  readonly dropped: number;
  readonly reason?: string;
}

type Membership = Actor<typeof durableMembershipMachine>;
type Snapshot = ReturnType<Membership['getSnapshot']>;

export interface MembershipsSetting extends Omit<MembershipServices, 'live'> {
  readonly receiver: Receiver;
  readonly preferDurableMs: number;
  readonly onStanding?: (standing: Standing) => void;
}

export class Memberships {
  readonly #setting: MembershipsSetting;
  readonly #machine: ReturnType<typeof bindMembership>;
  readonly #actors = new Map<string, Membership>();
  /** Live posts that wait for their copies, and of which channel. */
  readonly #held = new Map<NodeJS.Timeout, string>();

  constructor(setting: MembershipsSetting) {
    this.#setting = setting;
    this.#machine = bindMembership({ ...setting, live: (message, copied) => this.#live(message, copied) });
  }

  async join(channel: string): Promise<Standing> {
    const actor = this.#actorOf(channel);
    actor.send({ type: 'join.requested' });
    const outcome = await this.#settled(actor);
    if (outcome.hasTag('left')) {
      const member = principalOf(this.#setting.member);
      throw new Plane3Error('join.refused', { member, channel, reason: outcome.context.why });
    }
    return standingOf(outcome);
  }

  async leave(channel: string): Promise<Left> {
    const actor = this.#actorOf(channel);
    actor.send({ type: 'leave.requested' });
    const { context, ...outcome } = await this.#settled(actor);
    const left = outcome.value === 'Left' && context.why === '';
    return { channel, left, dropped: context.dropped, ...(context.why === '' ? {} : { reason: context.why }) };
  }

  /** @throws Plane3Error `client.closed` where it was stopped before an outcome was known. */
  async #settled(actor: Membership): Promise<Snapshot> {
    const outcome = await settled(actor);
    if (outcome.status === 'active') return outcome;
    throw new Plane3Error('client.closed', { member: principalOf(this.#setting.member), reason: 'it was closed' });
  }

  standings(): Standing[] {
    return [...this.#actors.values()].map((actor) => standingOf(actor.getSnapshot()));
  }

  /** False for a copy of a generation that is closed or that the agent is leaving. */
  isSurfaceable({ channel, generation }: CopyInHand): boolean {
    const snapshot = this.#actors.get(channel)?.getSnapshot();
    if (snapshot === undefined) return true;
    return isSurfaceable(snapshot.context.backstop, generation, isLeft(snapshot));
  }

  /** History of the channel that was asked for at a join: it surfaces where the channel was not left meanwhile. */
  backfill(message: Message, seq: number): void {
    const snapshot = this.#actors.get(message.channel)?.getSnapshot();
    if (snapshot !== undefined && !isLeft(snapshot)) this.#setting.receiver.offerBackfill(message, seq);
  }

  /** The connection is down. */
  lost(): void {
    for (const actor of this.#actors.values()) actor.send({ type: 'connection.lost' });
  }

  /** The connection is back, and the broker has every subscription again. */
  restored(): void {
    for (const actor of this.#actors.values()) actor.send({ type: 'connection.restored' });
  }

  stop(): void {
    for (const timer of this.#held.keys()) clearTimeout(timer);
    for (const actor of this.#actors.values()) actor.stop();
  }

  #actorOf(channel: string): Membership {
    const known = this.#actors.get(channel);
    if (known !== undefined) return known;
    const actor = createActor(this.#machine, { input: { channel } });
    this.#actors.set(channel, actor);
    let told = lasting(standingOf(actor.getSnapshot()));
    actor.subscribe((snapshot) => {
      if (isLeft(snapshot)) this.#drop(channel);
      const standing = standingOf(snapshot);
      if (!snapshot.hasTag('settled') || lasting(standing) === told) return;
      told = lasting(standing);
      this.#tell(standing);
    });
    actor.start();
    return actor;
  }

  /** What came of a channel that is left, and has not surfaced: its copies are passed over one by one, the rest ends here. */
  #drop(channel: string): void {
    for (const [timer, of] of this.#held) {
      if (of !== channel) continue;
      clearTimeout(timer);
      this.#held.delete(timer);
    }
    this.#setting.receiver.dropUncopied(channel);
  }

  #tell(standing: Standing): void {
    const { journal, onStanding } = this.#setting;
    const { channel, state, reason = '', generation = 0 } = standing;
    if (state === 'durable') journal.tell('client.durable', { channel, generation });
    else if (state === 'live') journal.tell('client.unestablished', { channel, reason });
    else if (state === 'left') journal.tell('client.left', { channel, reason });
    onStanding?.(standing);
  }

  /**
   * A live post surfaces at once, or waits a moment for its durable copy, which carries its sequence. One without an id could
   * not be told from its copy: where a copy is owed, that one surfaces. What is too large for a copy is owed to nobody.
   */
  #live(message: Message, copied: boolean): void {
    const { receiver, preferDurableMs } = this.#setting;
    const owed = copied && this.#actors.get(message.channel)?.getSnapshot().hasTag('durable') === true;
    if (owed && message.id === '') return;
    if (!owed || preferDurableMs === 0) return receiver.offerLive(message);
    const timer = setTimeout(() => {
      this.#held.delete(timer);
      receiver.offerLive(message);
    }, preferDurableMs);
    this.#held.set(timer, message.channel);
  }
}

/** Left, or about to be: nothing of the channel surfaces any more. */
const isLeft = (snapshot: Snapshot): boolean => snapshot.matches('Closing') || snapshot.hasTag('left');

/** What of a standing is news when it is another: not its age. */
function lasting({ unestablishedMs: _age, ...rest }: Standing): string {
  return JSON.stringify(rest);
}

/** Resolves as soon as an outcome is known, or none will be, as the actor was stopped. */
async function settled(actor: Membership): Promise<Snapshot> {
  // What was sent by whoever is being told of a state is taken in when everybody has been told of it.
  await undefined;
  const now = actor.getSnapshot();
  if (now.status !== 'active' || now.hasTag('settled')) return now;
  return new Promise((resolve) => {
    const subscription = actor.subscribe({
      next: (snapshot) => {
        if (!snapshot.hasTag('settled')) return;
        subscription.unsubscribe();
        resolve(snapshot);
      },
      complete: () => resolve(actor.getSnapshot()),
    });
  });
}

function standingOf(snapshot: Snapshot): Standing {
  const { channel, backstop, why } = snapshot.context;
  const { generation, joinCursor, reason, since, shortfall } = backstop;
  if (snapshot.hasTag('durable')) {
    return { channel, state: 'durable', generation, joinCursor, ...(shortfall === null ? {} : { shortfall }) };
  }
  if (snapshot.hasTag('live'))
    return { channel, state: 'live', reason, unestablishedMs: Math.max(0, Date.now() - since) };
  const because = why === '' ? {} : { reason: why };
  if (snapshot.hasTag('left')) return { channel, state: 'left', ...because };
  return { channel, state: snapshot.matches('Closing') ? 'leaving' : 'joining', ...because };
}
