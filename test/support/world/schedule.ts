/** What happens in a world, and when: drawn from its seed. */
import type { Person } from './people.ts';
import { DURABLE, LIVE, World } from './world.ts';

const PATTERNS = [['>'], ['ops'], ['ops', 'ops.night'], ['dev'], []] as const;
/** Faults are drawn among these: the calls of the delivery plane. */
const PORTS = ['posts.*', 'entries.*', 'copies.*', 'rows.*', 'rowWatch.*', 'leaseRows.*', '*'] as const;

type Deed = (world: World) => void | Promise<void>;

const anyone = (world: World): Person => world.random.pick(world.people);
const channelOf = (world: World): string => world.random.pick(DURABLE);

const first: readonly (readonly [weight: number, deed: Deed])[] = [
  [
    30,
    (world) => {
      const { random } = world;
      const from = anyone(world);
      if (from.retired) return;
      const isLive = random.chance(0.2);
      const id = random.chance(0.15) ? '' : random.chance(0.1) ? 'again' : `p${world.posts.length}`;
      const mentions = isLive ? [anyone(world).name, ...(random.chance(0.2) ? ['nobody'] : [])] : [];
      world.post(from, isLive ? LIVE : channelOf(world), { id, mentions });
    },
  ],
  [12, (world) => void withLiving(world, (person) => world.join(person, channelOf(world)))],
  [4, race],
  [12, (world) => void withLiving(world, (person) => world.leave(person, channelOf(world)))],
  [4, (world) => void withLiving(world, (person) => world.grant(person, [...world.random.pick(PATTERNS)]))],
  [2, (world) => void withLiving(world, (person) => world.reauthorize(person))],
  [
    0.4,
    (world) => {
      const living = world.people.filter(({ retired }) => !retired);
      if (living.length > 2) world.retire(world.random.pick(living));
    },
  ],
  [
    1,
    (world) =>
      void withLiving(world, (person) => {
        person.mentionedAfter = Number.POSITIVE_INFINITY;
        world.loseAcl(person);
        world.say(`the ACL row of ${person.name} is lost`);
      }),
  ],
  [3, (world) => void withLiving(world, (person) => world.writeAcl(person))],
  [15, (world) => void withLiving(world, (person) => world.take(person, 1 + world.random.below(5)))],
  [12, (world) => void withLiving(world, (person) => world.confirm(person, 1 + world.random.below(5)))],
  [
    1,
    (world) =>
      void withLiving(world, (person) => {
        const [kept] = person.inHand.splice(0, 1);
        if (kept !== undefined && world.broker.isUp) world.broker.deliveries.terminate(person.member, kept.seq);
      }),
  ],
  [
    2,
    (world) =>
      void withLiving(world, (person) => {
        for (const kept of person.inHand.splice(0)) world.broker.deliveries.release(person.member, kept.seq);
      }),
  ],
  [0.6, (world) => world.killDaemon()],
  [0.4, (world) => world.stopDaemon()],
  [0.6, (world) => void (world.alive.length < 2 && world.startDaemon())],
  [
    0.5,
    (world) => {
      if (!world.broker.isUp) return;
      world.say('the broker is away');
      world.broker.stop();
    },
  ],
  [
    8,
    (world) => {
      if (world.broker.isUp) return;
      world.say('the broker is back');
      world.broker.start();
    },
  ],
  [
    3,
    ({ random, faults, say }) => {
      const pattern = random.pick(PORTS);
      const times = 1 + random.below(3);
      const kind = random.below(3);
      if (kind === 0) faults.silent(pattern, times);
      else if (kind === 1) faults.loseAnswer(pattern, times);
      else faults.refuse(random.pick(['entries.*', 'copies.*']), '10077', times);
      void say;
    },
  ],
  [0.2, (world) => world.broker.deleteFanout()],
  [2, (world) => world.forge()],
  [10, (world) => world.time.advance(world.random.below(2_000))],
  [10, (world) => world.time.advance(Math.min(60_000, world.time.untilNext()))],
  [0.3, (world) => world.time.stall(world.random.below(40_000))],
];

/** What may happen, by name: a seed that is kept is lived through by what it was found with. */
export const schedules = { first, mentioned: [...first, [3, mentionAtOnce] as const] };

/** Somebody joins or leaves while others post on that very channel. */
async function race(world: World): Promise<void> {
  const { random, network } = world;
  const channel = channelOf(world);
  const person = anyone(world);
  if (person.retired) return;
  if (random.chance(0.5)) world.join(person, channel);
  else world.leave(person, channel);
  for (let i = random.below(6); i > 0; i--) {
    for (let legs = random.below(10); legs > 0; legs--) await network.step();
    const from = anyone(world);
    if (!from.retired) world.post(from, channel, { id: `p${world.posts.length}` });
  }
}

/** Somebody is granted the live channel, and mentioned there before the news of it has arrived everywhere. */
async function mentionAtOnce(world: World): Promise<void> {
  const { random, network } = world;
  const [from, person] = [anyone(world), anyone(world)];
  if (from.retired || person.retired) return;
  world.grant(person, ['>']);
  for (let legs = random.below(4); legs > 0; legs--) await network.step();
  world.post(from, LIVE, { id: `p${world.posts.length}`, mentions: [person.name] });
}

function withLiving(world: World, deed: (person: Person) => void): void {
  const person = anyone(world);
  if (!person.retired) deed(person);
}

/** Lives through a seed; answers everything that went wrong. */
export async function live(
  seed: number,
  of: { steps?: number; schedule?: keyof typeof schedules } = {},
): Promise<World> {
  const world = new World(seed);
  const { random, network } = world;
  const steps = of.steps ?? 80 + random.below(100);
  const deeds = schedules[of.schedule ?? 'mentioned'];
  world.startDaemon();
  for (let i = 0; i < steps && world.wrong.length === 0; i++) {
    if (world.alive.length === 0 && random.chance(0.3)) world.startDaemon();
    await random.weighted(deeds)(world);
    world.look();
    for (let legs = random.below(20); legs > 0; legs--) await network.step();
    if (random.chance(0.1)) await network.quiesce();
  }
  await settle(world);
  return world;
}

/** Everything is well again, everybody reads: in the end nothing is missing and nothing is left. */
async function settle(world: World): Promise<void> {
  const { network, time, broker, faults } = world;
  faults.clear();
  if (!broker.isUp) broker.start();
  world.say('everything is well');
  for (const person of world.people) if (!person.retired) world.writeAcl(person);
  let asked = 0;
  for (let round = 0; round < 400 && world.wrong.length === 0; round++) {
    if (world.alive.length === 0) world.startDaemon();
    world.look();
    await network.quiesce();
    for (const person of world.people) {
      if (person.retired) continue;
      person.inHand.splice(0).forEach((kept) => void broker.deliveries.release(person.member, kept.seq));
      world.take(person, 1_000);
      world.confirm(person, 1_000);
    }
    await network.quiesce();
    if (round > 5 && world.isServed && world.missing().length + world.left().length === 0) return;
    if (round % 20 === 19 && asked++ < 3) world.forgetRequests();
    time.advance(Math.min(20_000, Math.max(1, time.untilNext())));
  }
  if (world.wrong.length > 0) return;
  world.wrong.push(...world.missing(), ...world.left());
  if (!world.isServed) world.wrong.push('the daemon does not serve');
}
