/**
 * One connection of a link, from its dial to its end: requests and their answers, the cursors that this connection was
 * given, and what came by them. What moves the link's lifecycle is told to its machine; frames are handled here.
 */
import { CursorLedger, type CursorOf } from '../../domain/provider/cursor-ledger.ts';
import {
  ackFrame,
  type HeardDeliver,
  type HeardError,
  heartbeatFrame,
  judgeRegisterReply,
  type NodeFacts,
  readServerFrame,
  registerRequest,
} from '../../domain/provider/link-frames.ts';
import type { LinkNumbers } from '../../domain/provider/link-numbers.ts';
import type { SocketFact, WriteFailed } from '../../machines/provider-link.facts.ts';
import type { Journal } from '../../services/ports.ts';
import type { Tally } from '../../services/tally.ts';
import type { Deliveries, Dialer, Wire } from './ports.ts';

export interface SessionSetting {
  readonly node: NodeFacts;
  readonly numbers: Pick<LinkNumbers, 'writeMs'>;
  readonly deliveries: Deliveries;
  readonly journal: Journal;
  readonly tally: Tally;
  /** Highest sequence that this process ever surfaced to an agent; kept across connections. */
  readonly surfaced: Map<string, number>;
  newId(): string;
}

type Answered = { readonly ok: true; readonly data: unknown } | ({ readonly ok: false } & HeardError);
type Pending = (answer: Answered) => void;
type Tell = (fact: SocketFact | WriteFailed) => void;

export class Session {
  readonly ledger = new CursorLedger();
  readonly #setting: SessionSetting;
  readonly #tell: Tell;
  readonly #pending = new Map<string, Pending>();
  readonly #ended = new AbortController();
  #wire: Wire | undefined;

  constructor(setting: SessionSetting, tell: Tell) {
    this.#setting = setting;
    this.#tell = tell;
  }

