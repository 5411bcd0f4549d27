/**
 * One socket of a node: its machine (the only place of its lifecycle), its last sign of life, what waits in the queue for
 * it, and its window of frames that were written and not acknowledged (rules 2, 6 and 8).
 */
import { initialTransition, type SnapshotFrom, transition } from 'xstate';
import type { ProviderLimits } from '../../domain/provider/limits.ts';
import type { Projection } from '../../domain/provider/liveness.ts';
import type { ProviderId } from '../../domain/provider/names.ts';
import type { ReadinessMode } from '../../domain/provider/readiness.ts';
import {
  providerSocketMachine,
  type SocketContext,
  type SocketEvent,
  type SocketInput,
} from '../../machines/provider-socket.machine.ts';
import type { Look, NodeSocket, SocketRecord } from './ports.ts';
import { Window } from './window.ts';

type SocketSnapshot = SnapshotFrom<typeof providerSocketMachine>;

export class Attached {
  readonly socket: NodeSocket;
  readonly window: Window;
  /** Ids of queued rows that were written here and are not marked delivered yet: the next page does it. */
  unmarked: readonly string[] = [];
  #snapshot: SocketSnapshot;
  #lastSeen: number;
  #projection: Projection | null;
  #queuedFrames = 0;
  #queuedBytes = 0;
  #pagesToProbe = 0;
  readonly #look: Look | undefined;

  private constructor(socket: NodeSocket, record: SocketRecord, window: Window, look: Look | undefined) {
    this.socket = socket;
    this.#look = look;
    this.window = window;
    this.#snapshot = providerSocketMachine.resolveState({ value: record.value, context: record.context });
    this.#lastSeen = record.lastSeen;
    this.#projection = record.projection;
  }

  /** A socket that was just accepted. */
  static open(socket: NodeSocket, input: SocketInput, look?: Look): Attached {
    const [snapshot] = initialTransition(providerSocketMachine, input);
    const { value, context } = snapshot;
    const record: SocketRecord = { v: 1, value, context, lastSeen: input.openedAt, projection: null };
    socket.writeRecord(record);
    const attached = new Attached(socket, record, new Window(), look);
    attached.#tell({ type: 'xstate.init' });
    return attached;
  }

  /** A socket that outlived the memory of its node: from its attachment, with a window that is not known yet. */
  static restore(socket: NodeSocket, look?: Look): Attached | undefined {
    const record = socket.readRecord();
    return record?.v === 1 ? new Attached(socket, record, Window.forgotten(), look) : undefined;
  }

  get #context(): SocketContext {
    return this.#snapshot.context;
  }

  get connection(): string {
    return this.#context.connection;
  }

  /** Superseded, reaped, overloaded or closed: nothing that comes later counts. */
  get isGone(): boolean {
    return (
      this.#snapshot.matches('Superseded') ||
      this.#snapshot.matches('Reaped') ||
      this.#snapshot.matches('Overloaded') ||
      this.#snapshot.matches('Closed')
    );
  }

  get isBound(): boolean {
    return this.#snapshot.hasTag('bound');
  }

  /** Bound, or undefined. */
  get provider(): ProviderId | undefined {
    return this.isBound ? (this.#context.provider ?? undefined) : undefined;
  }

  get mode(): ReadinessMode {
    if (this.#snapshot.matches({ Bound: 'Immediate' })) return 'immediate';
    return this.#snapshot.matches({ Bound: 'AgentScoped' }) ? 'agent_scoped' : 'unknown';
  }

  get isReaped(): boolean {
    return this.#snapshot.matches('Reaped');
  }

  get lastSeen(): number {
    return this.#lastSeen;
  }

  get projection(): Projection | null {
    return this.#projection;
  }

  /** When the reaper should look at this socket next. */
  get due(): number {
    const { bounds, unboundSince, registerAskedAt } = this.#context;
    if (this.isBound) return this.#lastSeen + bounds.reapMs;
    const waiting = unboundSince + bounds.unboundMs;
    return registerAskedAt === 0 ? waiting : Math.max(waiting, registerAskedAt + bounds.registerMs);
  }

  /** Whether the event would end this connection. */
  wouldEnd(event: SocketEvent): boolean {
    return transition(providerSocketMachine, this.#snapshot, event)[0].status !== 'active';
  }

  step(event: SocketEvent): void {
    const [next] = transition(providerSocketMachine, this.#snapshot, event);
    if (next === this.#snapshot) return;
    this.#snapshot = next;
    this.#write();
    this.#tell(event);
  }

  /** An accepted frame, the only sign of life there is. */
  seen(at: number): void {
    this.#lastSeen = at;
    this.#write();
  }

  project(projection: Projection | null): void {
    this.#projection = projection;
    this.#write();
  }

  /** Whether one more frame of that size may wait in the queue. */
  admits(bytes: number, { queueFrames, queueBytes }: Pick<ProviderLimits, 'queueFrames' | 'queueBytes'>): boolean {
    return this.#queuedFrames < queueFrames && this.#queuedBytes + bytes <= queueBytes;
  }

  queued(bytes: number): void {
    this.#queuedFrames += 1;
    this.#queuedBytes += bytes;
  }

  unqueued(bytes: number): void {
    this.#queuedFrames -= 1;
    this.#queuedBytes -= bytes;
  }

  /**
   * Whether to ask first which of the wanting identities have rows at all: once before they are gone through a page at a
   * time, so that a thousand of them without a row cost one query.
   */
  isProbeDue(wanting: number, pageRows: number): boolean {
    if (wanting <= pageRows) return false;
    if (this.#pagesToProbe > 0) {
      this.#pagesToProbe -= 1;
      return false;
    }
    this.#pagesToProbe = Math.ceil(wanting / pageRows);
    return true;
  }

  #tell(event: SocketEvent | { type: 'xstate.init' }): void {
    const { connection } = this;
    this.#look?.({
      session: connection,
      id: `socket.${connection}`,
      machine: providerSocketMachine.id,
      event,
      after: this.#snapshot,
    });
  }

  #write(): void {
    const { value, context } = this.#snapshot;
    this.socket.writeRecord({ v: 1, value, context, lastSeen: this.#lastSeen, projection: this.#projection });
  }
}
