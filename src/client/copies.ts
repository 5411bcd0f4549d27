/**
 * The agent's own durable: found by name, pulled, and each message of it looked at before it counts as a copy. What is no
 * copy for this member is terminated and counted, never surfaced.
 */
import type { Msg } from '@nats-io/nats-core';
import { z } from 'zod';
import { readCopy } from '../domain/copy.ts';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import type { Message } from '../domain/message.ts';
import { type Member, memberKey } from '../domain/names.ts';
import { deliveryConsumer, streams } from '../domain/subjects.ts';
import { failureOf, type GatedBroker } from '../services/nats/gated-broker.ts';
import { type Pull, type PullEnd, startPull } from '../services/nats/pull.ts';
import type { Journal } from '../services/ports.ts';
import type { Tally } from '../services/tally.ts';
import type { Confirmed, CopyInHand } from './receiver.ts';

const CONSUMER_NOT_FOUND = '10014';
const infoSchema = z.looseObject({ name: z.string() });

export interface OwnCopiesSetting {
  readonly broker: GatedBroker;
  readonly space: string;
  readonly member: Member;
  readonly journal: Journal;
  readonly tally: Tally;
}

export class OwnCopies {
  readonly durable: string;
  readonly stream: string;
  readonly #setting: OwnCopiesSetting;
  readonly #ackHead: string;

  constructor(setting: OwnCopiesSetting) {
    this.#setting = setting;
    this.durable = deliveryConsumer(setting.member);
    this.stream = streams(setting.space).dlv;
    this.#ackHead = `$JS.ACK.${this.stream}.${this.durable}.`;
  }

  /**
   * Binds the durable: looks for it by name. It is never made here.
   * @throws Plane3Error `client.no-durable` where it is not, or the broker does not say.
   */
  async bind(): Promise<void> {
    const reason = await this.#missing();
    if (reason !== undefined) this.#fail(reason.why);
  }

  /** @throws Plane3Error `client.no-durable` where the broker says that it is not there; silence says nothing. */
  async mustBeThere(): Promise<void> {
    const reason = await this.#missing();
    if (reason?.certain === true) this.#fail(reason.why);
  }

  async #missing(): Promise<{ why: string; certain: boolean } | undefined> {
    const found = await this.#setting.broker.api(`CONSUMER.INFO.${this.stream}.${this.durable}`, {}, infoSchema);
    switch (found.kind) {
      case 'reply':
        return undefined;
      case 'silent':
        return { why: `the broker did not answer (${found.why})`, certain: false };
      case 'denied':
        return { why: `the broker denied ${found.subject}`, certain: true };
      case 'refused':
        return found.code === CONSUMER_NOT_FOUND
          ? { why: 'the broker has no consumer of this name', certain: true }
          : { why: found.message, certain: false };
    }
  }

  #fail(reason: string): never {
    throw new Plane3Error('client.no-durable', { durable: this.durable, space: this.#setting.space, reason });
  }

  /** Pulls at most `batch` copies; `waitMs` 0 takes what is there. */
  pull(asked: {
    batch: number;
    waitMs: number;
    copy(message: Message, copy: CopyInHand): void;
    end(how: PullEnd): void;
  }): Pull {
    return startPull({
      broker: this.#setting.broker,
      stream: this.stream,
      durable: this.durable,
      batch: asked.batch,
      waitMs: asked.waitMs,
      message: (message) => {
        const read = this.#read(message);
        if (read !== undefined) asked.copy(read.message, read.copy);
      },
      end: asked.end,
    });
  }

  #read(message: Msg): { message: Message; copy: CopyInHand } | undefined {
    const { space, member } = this.#setting;
    const { reply = '' } = message;
    // A reply that somebody steered here: there is nothing of ours to settle.
    if (!reply.startsWith(this.#ackHead)) return this.#foreign('foreign-stream');
    const [delivered = 0, copySeq = 0] = reply.slice(this.#ackHead.length).split('.').map(Number);
    const read = readCopy(space, message.subject, (name) => message.headers?.get(name) ?? '', message.data);
    if (read.kind === 'foreign') return this.#foreign(read.why, reply);
    if (memberKey(read.member) !== memberKey(member)) return this.#foreign('foreign-member', reply);
    const { channel, seq, generation, msg } = read.copy;
    if (msg.space !== space) return this.#foreign('foreign-space', reply);
    const { broker } = this.#setting;
    return {
      message: msg,
      copy: {
        channel,
        seq,
        generation,
        copySeq,
        redelivered: delivered > 1,
        confirm: () => this.#confirm(reply),
        giveBack: () => void broker.publish(reply, '-NAK'),
      },
    };
  }

  /** Acknowledges with an answer: a one-way acknowledgement may never leave the process. */
  async #confirm(reply: string): Promise<Confirmed> {
    const { broker } = this.#setting;
    const shut = broker.shut();
    if (shut !== undefined) return { kind: 'unanswered', why: shut.why };
    try {
      await broker.connection.request(reply, '+ACK', { timeout: broker.timeoutMs });
      return { kind: 'confirmed' };
    } catch (error) {
      const failure = failureOf(error);
      return { kind: 'unanswered', why: failure.kind === 'silent' ? failure.why : failure.kind };
    }
  }

  #foreign(why: string, reply?: string): undefined {
    const { broker, journal, tally } = this.#setting;
    tally.add('client.foreign-copies', why);
    if (tally.get('client.foreign-copies', why) === 1) {
      journal.tell('client.foreign-copy', { durable: this.durable, why });
    }
    if (reply !== undefined) broker.publish(reply, '+TERM');
    return undefined;
  }
}
