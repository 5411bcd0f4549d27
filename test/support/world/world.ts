/**
 * A world: a broker, daemons that come and go, agents that post, join, leave, read and retire, and a network that lets
 * their calls through in an order of the seed's choice. A small model follows along and says what must never happen, and
 * what must have happened in the end.
 *
 * Longer than 300 lines: the model is only readable beside what it follows.
 */
import { readCopy } from '../../../src/domain/copy.ts';
import { readJson } from '../../../src/domain/message.ts';
import { covers, isChannel, type Member } from '../../../src/domain/names.ts';
import type { Numbers } from '../../../src/domain/numbers.ts';
import { isMarker, memberRowSchema } from '../../../src/domain/rows.ts';
import { buckets, chatSubject, keySubject, railSubject, readMemberRowKey } from '../../../src/domain/subjects.ts';
import { MemoryBroker } from '../../../src/services/memory/broker.ts';
import { Faults } from '../../../src/services/memory/faults.ts';
import type { Kept } from '../../../src/services/memory/stream.ts';
import { Random } from '../../../src/torture/random.ts';
import { MemoryDaemon } from './daemon.ts';
import { Network } from './network.ts';
import { Intervals, Person } from './people.ts';
import { WorldTime } from './time.ts';

export const SPACE = 'main';
export const DURABLE = ['ops', 'ops.night', 'dev'] as const;
export const LIVE = 'lobby';

const encoder = new TextEncoder();
const bytes = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

interface Post {
  readonly seq: number;
  readonly channel: string;
  readonly from: string;
  readonly id: string;
  readonly mentions: readonly string[];
}

export class World {
  readonly random: Random;
  readonly time = new WorldTime();
  readonly broker: MemoryBroker;
  readonly network: Network;
  readonly faults = new Faults();
  readonly people: Person[];
  readonly posts: Post[] = [];
  readonly intervals = new Intervals();
  readonly wrong: string[] = [];
  /** What happened, for whoever reads a failure. */
  readonly story: string[] = [];
  /** Daemons that run: one that serves, perhaps one that stands by. */
  alive: { readonly number: number; readonly daemon: MemoryDaemon }[] = [];
  readonly daemons: MemoryDaemon[] = [];
  #started = 0;
  #revision = 0;
  readonly #asked = new Set<string>();

  /** Numbers of the daemons: small ones in most worlds, so that windows fill, batches split and lanes wait. */
  readonly #numbers: Partial<Numbers>;

  constructor(seed: number, of: { people?: number } = {}) {
    this.random = new Random(seed);
    this.#numbers = this.random.chance(0.7)
      ? {
          windowSize: 1 + this.random.below(4),
          batchSize: 1 + this.random.below(5),
          laneLimit: 1 + this.random.below(4),
          placingLimit: 1 + this.random.below(4),
          // Not drawn: the kept seeds mean what they meant.
          restingLimit: 1 + (seed % 3),
          inventoryFrom: 1 + (seed % 4),
          inventoryRoom: 1 + (seed % 40),
          giveUpRetries: 1 + this.random.below(3),
        }
      : {};
    this.network = new Network(this.random);
    const { clock } = this.time;
    this.broker = new MemoryBroker({ clock, space: SPACE });
    clock.onAdvance(() => this.broker.tick());
    this.broker.members.listen((kept) => this.#learn(kept));
    this.#put(this.broker.channels, buckets(SPACE).channels, LIVE, { deliveryClass: 'live' });
    this.people = Array.from({ length: of.people ?? 4 }, (_, n) => this.#arrive(`agent${n}`));
  }

  #arrive(actor: string): Person {
    const uid = actor.padEnd(26, 'u');
    const member: Member = { owner: 'local', actor, uid };
    const person = new Person({ member, allow: ['>'] });
    this.broker.deliveries.add(member);
    this.writeAcl(person);
    return person;
  }

  #learn(kept: Kept): void {
    if (isMarker(kept.header)) return;
    const place = readMemberRowKey(kept.subject.slice(keySubject(buckets(SPACE).members, '').length));
    const row = memberRowSchema.safeParse(JSON.parse(new TextDecoder().decode(kept.data)));
    if (place === undefined || !row.success) return void this.wrong.push(`an unreadable member row ${kept.subject}`);
    const { owner, actor, uid } = place.member;
    const copies = this.broker.dlv.lastSeq;
    this.intervals.learn({ ...row.data, channel: place.channel, key: `${owner}.${actor}.${uid}`, copies });
  }

