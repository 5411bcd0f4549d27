/** What the parts of a node's registry share. No lifecycle stands here: those are the machines of socket and reaper. */
import { initialTransition, type SnapshotFrom, transition } from 'xstate';
import { Plane3Error } from '../../domain/errors/catalogue.ts';
import type { FrameErrorCode } from '../../domain/provider/codes.ts';
import type { ProviderLimits } from '../../domain/provider/limits.ts';
import { errorFrame, replyFrame, type ServerFrame } from '../../domain/provider/server-frames.ts';
import { type ReaperEvent, reaperMachine } from '../../machines/reaper.machine.ts';
import type { Journal } from '../../services/ports.ts';
import type { Engine, ProviderAt } from '../engine/engine.ts';
import type { Attached } from './attached.ts';
import type { Policy } from './policy.ts';
import type { Look, NodeHost, Steps } from './ports.ts';
import { NodeQueue } from './queue.ts';
import { ReadySets } from './ready-sets.ts';
import type { NodeRecords } from './records.ts';

/** What happened on a node since it woke, for tests and figures. */
export interface NodeCounters {
  framesAccepted: number;
  framesRefused: number;
  framesDropped: number;
  conflicts: number;
  acksDropped: number;
  replayed: number;
  sweeps: number;
  projections: number;
}

export interface NodeParts {
  readonly host: NodeHost;
  readonly engine: Engine;
  readonly records: NodeRecords;
  readonly limits: ProviderLimits;
  readonly journal: Journal;
  readonly steps: Steps;
  readonly policy: Policy;
  /** Undefined: nobody looks on. */
  readonly look?: Look | undefined;
}

export class NodeState {
  readonly host: NodeHost;
  readonly engine: Engine;
  readonly records: NodeRecords;
  readonly limits: ProviderLimits;
  readonly journal: Journal;
  readonly steps: Steps;
  readonly policy: Policy;
  readonly look: Look | undefined;
  readonly queue = new NodeQueue();
  readonly ready: ReadySets;
  readonly sockets = new Map<string, Attached>();
  readonly counters: NodeCounters = {
    framesAccepted: 0,
    framesRefused: 0,
    framesDropped: 0,
    conflicts: 0,
    acksDropped: 0,
    replayed: 0,
    sweeps: 0,
    projections: 0,
  };
  /** Connections whose pump is in the queue. */
  readonly pumping = new Set<string>();
  /** Pages since this wake. */
  pages = 0;
  /** Writes that were given up waiting for and may still land: owed work is not settled before they have. */
  readonly late = new Map<string, number>();
  /** Database time of the job that runs, milliseconds. */
  #spentMs = 0;
  #reaper: SnapshotFrom<typeof reaperMachine>;

  constructor(parts: NodeParts) {
    this.host = parts.host;
    this.engine = parts.engine;
    this.records = parts.records;
    this.limits = parts.limits;
    this.journal = parts.journal;
    this.steps = parts.steps;
    this.policy = parts.policy;
    this.look = parts.look;
    this.ready = new ReadySets(parts.records);
    const { alarmLeastMs: leastMs, againMs } = parts.limits;
    [this.#reaper] = initialTransition(reaperMachine, { leastMs, againMs });
  }

  at(provider: string): ProviderAt {
    return { workspace: this.host.workspace, node: this.host.node, provider };
  }

  /** The connection that holds a provider, or undefined. */
  holder(provider: string): Attached | undefined {
    for (const attached of this.sockets.values()) if (attached.provider?.name === provider) return attached;
    return undefined;
  }

  /** Steps the reaper, and sets the platform's alarm to what it wants. */
  reap(event: ReaperEvent): void {
    const before = this.#reaper.context.dueAt;
    [this.#reaper] = transition(reaperMachine, this.#reaper, event);
    const { workspace, node } = this.host;
    const name = `${workspace}/${node}`;
    this.look?.({ session: name, id: `reaper.${name}`, machine: reaperMachine.id, event, after: this.#reaper });
    const after = this.#reaper.context.dueAt;
    if (after !== before || event.type !== 'deadline.known') this.host.setAlarm(after);
  }

  /** Makes sure that the alarm comes no later than that. */
  watch(due: number): void {
    this.reap({ type: 'deadline.known', at: this.host.now(), due });
  }

  /** A job of the queue begins, or a compensation: it has the whole time for its database work. */
  freshBudget(): void {
    this.#spentMs = 0;
  }

  /** The database work of one job has 8 s. What is given up may still land, and is remembered under `key` until it has. */
  async bounded<T>(work: Promise<T>, key?: string): Promise<T> {
    const { promise: expired, reject } = Promise.withResolvers<never>();
    const ms = Math.max(1, this.limits.storageMs - this.#spentMs);
    const since = this.host.now();
    const timer = setTimeout(() => {
      if (key !== undefined) this.#remember(key, work);
      reject(new Plane3Error('storage.timeout', { ms: this.limits.storageMs }));
    }, ms);
    try {
      return await Promise.race([work, expired]);
    } finally {
      clearTimeout(timer);
      this.#spentMs += Math.max(0, this.host.now() - since);
    }
  }

  #remember(key: string, work: Promise<unknown>): void {
    this.late.set(key, (this.late.get(key) ?? 0) + 1);
    const landed = () => {
      const left = (this.late.get(key) ?? 1) - 1;
      if (left === 0) this.late.delete(key);
      else this.late.set(key, left);
      this.watch(this.host.now());
    };
    work.then(landed, landed);
  }

  send(attached: Attached, frame: ServerFrame): boolean {
    return attached.socket.send(JSON.stringify(frame));
  }

  reply(attached: Attached, id: string, data: object): boolean {
    return this.send(attached, replyFrame(id, data));
  }

  refuse(attached: Attached, id: string | undefined, code: FrameErrorCode, message: string): void {
    this.counters.framesRefused += 1;
    this.journal.tell('frame.refused', { ...this.names(attached), code });
    this.send(attached, errorFrame(id ?? this.host.newId('srv'), code, message));
  }

  /** Ids for a log record. */
  names(attached: Attached): { node: string; connection: string; provider: string | undefined } {
    return { node: this.host.node, connection: attached.connection, provider: attached.provider?.name };
  }
}

/** What a failed database is called on the wire. */
export const storageCode = (error: unknown): 'storage_timeout' | 'storage_failed' =>
  error instanceof Plane3Error && error.code === 'storage.timeout' ? 'storage_timeout' : 'storage_failed';

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