  open(dialer: Dialer, token: string): void {
    this.#wire = dialer.dial({
      token,
      listener: {
        opened: () => this.#tell({ type: 'transport.opened' }),
        turnedAway: (status) =>
          this.#tell(
            status === 401
              ? { type: 'dial.unauthorized' }
              : { type: 'dial.failed', code: `http_${status}`, message: `the upgrade was answered with ${status}` },
          ),
        failed: ({ code, message }) => this.#tell({ type: 'dial.failed', code, message }),
        closed: ({ code, reason }) => this.#tell({ type: 'transport.closed', code, reason }),
        message: (data) => this.#hear(data),
      },
    });
  }

  /** Ends it: the socket is closed, nobody is answered any more, and nothing of it is acknowledged from here on. */
  close(): void {
    this.#ended.abort();
    this.#pending.clear();
    this.#wire?.close();
  }

  /** Writes the register. Its answer is told as a fact, judged in the turn in which it comes. */
  async register(): Promise<{ type: 'register.written' } | WriteFailed> {
    const { node } = this.#setting;
    const written = await this.#request(registerRequest(node), (answer) => {
      if (!answer.ok) return this.#tell({ type: 'register.refused', ...answered(answer) });
      const verdict = judgeRegisterReply(answer.data, node.provider);
      if (verdict.kind === 'accepted') return this.#tell({ type: 'register.accepted' });
      const { code, message } = verdict;
      this.#tell({ type: 'register.refused', code, message, guidanceMs: null });
    });
    return written ?? { type: 'register.written' };
  }

  async heartbeat(agents: number): Promise<{ type: 'heartbeat.written' } | WriteFailed> {
    return (await this.#write(heartbeatFrame(this.#setting.node, agents))) ?? { type: 'heartbeat.written' };
  }

  /**
   * Sends a request. `met` gets its answer in the turn in which it comes, so that what it says holds before the next frame
   * is looked at. Resolves with what `met` made of it, or with why it could not be written.
   */
  ask<T>(frame: object, met: (answer: Answered) => T): Promise<T | WriteFailed> {
    return new Promise((resolve, reject) => {
      void this.#request(frame, (answer) => resolve(met(answer))).then((failed) => {
        if (failed !== undefined) resolve(failed);
      }, reject);
    });
  }

  cursors(): readonly CursorOf[] {
    return this.ledger.all();
  }

  /** Says a cursor. Nothing answers it: whether it was taken is seen by the next inventory. */
  acknowledge(agent: string, upTo: number): void {
    this.#setting.tally.add('acks');
    void this.#write(ackFrame(agent, upTo)).then((failed) => {
      if (failed !== undefined && !this.#ended.signal.aborted) this.#tell(failed);
    });
  }

  #request(frame: object, met: Pending): Promise<WriteFailed | undefined> {
    const id = this.#setting.newId();
    this.#pending.set(id, met);
    return this.#write({ ...frame, id });
  }

  async #write(frame: object): Promise<WriteFailed | undefined> {
    const { writeMs: timeoutMs } = this.#setting.numbers;
    const outcome = await this.#wire?.send({ text: JSON.stringify(frame), timeoutMs });
    if (outcome?.kind === 'written') return undefined;
    return { type: 'write.failed', message: outcome?.why ?? 'there is no socket' };
  }

  #hear(data: unknown): void {
    const frame = readServerFrame(data);
    switch (frame.kind) {
      case 'deliver':
        return this.#deliver(frame.deliver);
      case 'reply':
        return this.#answer(frame.id, { ok: true, data: frame.data });
      case 'error':
        return this.#answer(frame.id, { ok: false, ...frame.error });
      case 'unreadable':
        return this.#count('frames.unreadable', frame.why, () =>
          this.#setting.journal.tell('link.unreadable', { why: frame.why }),
        );
    }
  }

  #answer(id: string, answer: Answered): void {
    const met = this.#pending.get(id);
    this.#pending.delete(id);
    if (met === undefined) {
      const why = answer.ok ? 'reply' : answer.code;
      return this.#count('frames.unasked', why, () => this.#setting.journal.tell('link.unasked', { why }));
    }
    met(answer);
    this.#tell({ type: 'reply.came' });
  }

  #deliver(frame: HeardDeliver): void {
    const { tally, deliveries, surfaced } = this.#setting;
    const { agent_id: agentId, agent, seq } = frame;
    const offered = this.ledger.offer(agentId, seq);
    tally.add('deliveries', offered.kind);
    switch (offered.kind) {
      case 'uncertified':
        return this.#tell({ type: 'deliver.uncertified', agentId, seq });
      case 'gap':
        return this.#tell({ type: 'gap.met', agentId, expected: offered.expected, seq });
      case 'duplicate':
        return this.acknowledge(agent, offered.ack);
      case 'next': {
        const isRepeat = seq <= (surfaced.get(agentId) ?? 0);
        if (isRepeat) tally.add('deliveries', 'repeated');
        else surfaced.set(agentId, seq);
        deliveries.take({
          agentId,
          agent,
          seq,
          msgId: frame.msg_id,
          mode: frame.mode,
          payload: { type: frame.payload.type, data: frame.payload.data },
          isRepeat,
          ended: this.#ended.signal,
          confirm: () => this.#confirm(agentId, agent, seq),
        });
      }
    }
  }

  /** A confirmation of a connection that has ended acknowledges nothing: what is open now has its own. */
  #confirm(agentId: string, agent: string, seq: number): void {
    if (this.#ended.signal.aborted) {
      this.#setting.tally.add('confirmations', 'late');
      return;
    }
    const upTo = this.ledger.confirm(agentId, seq);
    if (upTo !== undefined) this.acknowledge(agent, upTo);
  }

  /** Counts, and tells the first one of its kind. */
  #count(name: string, label: string, tell: () => void): void {
    if (this.#setting.tally.get(name, label) === 0) tell();
    this.#setting.tally.add(name, label);
  }
}

const answered = ({ code, message, guidanceMs }: HeardError) => ({ code, message, guidanceMs });
