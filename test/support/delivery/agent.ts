/** An agent that speaks the wire by hand: what the daemon promises is promised to anybody, not only to our client. */
import { JetStreamError, type JsMsg, jetstream } from '@nats-io/jetstream';
import { type NatsConnection, nuid } from '@nats-io/nats-core';
import type { Member } from '../../../src/domain/names.ts';
import type { DataOf, DeliveryOp } from '../../../src/domain/rail.ts';
import { chatSubject, deliveryConsumer, railSubject, replyPrefix, streams } from '../../../src/domain/subjects.ts';
import type { Credential } from '../../../src/services/credential.ts';
import type { Mesh } from '../mesh.ts';

/** A copy as the member sees it. */
export interface Taken {
  readonly id: string;
  readonly text: string;
  readonly channel: string;
  readonly seq: number;
  readonly from: string;
  readonly message: JsMsg;
}

export interface Post {
  readonly id?: string;
  readonly text?: string;
  readonly mentions?: readonly string[];
}

export class Agent {
  readonly name: string;
  readonly principal: string;
  readonly member: Member;
  readonly credential: Credential;
  readonly connection: NatsConnection;
  readonly #mesh: Mesh;

  private constructor(
    mesh: Mesh,
    name: string,
    added: { member: Member; principal: string; credential: Credential },
    connection: NatsConnection,
  ) {
    this.#mesh = mesh;
    this.name = name;
    this.member = added.member;
    this.principal = added.principal;
    this.credential = added.credential;
    this.connection = connection;
  }

  static async add(
    mesh: Mesh,
    name: string,
    grants: { read?: readonly string[]; post?: readonly string[] } = {},
  ): Promise<Agent> {
    const added = await mesh.addAgent({ name, read: grants.read ?? ['>'], post: grants.post ?? ['>'] });
    return new Agent(mesh, name, added, await mesh.connect(added.credential));
  }

  /** One rail request. Rejects with the client's own error when nobody answers. */
  async ask(op: string, args: unknown, of: { timeoutMs?: number; from?: object } = {}) {
    const subject = railSubject(this.#mesh.space, 'delivery', this.principal);
    const reply = await this.connection.request(
      subject,
      JSON.stringify({ op, args, from: of.from ?? { id: this.principal, name: this.name } }),
      {
        timeout: of.timeoutMs ?? 5_000,
        noMux: true,
        reply: `${replyPrefix(subject)}${nuid.next()}`,
      },
    );
    return reply.json<{ ok: boolean; data?: unknown; error?: { code: string; message: string; bytes?: number } }>();
  }

  /** One rail request that is expected to be answered. */
  async asked<O extends DeliveryOp>(op: O, args: unknown): Promise<DataOf<O>> {
    const reply = await this.ask(op, args);
    if (!reply.ok) throw new Error(`${op}: ${reply.error?.message}`);
    return reply.data as DataOf<O>;
  }

  async join(channel: string): Promise<DataOf<'durableJoin'>> {
    return this.asked('durableJoin', { channel });
  }

  async leave(channel: string, generation = 1): Promise<DataOf<'durableLeave'>> {
    return this.asked('durableLeave', { channel, generation, lifecycleUid: this.member.uid });
  }

  /** Publishes a post and answers its sequence. */
  async post(channel: string, { id = nuid.next(), text = id, mentions }: Post = {}): Promise<number> {
    const body = {
      id,
      ts: Date.now(),
      space: this.#mesh.space,
      from: { id: this.principal, name: this.name },
      channel,
      parts: [{ kind: 'text', text }],
      ...(mentions === undefined ? {} : { mentions }),
    };
    const ack = await jetstream(this.connection).publish(
      chatSubject(this.#mesh.space, this.principal, channel),
      JSON.stringify(body),
      {
        ...(id === '' ? {} : { msgID: `${this.principal}/${channel}/${id}` }),
      },
    );
    return ack.seq;
  }

  /** Takes up to `count` copies, as many as come within the time; nothing is confirmed. */
  async take(count: number, withinMs = 5_000): Promise<Taken[]> {
    const consumer = await jetstream(this.connection).consumers.get(
      streams(this.#mesh.space).dlv,
      deliveryConsumer(this.member),
    );
    const taken: Taken[] = [];
    try {
      for await (const message of await consumer.fetch({ max_messages: count, expires: Math.max(1_000, withinMs) })) {
        taken.push(readTaken(message));
      }
    } catch (error) {
      if (!isStalled(error)) throw error;
      // The broker did not say that there is nothing more: what is still wanted is asked for again.
      if (taken.length < count) taken.push(...(await this.take(count - taken.length, withinMs)));
    }
    return taken;
  }

  /** Takes and confirms exactly `count` copies, in order; the broker has the confirmations when it resolves. */
  async read(count: number, withinMs?: number): Promise<Taken[]> {
    const taken = await this.take(count, withinMs);
    for (const { message } of taken) if (!(await message.ackAck())) throw new Error('a confirmation was not taken');
    return taken;
  }
}

/** The driver gave a request up before the broker ended it. */
const isStalled = (error: unknown): boolean => error instanceof JetStreamError && error.message === 'heartbeats missed';

/** What lies on a subject may be anything: a forged message is taken too, with nothing in it. */
function readTaken(message: JsMsg): Taken {
  const nothing = { id: '', text: '', channel: '', seq: 0, from: '', message };
  try {
    const { msg, channel, seq } = message.json<{
      msg: { id: string; from: { id: string }; parts: { text: string }[] };
      channel: string;
      seq: number;
    }>();
    return { id: msg.id, text: msg.parts[0]?.text ?? '', channel, seq, from: msg.from.id, message };
  } catch {
    return nothing;
  }
}

export const texts = (taken: readonly Taken[]): string[] => taken.map(({ text }) => text);
