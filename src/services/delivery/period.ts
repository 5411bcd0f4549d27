/**
 * One serving period: everything that has effects, from the moment the lease is held until there is a doubt about it. A
 * period is opened whole and closed whole; work that outlives it finds its gate closed (L3, D5). The next one asks the
 * store for everything, but for the posts that were delivered and not settled, which it takes over.
 */
import { Plane3Error } from '../../domain/errors/catalogue.ts';
import type { Ask, JoinAnswer, LeaveAnswer } from '../../domain/membership.ts';
import { memberKey } from '../../domain/names.ts';
import { RoutingIndex } from '../../domain/routing.ts';
import type {
  Clock,
  Copies,
  Entries,
  FollowedRows,
  Journal,
  Posts,
  Rails,
  Rows,
  RowWatch,
  Silent,
  Stoppable,
} from '../ports.ts';
import type { Tally } from '../tally.ts';
import { ChannelSightings } from './channel-sightings.ts';
import { Copier } from './copier.ts';
import { Desks } from './desks.ts';
import { FanoutWork, type Unsettled } from './fanout-work.ts';
import { InHand } from './in-hand.ts';
import { Inventory } from './inventory.ts';
import { LaneWork } from './lane-work.ts';
import { MembershipWork } from './membership-work.ts';
import { OwedCounts } from './owed.ts';
import { answerRequest, deliveryHandlers, type Handlers } from './rail-work.ts';
import { type ReviewOf, Reviews } from './reviews.ts';
import { Shortfalls } from './shortfalls.ts';
import { Survey } from './survey.ts';
import { Tickets } from './tickets.ts';
import { Withdrawals } from './withdrawals.ts';

export interface DeliveryPorts {
  readonly posts: Posts;
  readonly entries: Entries;
  readonly copies: Copies;
  readonly rows: Rows;
  readonly rowWatch: RowWatch;
  readonly rails: Rails;
  maxPayload(): number;
}

export interface PeriodSetting {
  readonly space: string;
  readonly writerIdentity: string;
  readonly window: number;
  readonly batchSize: number;
  readonly quota: number;
  /** Members that must wait for their place before both stores are read once for all of them. */
  readonly inventoryFrom: number;
  readonly clock: Clock;
  readonly journal: Journal;
  readonly tally: Tally;
  /** Operations that other parts of the daemon serve on the rails. */
  readonly handlers: Handlers;
}

/** What a period tells the daemon. */
export type PeriodNews =
  | { type: 'rows.changed'; members: string[] }
  | { type: 'members.owed'; members: string[] }
  | { type: 'review.asked'; member: string }
  | { type: 'membership.asked'; key: string; ask: Ask }
  | { type: 'stores.lost'; why: string };

const NOT_FOLLOWED: Silent = { kind: 'silent', why: 'no rows are followed' };

export class ServingPeriod {
  readonly index = new RoutingIndex();
  readonly copier: Copier;
  readonly fanout: FanoutWork;
  readonly desks = new Desks();
  readonly inventory: Inventory;
  readonly lanes: LaneWork;
  readonly withdrawals: Withdrawals;
  readonly memberships: MembershipWork;
  readonly survey: Survey;
  readonly tickets = new Tickets<JoinAnswer | LeaveAnswer>();
  readonly ports: DeliveryPorts;
  readonly #setting: PeriodSetting;
  readonly #tell: (news: PeriodNews) => void;
  readonly #reviews = new Reviews();
  readonly #sightings = new ChannelSightings((channel) => this.index.classRevision(channel));
  #watch: FollowedRows | undefined;
  /** Aborted when the period ends: what a watch says after that is nobody's. */
  readonly #ended = new AbortController();

