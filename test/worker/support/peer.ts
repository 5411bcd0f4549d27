/** A raw peer of a node's socket: sends what a test says, keeps what it hears, and beats its heart when asked to. */
import { WebSocket } from 'ws';
import { until } from '../../support/until.ts';
import { HEARTBEAT_MS } from './bounds.ts';

export type Heard = Readonly<Record<string, unknown>> & { readonly type: string };

export const CURSOR = 'relay:delivery-cursor-v1';
export const GUIDANCE = 'relay:retry-guidance-v1';

export class Peer {
  readonly frames: Heard[] = [];
  closed: { readonly code: number; readonly reason: string } | undefined;
  /** Whether each delivery is acknowledged at once. */
  acks = false;
  onDeliver: ((frame: Heard) => void) | undefined;
  readonly #socket: WebSocket;
  #beat: NodeJS.Timeout | undefined;
  #next = 1;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data) => this.#hear(String(data)));
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: String(reason) };
      this.quiet();
    });
    socket.on('error', () => undefined);
  }

  /** Opens a socket at `url` (http://…) with a node's token. */
  static async open(url: string, token: string): Promise<Peer> {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/node/ws`, {
      headers: { authorization: `Bearer ${token}` },
      perMessageDeflate: false,
    });
    const peer = new Peer(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
      socket.once('unexpected-response', (_, response) => reject(new Error(`refused: ${response.statusCode}`)));
    });
    return peer;
  }

  raw(data: string | Buffer): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(data);
  }

  send(frame: object): void {
    this.raw(JSON.stringify({ v: 1, ...frame }));
  }

  /** Sends a request and answers with its reply or error. */
  async ask(frame: { readonly type: string; readonly [key: string]: unknown }): Promise<Heard> {
    const id = `q${this.#next++}`;
    this.send({ id, ...frame });
    return this.heard(
      (each) => each.id === id && (each.type === 'reply' || each.type === 'error'),
      `answer to ${frame.type}`,
    );
  }

  heard(matches: (frame: Heard) => boolean, what: string): Promise<Heard> {
    return until(
      () => this.frames.find(matches),
      () => ({ waitedFor: what, frames: this.frames.slice(-10), closed: this.closed }),
    );
  }

  get deliveries(): readonly Heard[] {
    return this.frames.filter((frame) => frame.type === 'deliver');
  }

  /** Sequences delivered to an agent, in the order of arrival. */
  seqs(agent: string): readonly number[] {
    return this.deliveries.filter((frame) => frame.agent === agent).map((frame) => Number(frame.seq));
  }

  async delivered(agent: string, seqs: readonly number[]): Promise<void> {
    await until(
      () => seqs.every((seq) => this.seqs(agent).includes(seq)),
      () => ({ agent, wanted: seqs, got: this.seqs(agent), closed: this.closed }),
    );
  }

  /** Sends a heartbeat at once and then as a healthy peer does, until `quiet` or the close. */
  beat(): void {
    const one = () => this.send({ type: 'node.heartbeat', active_agents: 0, handlers_live: false });
    one();
    this.#beat ??= setInterval(one, HEARTBEAT_MS);
  }

  quiet(): void {
    clearInterval(this.#beat);
    this.#beat = undefined;
  }

  async gone(): Promise<{ readonly code: number; readonly reason: string }> {
    return until(
      () => this.closed,
      () => ({ waitedFor: 'the close', frames: this.frames.slice(-5) }),
    );
  }

  close(): void {
    this.quiet();
    this.#socket.close();
  }

  cut(): void {
    this.quiet();
    this.#socket.terminate();
  }

  #hear(text: string): void {
    const frame = JSON.parse(text) as Heard;
    this.frames.push(frame);
    if (frame.type === 'deliver') this.onDeliver?.(frame);
    if (this.acks && frame.type === 'deliver')
      this.send({ type: 'delivery.ack', agent: frame.agent, up_to_seq: frame.seq });
  }
}
