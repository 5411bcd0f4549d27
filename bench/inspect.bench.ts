/**
 * What the inspector costs: the copies a second that a daemon stores with the inspector on and viewers that read nothing,
 * against the same daemon without it, in turns on one mesh; and what a copy costs the daemon of the processors, which says the
 * same on a machine that is busy with something else. Relaxed durability: nothing waits for the disk, so that nothing hides it.
 */
import { once } from 'node:events';
import WebSocket from 'ws';
import { readAddress, urlOf } from '../src/inspector/address.ts';
import { until } from '../test/support/until.ts';
import type { Bench } from './bench.ts';
import { type ChildDaemon, startDaemon } from './child.ts';
import { rounded } from './fanout/copies.ts';
import { addMembers, type BenchSpace, openSpace, posts, storeAll } from './space.ts';

const CHANNEL = 'bench.general';
const VIEWERS = 2;
const WAIT_MS = 300_000;

export const bench: Bench = {
  async run({ quick, say }) {
    const sizes = quick ? { members: 50, posts: 20, rounds: 1 } : { members: 200, posts: 50, rounds: 7 };
    const space = await openSpace({ durability: 'relaxed' });
    try {
      await addMembers(space, { channel: CHANNEL, count: sizes.members });
      const sender = await space.mesh.addAgent({ name: 'sender', post: ['>'] });
      const posting = await space.mesh.connect(sender.credential);
      const post = () =>
        storeAll(
          posting,
          posts(space.mesh.space, { channel: CHANNEL, count: sizes.posts, bytes: 200, from: 'local.sender' }),
        );
      const copies = sizes.members * sizes.posts;
      const round = async (inspect: boolean): Promise<Figures> => {
        const daemon = await startDaemon(space.mesh, { inspect });
        const viewers = inspect ? await deafViewers(space) : [];
        const figures = await measure(daemon, copies, post);
        for (const viewer of viewers) viewer.terminate();
        await daemon.stop();
        const { perSecond, cpuUs } = figures;
        say(
          `${inspect ? 'watched' : 'alone  '}: ${Math.round(perSecond)} copies/s, ${Math.round(cpuUs)} µs of the processor a copy`,
        );
        return figures;
      };
      // The first lanes are filled, and everything is loaded once, before anything counts.
      await round(false);
      const alone: Figures[] = [];
      const watched: Figures[] = [];
      for (let n = 0; n < sizes.rounds; n++) {
        alone.push(await round(false));
        watched.push(await round(true));
      }
      const [off, on] = [medians(alone), medians(watched)];
      // Pair by pair: the store grows from round to round, so that only neighbours can be compared.
      const ratios = (of: (figures: Figures) => number) =>
        alone.flatMap((before, n) => {
          const after = watched[n];
          return after === undefined ? [] : [of(after) / of(before)];
        });
      return {
        ratioWatched: rounded(median(ratios(({ perSecond }) => perSecond))),
        ratioCpu: rounded(median(ratios(({ cpuUs }) => cpuUs))),
        copiesPerSecondAlone: Math.round(off.perSecond),
        copiesPerSecondWatched: Math.round(on.perSecond),
        cpuUsPerCopyAlone: Math.round(off.cpuUs),
        cpuUsPerCopyWatched: Math.round(on.cpuUs),
        copies,
        rounds: sizes.rounds,
        viewers: VIEWERS,
      };
    } finally {
      await space.mesh.dispose();
    }
  },
};

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

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
