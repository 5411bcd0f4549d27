/**
 * What the registry of one node needs from where it runs: in-process beside Node's `ws`, or inside a Durable Object.
 */
import type { AnyEventObject, AnyMachineSnapshot, StateValue } from 'xstate';
import type { Projection } from '../../domain/provider/liveness.ts';
import type { SocketContext } from '../../machines/provider-socket.machine.ts';
import type { Value } from '../storage/port.ts';

/**
 * The attachment of a socket: the snapshot of its machine, and beside it what moves with every frame. JSON, far below the
 * platform's 16,384 bytes.
 */
export interface SocketRecord {
  readonly v: 1;
  readonly value: StateValue;
  readonly context: SocketContext;
  /** Milliseconds; of the last accepted frame. */
  readonly lastSeen: number;
  /** What the database was last told of this provider's liveness. */
  readonly projection: Projection | null;
}

export interface NodeSocket {
  readonly isOpen: boolean;
  /** False when the frame could not be given to the socket. Never throws. */
  send(text: string): boolean;
  close(code: number, reason: string): void;
  /** Undefined on a fresh socket. */
  readRecord(): SocketRecord | undefined;
  writeRecord(record: SocketRecord): void;
}

export interface NodeHost {
  readonly workspace: string;
  readonly node: string;
  /** Milliseconds. */
  now(): number;
  newId(prefix: string): string;
  /** Every socket that the platform still lists, closing ones too. */
  sockets(): readonly NodeSocket[];
  /** Sets the one alarm of the node, or clears it. */
  setAlarm(at: number | null): void;
  /** Keeps the node awake for work that nobody waits for. */
  background(work: Promise<unknown>): void;
}

/** The node's own small SQLite: synchronous, in the object, or a table set of the in-process server. */
export interface ObjectStore {
  exec(text: string, ...params: readonly Value[]): readonly Readonly<Record<string, Value>>[];
}

export type StepName =
  | 'register.owed'
  | 'register.written'
  | 'register.bound'
  | 'replay.read'
  | 'replay.sent'
  | 'replay.marked'
  | 'departure.owed'
  | 'departure.written';

/** Whoever looks on while machines are stepped; it is told, and nothing waits for it. */
export type Look = (step: {
  /** The connection, or the node. */
  readonly session: string;
  readonly id: string;
  readonly machine: string;
  readonly event: AnyEventObject;
  readonly after: AnyMachineSnapshot;
}) => void;

/** Named points of registration, replay and departure, at which a test can park the node. A no-op in production. */
export interface Steps {
  at(step: StepName): Promise<void> | undefined;
}

export const noSteps: Steps = { at: () => undefined };
