/** What copies cost in a space with a daemon: until they are stored, and until nothing happens any more. */
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../test/support/until.ts';
import type { ChildDaemon } from '../child.ts';
import { heldBy } from '../processes.ts';
import { posts, type SpaceAtHand, storeAll } from '../space.ts';

export const CHANNEL = 'bench.general';
const WAIT_MS = 600_000;
/** Longest that the hand-offs after it are waited for: the figures to rest are then of so long. */
const REST_MS = 120_000;
const LOOK_MS = 250;
/** Share of one processor below which a daemon has nothing more to do. */
const IDLE = 0.1;

export interface Copying {
  readonly copiesPerSecond: number;
  /** Microseconds of the processors a copy until all are stored, hand-offs that were made meanwhile included. */
  readonly daemonUs: number;
  readonly brokerUs: number;
  /** The same until the daemon rests: with every hand-off that there was room for. */
  readonly daemonToRestUs: number;
  readonly brokerToRestUs: number;
}

/** Posts `count` posts to `members` members and waits until every copy is stored, then until the daemon rests. */
export async function copying(
  space: SpaceAtHand,
  daemon: ChildDaemon,
  { count, members }: { count: number; members: number },
): Promise<Copying> {
  const { credential, principal } = await space.mesh.addAgent({ name: `sender${Date.now()}`, post: ['>'] });
  const posting = await space.mesh.connect(credential);
  const messages = posts(space.mesh.space, { channel: CHANNEL, count, bytes: 200, from: principal });
  const copies = count * members;
  const stored = ({ tally }: { tally: Record<string, number> }) => tally['copies.stored'] ?? 0;
  const broker = () => heldBy(space.mesh.pid()).cpuMs;
  const [before, brokerBefore, began] = [await daemon.ask(), broker(), performance.now()];
  await storeAll(posting, messages);
  const after = await until(
    async () => {
      const now = await daemon.ask();
      return stored(now) - stored(before) >= copies ? now : undefined;
    },
    async () => (await daemon.ask()).tally,
    WAIT_MS,
  );
  const [seconds, brokerAfter] = [(performance.now() - began) / 1_000, broker()];
  const resting = await rest(space, daemon, REST_MS);
  const us = (ms: number) => Math.round((ms * 1_000) / copies);
  await posting.close();
  return {
    copiesPerSecond: Math.round(copies / seconds),
    daemonUs: us(after.cpuMs - before.cpuMs),
    brokerUs: us(brokerAfter - brokerBefore),
    daemonToRestUs: us(resting.cpuMs - before.cpuMs),
    brokerToRestUs: us(broker() - brokerBefore),
  };
}

/** Waits until neither the daemon nor its broker does anything more, for at most so long; answers how the daemon then is. */
export async function rest(space: SpaceAtHand, daemon: ChildDaemon, patienceMs = WAIT_MS) {
  const began = performance.now();
  const look = async () => ({ now: await daemon.ask(), broker: heldBy(space.mesh.pid()).cpuMs, at: performance.now() });
  for (let last = await look(); ; ) {
    await pause(LOOK_MS);
    const next = await look();
    const share = (ms: number) => ms / (next.at - last.at);
    const isIdle = share(next.now.cpuMs - last.now.cpuMs) < IDLE && share(next.broker - last.broker) < IDLE;
    if (isIdle || next.at - began > patienceMs) return next.now;
    last = next;
  }
}
