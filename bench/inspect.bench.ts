/**
 * What the inspector costs: the copies a second that a daemon stores with the inspector on and viewers that read nothing, and
 * what a copy costs that daemon of the processors, against a daemon without it. The second says the same on a machine that is
 * busy with something else.
 *
 * Two daemons on two fresh meshes of one size get the same posts in turns, a helping each, so that what a pair compares lies a
 * second apart; each is first as often as second, and nobody works on what another one stored. Both are warm before anything
 * counts. Then all of it again with new processes: one process may be unlucky for as long as it lives. Relaxed durability:
 * nothing waits for the disk, so that nothing hides the cost. The viewers read nothing from the first moment to the last.
 */
import { once } from 'node:events';
import WebSocket from 'ws';
import { readAddress, urlOf } from '../src/inspector/address.ts';
import { until } from '../test/support/until.ts';
import type { Bench } from './bench.ts';
import { type ChildDaemon, startDaemon } from './child.ts';
import { rounded } from './figures.ts';
import { addMembers, type BenchSpace, openSpace, posts, storeAll } from './space.ts';

const CHANNEL = 'bench.general';
const VIEWERS = 2;
const WAIT_MS = 300_000;
type Say = (line: string) => void;

interface Sizes {
  readonly members: number;
  /** Posts before anything counts, and posts of a helping. */
  readonly warmUp: number;
  readonly posts: number;
  readonly pairs: number;
}

export const bench: Bench = {
  async run({ quick, say }) {
    const sizes: Sizes = quick
      ? { members: 50, warmUp: 20, posts: 20, pairs: 2 }
      : { members: 200, warmUp: 100, posts: 25, pairs: 20 };
    const sets = quick ? 1 : 4;
    const pairs: Pair[] = [];
    for (let set = 0; set < sets; set++) pairs.push(...(await measureSet(sizes, say)));
    const figure = (of: (figures: Figures) => number) => ({
      ratio: rounded(median(pairs.map(({ alone, watched }) => of(watched) / of(alone)))),
      alone: Math.round(median(pairs.map(({ alone }) => of(alone)))),
      watched: Math.round(median(pairs.map(({ watched }) => of(watched)))),
    });
    return {
      cpuUsPerCopy: figure(({ cpuUs }) => cpuUs),
      copiesPerSecond: figure(({ perSecond }) => perSecond),
      copies: sizes.members * sizes.posts,
      pairs: pairs.length,
      viewers: VIEWERS,
    };
  },
};

interface Pair {
  readonly alone: Figures;
  readonly watched: Figures;
}

async function measureSet(sizes: Sizes, say: Say): Promise<Pair[]> {
  const subjects: Subject[] = [];
  try {
    for (const inspect of [false, true]) subjects.push(await openSubject(sizes, inspect));
    const [alone, watched] = subjects;
    if (alone === undefined || watched === undefined) return [];
    await alone.measure(sizes.warmUp);
    await watched.measure(sizes.warmUp);
    const began = performance.now();
    const pairs: Pair[] = [];
    for (let n = 0; n < sizes.pairs; n++) {
      const first = n % 2 === 0 ? await alone.measure(sizes.posts) : undefined;
      const second = await watched.measure(sizes.posts);
      pairs.push({ alone: first ?? (await alone.measure(sizes.posts)), watched: second });
    }
    const [off, on] = [medians(pairs.map((pair) => pair.alone)), medians(pairs.map((pair) => pair.watched))];
    say(
      `alone  : ${words(off)}\nwatched: ${words(on)}, unread for ${Math.round((performance.now() - began) / 1000)} s`,
    );
    return pairs;
  } finally {
    for (const { close } of subjects) await close();
  }
}

interface Subject {
  measure(posts: number): Promise<Figures>;
  close(): Promise<void>;
}

async function openSubject({ members }: Sizes, inspect: boolean): Promise<Subject> {
  const space = await openSpace({ durability: 'relaxed' });
  await addMembers(space, { channel: CHANNEL, count: members });
  const sender = await space.mesh.addAgent({ name: 'sender', post: ['>'] });
  const posting = await space.mesh.connect(sender.credential);
  const daemon = await startDaemon(space.mesh, { inspect });
  const viewers = inspect ? await deafViewers(space) : [];
  const about = { channel: CHANNEL, bytes: 200, from: 'local.sender' };
  return {
    measure: (count) =>
      measure(daemon, members * count, () => storeAll(posting, posts(space.mesh.space, { ...about, count }))),
    close: async () => {
      for (const viewer of viewers) viewer.terminate();
      await daemon.stop();
      await space.mesh.dispose();
    },
  };
}

interface Figures {
  readonly perSecond: number;
  /** Microseconds of the processors a copy. */
  readonly cpuUs: number;
}

/** Posts, and waits until every copy is stored. */
async function measure(daemon: ChildDaemon, copies: number, post: () => Promise<unknown>): Promise<Figures> {
  const stored = ({ tally }: { tally: Record<string, number> }) => tally['copies.stored'] ?? 0;
  const before = await daemon.ask();
  const started = performance.now();
  await post();
  const after = await until(
    async () => {
      const now = await daemon.ask();
      return stored(now) - stored(before) >= copies ? now : undefined;
    },
    async () => stored(await daemon.ask()),
    WAIT_MS,
  );
  return {
    perSecond: copies / ((performance.now() - started) / 1000),
    cpuUs: ((after.cpuMs - before.cpuMs) * 1000) / copies,
  };
}

const words = ({ perSecond, cpuUs }: Figures): string =>
  `${Math.round(perSecond)} copies/s, ${Math.round(cpuUs)} µs of the processor a copy`;
const medians = (figures: readonly Figures[]): Figures => ({
  perSecond: median(figures.map(({ perSecond }) => perSecond)),
  cpuUs: median(figures.map(({ cpuUs }) => cpuUs)),
});

/** Sockets that were opened and are never read. */
async function deafViewers({ mesh }: BenchSpace): Promise<WebSocket[]> {
  const address = await until(
    () => readAddress({ root: mesh.root, what: 'delivery', space: mesh.space }),
    'the inspector is not open',
  );
  return Promise.all(
    Array.from({ length: VIEWERS }, async () => {
      const viewer = new WebSocket(`${urlOf(address).replace(/^http/, 'ws')}socket?whole`);
      await once(viewer, 'open');
      viewer.pause();
      return viewer;
    }),
  );
}

/** Of an even number of values the mean of the middle two. */
function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1);
  return middle.reduce((sum, value) => sum + value, 0) / Math.max(1, middle.length);
}