  #put(stream: MemoryBroker['acl'], bucket: string, key: string, row: object): void {
    stream.publish({ subject: keySubject(bucket, key), data: bytes(row) });
  }
  writeAcl(person: Person, row?: object): void {
    const revision = ++this.#revision;
    const grant = {
      name: person.name,
      allowSubscribe: person.allow,
      issuedAllowSubscribe: ['>'],
      revision,
      updatedAt: this.time.clock.now().wallMs,
    };
    this.#put(this.broker.acl, buckets(SPACE).acl, person.key, row ?? grant);
  }
  tombstone(person: Person): void {
    this.writeAcl(person, { retired: true, retiredAt: this.time.clock.now().wallMs, revision: ++this.#revision });
  }
  loseAcl(person: Person): void {
    const subject = keySubject(buckets(SPACE).acl, person.key);
    this.broker.acl.publish({ subject, data: new Uint8Array(), headers: { 'KV-Operation': 'DEL' } });
  }

  say(line: string): void {
    this.story.push(`${Math.round(this.time.clock.now().monotonicMs)} ${line}`);
  }

  startDaemon(): void {
    const number = ++this.#started;
    const daemon = new MemoryDaemon({
      broker: this.broker,
      time: this.time,
      incarnation: `inc${number}`,
      faults: this.faults,
      pace: this.network.paceOf(number),
      numbers: this.#numbers,
    });
    this.alive.push({ number, daemon });
    this.daemons.push(daemon);
    this.say(`daemon ${number} starts`);
    daemon.start((end) => {
      this.say(`daemon ${number} ended: ${end}`);
      if (end === 'faulted' || end.startsWith('error')) this.wrong.push(`daemon ${number} ended: ${end}`);
      this.alive = this.alive.filter((each) => each.daemon !== daemon);
    });
  }
  async killDaemon(): Promise<void> {
    if (this.alive.length === 0) return;
    const { number, daemon } = this.random.pick(this.alive);
    this.say(`daemon ${number} is killed`);
    this.alive = this.alive.filter((each) => each.daemon !== daemon);
    daemon.kill();
    await this.network.kill(number);
  }
  stopDaemon(): void {
    if (this.alive.length > 0) this.random.pick(this.alive).daemon.stop();
  }
  get isServed(): boolean {
    return this.alive.some(({ daemon }) => daemon.isServing);
  }
  /** At no moment may two daemons act. */
  look(): void {
    const acting = this.alive.filter(({ daemon }) => daemon.mayAct).map(({ number }) => number);
    if (acting.length > 1) this.wrong.push(`daemons ${acting.join(' and ')} serve at the same time`);
  }

  post(from: Person, channel: string, of: { id: string; mentions?: string[] }): void {
    const { id, mentions = [] } = of;
    const message = {
      id,
      ts: this.time.clock.now().wallMs,
      space: SPACE,
      from: { id: from.principal, name: from.name },
      channel,
      mentions,
      parts: [{ kind: 'text', text: `${from.name} ${id}` }],
    };
    const outcome = this.broker.chat.publish({
      subject: chatSubject(SPACE, from.principal, channel),
      data: bytes(message),
    });
    if (outcome.kind !== 'stored') return;
    this.posts.push({ seq: outcome.seq, channel, from: from.principal, id, mentions });
    this.say(
      `${from.name} posts ${channel}#${outcome.seq} "${id}"${mentions.length > 0 ? ` @${mentions.join(' @')}` : ''}`,
    );
  }

  /** A reply of the broker's own API, or a copy of somebody's making, steered onto a subject of ours. */
  forge(): void {
    const { random, broker, people } = this;
    const victim = random.pick(people);
    const [stream, family] = random.pick([
      [broker.chat, 'chat'],
      [broker.inbox, 'dinbox'],
      [broker.dlv, 'dlv'],
    ] as const);
    const head = `cotal.${SPACE}.${family}.`;
    const subject = random.pick([
      `${head}${victim.principal}.${random.pick(DURABLE)}`,
      `${head}${victim.key}.${random.pick(DURABLE)}`,
      `${head}local.x`,
      `${head}${victim.key}.bad$channel`,
    ]);
    const another = [...broker.dlv.all(), ...broker.inbox.all(), ...broker.chat.all()].at(random.below(50));
    const replayed = random.chance(0.5) && another !== undefined;
    const headers = { 'Plane3-Entry': '1', 'Cotal-Delivery-Frame': '1', 'Plane3-Writer': 'inc1' };
    stream.publish({
      subject,
      data: replayed ? another.data : bytes({ type: 'io.nats.jetstream.api', forged: true }),
      headers,
    });
    this.forged++;
    this.say(`something is forged onto ${subject}`);
  }
  forged = 0;

  /** Asks a rail; at most one request of a kind is on its way for each agent. */
  ask(
    person: Person,
    of: { rail?: 'delivery' | 'delivery-admin'; op: string; args: object },
    heard: (data: never) => void,
  ) {
    const { rail = 'delivery', op, args } = of;
    const principal = rail === 'delivery' ? person.principal : 'local.manager';
    const subject = railSubject(SPACE, rail, principal);
    const about = `${person.name} ${op} ${JSON.stringify(args)}`;
    if (this.#asked.has(about) || !this.broker.isUp) return;
    this.#asked.add(about);
    const sent = this.broker.requests.send({
      rail,
      subject,
      reply: `${subject}.reply.${this.story.length}`,
      data: bytes({ op, args }),
      answer: (data) => {
        if (!this.#asked.delete(about)) return;
        const reply = JSON.parse(new TextDecoder().decode(data)) as {
          ok: boolean;
          data: never;
          error?: { message: string };
        };
        this.say(`${about} → ${JSON.stringify(reply.ok ? reply.data : reply.error?.message)}`);
        if (reply.ok) heard(reply.data);
      },
    });
    if (!sent) this.#asked.delete(about);
    else this.say(`${about} …`);
  }
  /** Whoever waited gives up; a late answer is not heard any more. */
  forgetRequests(): void {
    this.#asked.clear();
    for (const person of this.people) for (const known of person.memberships.values()) known.leaving = false;
  }

  join(person: Person, channel: string): void {
    if (!isChannel(channel)) throw new Error(channel);
    type Joined = { durable: boolean; generation: number; joinCursor: number };
    this.ask(person, { op: 'durableJoin', args: { channel } }, ({ durable, generation, joinCursor }: Joined) => {
      const known = person.knows(channel);
      const { lastSeq } = this.broker.chat;
      if (durable && joinCursor > lastSeq) this.wrong.push(`the join cursor ${joinCursor} is from the future`);
      if (durable && !known.leaving && !known.closed.has(generation)) known.open = { generation, joinCursor };
    });
  }
  leave(person: Person, channel: string): void {
    const known = person.knows(channel);
    const { open } = known;
    if (open === undefined) return;
    known.open = undefined;
    known.leaving = true;
    const args = { channel, generation: open.generation, lifecycleUid: person.member.uid };
    this.ask(person, { op: 'durableLeave', args }, ({ left }: { left: boolean }) => {
      known.leaving = false;
      if (!left) return;
      known.closed.add(open.generation);
      for (const kept of this.broker.dlv.all()) {
        const isOurs = kept.subject.endsWith(`.${person.key}.${channel}`) && isCopy(kept);
        const body = readJson(kept.data) as { generation?: number } | undefined;
        if (isOurs && body?.generation === open.generation) {
          this.wrong.push(
            `after its leave of ${channel} was answered, ${person.name} still has ${kept.subject}#${kept.seq}`,
          );
        }
      }
    });
  }
  /** The manager writes the row and has the daemon look again. */
  grant(person: Person, allow: string[]): void {
    person.allow = allow;
    person.released = [...new Set([...person.released, ...allow])];
    person.promisedAfter = this.broker.chat.lastSeq;
    person.mentionedAfter = this.broker.chat.lastSeq;
    this.writeAcl(person);
    this.say(`${person.name} may read ${allow.join(' ')}`);
    this.reauthorize(person);
  }
  reauthorize(person: Person): void {
    const { allow } = person;
    const args = { principal: person.principal, lifecycleUid: person.member.uid };
    this.ask(person, { rail: 'delivery-admin', op: 'reauthorize', args }, () => {
      if (person.allow === allow) person.released = [...allow];
    });
  }
  retire(person: Person): void {
    person.retired = true;
    this.broker.deliveries.remove(person.member);
    person.inHand.length = 0;
    this.tombstone(person);
    this.say(`${person.name} is retired`);
  }

  /** Takes what is there. What the member sees has surfaced; it confirms later, or never. */
  take(person: Person, limit: number): void {
    if (!this.broker.isUp || person.retired) return;
    for (const kept of this.broker.deliveries.take(person.member, limit)) {
      // The client of a member looks at what it is given, as the daemon does, and leaves what is none of ours.
      if (readCopy(SPACE, kept.subject, kept.header, kept.data).kind === 'foreign') continue;
      const fault = person.surface(kept, this.intervals);
      const seen = person.surfaced.at(-1);
      this.say(`${person.name} sees ${seen?.channel}#${seen?.seq}`);
      if (fault !== undefined) this.wrong.push(fault);
      person.inHand.push(kept);
    }
  }
  confirm(person: Person, count: number): void {
    if (!this.broker.isUp) return;
    for (const kept of person.inHand.splice(0, count)) this.broker.deliveries.confirm(person.member, kept.seq);
  }

  /** Posts that a member may count on and has not seen. */
  missing(): string[] {
    return this.people
      .filter(({ retired }) => !retired)
      .flatMap((person) =>
        this.posts
          .filter((post) => this.#isPromised(person, post))
          .filter((post) => !person.surfaced.some((seen) => isSame(seen, post)))
          .map(({ channel, seq }) => `${person.name} never saw ${channel}#${seq}`),
      );
  }
  #isPromised(person: Person, post: Post): boolean {
    if (post.from === person.principal) return false;
    const covered = person.allow.some((pattern) => covers(pattern, post.channel));
    // A second post with the same id is the same post: where the first was refused, so is this one.
    const alike = this.posts.filter(
      ({ seq, channel, from, id }) =>
        seq === post.seq || (id !== '' && channel === post.channel && from === post.from && id === post.id),
    );
    if (post.channel === LIVE) {
      const named = alike.filter(({ mentions }) => mentions.includes(person.name));
      return covered && named.includes(post) && named.every(({ seq }) => seq > person.mentionedAfter);
    }
    const { open } = person.knows(post.channel);
    if (open === undefined || !covered || post.seq <= Math.max(open.joinCursor, person.promisedAfter)) return false;
    return alike.every(({ seq }) => seq <= open.joinCursor || seq > person.promisedAfter);
  }

  /** What is left in the stores that should not be. */
  left(): string[] {
    const { inbox, dlv } = this.broker;
    return [
      ...inbox.all().map(({ subject, seq }) => `INBOX still has ${subject}#${seq}`),
      ...dlv.all().map(({ subject, seq }) => `DLV still has ${subject}#${seq}`),
    ];
  }
}

const isCopy = (kept: Kept): boolean => readCopy(SPACE, kept.subject, kept.header, kept.data).kind === 'copy';

const isSame = (seen: { channel: string; seq: number; from: string; id: string }, post: Post): boolean =>
  seen.channel === post.channel &&
  (seen.seq === post.seq || (post.id !== '' && seen.id === post.id && seen.from === post.from));
