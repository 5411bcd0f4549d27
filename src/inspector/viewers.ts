/**
 * Whoever watches over a socket. A viewer is given what there is at its own pace: it pulls from the ring, and what has fallen
 * out before it came to it is told as dropped, followed by where everything stands now. Nothing waits for a viewer:
 *
 *   - after each helping it is asked for a sign that it has read it (a ping of the protocol, answered by every WebSocket by
 *     itself): until then nothing more is made or sent, so that one that reads nothing costs nothing;
 *   - a helping is at most 100 records and 256 KiB, and there is one every 50 ms at most;
 *   - at most 8 watch at a time;
 *   - what it sends is not read: the first message closes it.
 */
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { type Frame, framesOf, liveFrame, type Manner } from './frames.ts';
import type { Ring } from './ring.ts';

export interface ViewerBounds {
  readonly viewers: number;
  readonly unreadBytes: number;
  readonly records: number;
  readonly everyMs: number;
  /** Records of before that a viewer gets when it comes. */
  readonly history: number;
}

export const usualBounds: ViewerBounds = {
  viewers: 8,
  unreadBytes: 256 * 1024,
  records: 100,
  everyMs: 50,
  history: 1_000,
};

interface Viewer {
  readonly socket: WebSocket;
  /** What the socket writes to. */
  readonly stream: Duplex;
  readonly manner: Manner;
  /** Whether it has yet to read what it was given. */
  owesSign: boolean;
  /** Number of the last record that it was given. */
  seen: number;
  /** Sessions of actors that it is still to be told of; how each stands is read when it is told. */
  standing: string[];
  /** Steps skipped by the ring that it knows of, and when it was last shown where everything stands. */
  skipped: number;
  shownAt: number;
}

export class Viewers {
  readonly #ring: Ring;
  readonly #bounds: ViewerBounds;
  readonly #hello: () => Frame;
  readonly #viewers = new Set<Viewer>();
  #timer: NodeJS.Timeout | undefined;

  constructor(of: { ring: Ring; hello: () => Frame; bounds?: Partial<ViewerBounds> }) {
    this.#ring = of.ring;
    this.#hello = of.hello;
    this.#bounds = { ...usualBounds, ...of.bounds };
  }

  get count(): number {
    return this.#viewers.size;
  }
  get isFull(): boolean {
    return this.#viewers.size >= this.#bounds.viewers;
  }

  add(socket: WebSocket, stream: Duplex, manner: Manner): void {
    const viewer: Viewer = { socket, stream, manner, owesSign: false, seen: 0, standing: [], skipped: 0, shownAt: 0 };
    this.#viewers.add(viewer);
    socket.on('error', () => {});
    socket.on('close', () => this.#remove(viewer));
    socket.on('pong', () => {
      viewer.owesSign = false;
    });
    socket.on('message', () => socket.close(POLICY, 'this socket only shows'));
    this.#send(viewer, this.#hello());
    this.#showStanding(viewer, manner.whole ? 0 : this.#bounds.history);
    this.#timer ??= setInterval(() => this.#turn(), this.#bounds.everyMs).unref();
  }

  close(): void {
    for (const { socket } of this.#viewers) socket.terminate();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #remove(viewer: Viewer): void {
    this.#viewers.delete(viewer);
    if (this.#viewers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #turn(): void {
    for (const viewer of this.#viewers) {
      if (viewer.owesSign || viewer.socket.readyState !== OPEN) continue;
      // One write for the whole helping.
      viewer.stream.cork();
      if (this.#feed(viewer)) {
        viewer.owesSign = true;
        viewer.socket.ping(undefined, undefined, () => {});
      }
      viewer.stream.uncork();
    }
  }

  /** Everything that lives, and then the records from `history` ago on. */
  #showStanding(viewer: Viewer, history: number): void {
    const { last } = this.#ring;
    viewer.standing = this.#ring.sessions.reverse();
    viewer.skipped = this.#ring.skipped;
    viewer.shownAt = performance.now();
    viewer.seen = Math.max(this.#ring.dropped, last - history);
    this.#send(viewer, { type: '@plane3.standing', count: viewer.standing.length, seq: last });
  }

  /** Whether there was anything to give. */
  #feed(viewer: Viewer): boolean {
    const { records, unreadBytes } = this.#bounds;
    let left = records;
    const hasRoom = () => left > 0 && viewer.socket.bufferedAmount < unreadBytes && viewer.socket.readyState === OPEN;
    while (hasRoom()) {
      const next = viewer.standing.pop();
      if (next === undefined) break;
      left -= 1;
      const actor = this.#ring.liveActor(next);
      if (actor !== undefined) this.#send(viewer, liveFrame(actor, viewer.seen, viewer.manner));
    }
    if (!hasRoom() || viewer.standing.length > 0) return left < records;
    const { dropped, skipped, last } = this.#ring;
    const missed = skipped - viewer.skipped;
    if (viewer.seen < dropped || (missed > 0 && performance.now() - viewer.shownAt > AGAIN_MS)) {
      const lost = viewer.seen < dropped ? last - viewer.seen : 0;
      this.#send(viewer, { type: '@plane3.dropped', count: lost + missed });
      this.#showStanding(viewer, lost === 0 ? last - viewer.seen : 0);
      return true;
    }
    for (const seen of this.#ring.after(viewer.seen, left)) {
      if (!hasRoom()) break;
      left -= 1;
      viewer.seen = seen.seq;
      for (const frame of framesOf(seen, viewer.manner)) this.#send(viewer, frame);
    }
    return left < records;
  }

  #send({ socket }: Viewer, frame: Frame): void {
    socket.send(JSON.stringify(frame), () => {});
  }
}

const POLICY = 1008;
/** A viewer that misses steps is shown at most this often where everything stands. */
const AGAIN_MS = 1_000;
const OPEN = 1;
