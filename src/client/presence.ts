/** Says every two seconds that the agent is here; what was said ends by itself six seconds after the last time. */
import { headers } from '@nats-io/nats-core';
import { type Member, principalOf } from '../domain/names.ts';
import type { PresenceRow } from '../domain/rows.ts';
import { buckets, keySubject } from '../domain/subjects.ts';
import type { Link } from './link.ts';

const HEARTBEAT_MS = 2_000;

export interface PresenceCard {
  readonly name: string;
  /** What it is: agent, person, service … */
  readonly kind: string;
}

export class Presence {
  readonly #link: Link;
  readonly #subject: string;
  readonly #row: (status: string) => PresenceRow;
  #status = 'available';
  #timer: NodeJS.Timeout | undefined;

  constructor({ link, space, member, card }: { link: Link; space: string; member: Member; card: PresenceCard }) {
    const id = principalOf(member);
    this.#link = link;
    this.#subject = keySubject(buckets(space).presence, id);
    this.#row = (status) => ({ card: { id, ...card }, status, lifecycleUid: member.uid, ts: Date.now() });
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#beat(), HEARTBEAT_MS);
    this.#beat();
  }

  /** What the agent does now, in a word of its own: available, busy … */
  say(status: string): void {
    this.#status = status;
    if (this.#timer !== undefined) this.#beat();
  }

  #beat(): void {
    this.#link.broker.publish(this.#subject, JSON.stringify(this.#row(this.#status)));
  }

  /** It is gone: at once, not after six seconds. */
  stop(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (!this.#link.isUp()) return;
    const head = headers();
    head.set('KV-Operation', 'DEL');
    this.#link.connection.publish(this.#subject, undefined, { headers: head });
  }
}