  constructor(of: {
    ports: DeliveryPorts;
    setting: PeriodSetting;
    tell: (news: PeriodNews) => void;
    unsettled?: Unsettled;
  }) {
    const { ports, setting, tell } = of;
    this.ports = ports;
    this.#setting = setting;
    this.#tell = tell;
    const owed = new OwedCounts();
    const shortfalls = new Shortfalls({ rows: ports.rows, clock: setting.clock });
    const doubt = (member: string) => this.desks.doubt(member);
    const shared = { ...ports, ...setting, index: this.index, owed, reviews: this.#reviews, shortfalls, doubt };
    const maxPayload = () => ports.maxPayload();
    const owe = (members: string[]) => tell({ type: 'members.owed', members });
    const isLiving = (member: string) => this.desks.isLiving(member);
    this.inventory = new Inventory({ ...shared, isLiving });
    this.lanes = new LaneWork({ ...shared, maxPayload, inventory: this.inventory }, this.desks);
    this.withdrawals = new Withdrawals(shared, this.desks);
    this.copier = new Copier({ ...shared, lanes: this.lanes });
    const isFull = (member: string) => this.desks.isFull(member, setting.window);
    const grantsTold = async () => (await this.#watch?.caughtUp()) ?? NOT_FOLLOWED;
    this.fanout = new FanoutWork({ ...shared, maxPayload, copier: this.copier, grantsTold, isFull }, of.unsettled);
    const passedOver = (member: string) => void this.#review(member, { again: true });
    this.survey = new Survey({ ...shared, isLiving, passedOver });
    this.memberships = new MembershipWork({
      ...shared,
      copier: this.copier,
      fanout: this.fanout,
      review: ({ member, ...of }) => this.#review(member, of),
      owe: (member) => owe([member]),
    });
  }

  /** Follows the rows that routing goes by, until every one that exists is known. */
  async open(): Promise<{ kind: 'open' } | Silent> {
    let following = false;
    const followed = await this.ports.rowWatch.follow({
      channel: (key, row, revision) => {
        this.index.applyChannel(key, row, revision);
        this.#sightings.applied(key);
      },
      member: (channel, member, row, revision) => this.index.applyMember(channel, member, row, revision),
      acl: (member, acl, revision) => {
        this.index.applyAcl(member, acl, revision);
        if (!following || this.#ended.signal.aborted) return;
        this.desks.doubt(memberKey(member));
        this.#tell({ type: 'rows.changed', members: [memberKey(member)] });
      },
      lost: (why) => {
        if (!this.#ended.signal.aborted) this.#tell({ type: 'stores.lost', why });
      },
    });
    if (followed.kind === 'silent') return followed;
    if (this.#ended.signal.aborted) {
      void followed.watch.stop();
      return { kind: 'silent', why: 'the period was closed meanwhile' };
    }
    following = true;
    this.#watch = followed.watch;
    return { kind: 'open' };
  }

  serveRails(listener: { bound(): void; lost(why: string): void }): Stoppable {
    const { handlers, space, clock } = this.#setting;
    const all: Handlers = {
      ...deliveryHandlers({
        ...this.ports,
        space,
        clock,
        index: this.index,
        maxPayload: () => this.ports.maxPayload(),
        ask: (key, ask) => this.#ask(key, ask),
        channelSeen: (channel, revision) => this.#sightings.wait(channel, revision),
        review: (member) => this.#review(member, {}),
      }),
      ...handlers,
    };
    const inHand = new InHand(this.#setting);
    return this.ports.rails.serve({
      ...listener,
      request: (request) => {
        const answered = inHand.take(request, () => answerRequest(all, request));
        answered.catch((error: unknown) => {
          const message = error instanceof Error ? error.message : String(error);
          this.#setting.journal.tell('rail.fault', { rail: request.rail, message });
        });
      },
    });
  }

  #ask(key: string, ask: { kind: 'join' } | { kind: 'leave'; generation: number }): Promise<JoinAnswer | LeaveAnswer> {
    const { ticket, answer } = this.tickets.open();
    this.#tell({ type: 'membership.asked', key, ask: { ...ask, ticket } });
    return answer;
  }

  #review(member: string, of: ReviewOf) {
    const answer = this.#reviews.ask(member, of);
    this.desks.doubt(member);
    this.#tell({ type: 'review.asked', member });
    return answer;
  }

  /** What a retired lifecycle has could not be removed: whoever asked for a review of it is told so (K4). */
  refuseReviews(member: string): void {
    this.#reviews.refuse(member, new Plane3Error('rail.not-removed', { member }));
  }

  /** Ends the period. Whoever waits for an answer of it hears nothing. */
  close(): Unsettled {
    this.#ended.abort();
    this.tickets.clear();
    this.#reviews.clear();
    this.#sightings.clear();
    this.desks.clear();
    void this.#watch?.stop();
    return this.fanout.unsettled();
  }
}
