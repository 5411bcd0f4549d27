/** What is true of a link, for people: taken from its machine's snapshots, never from a flag beside it. */
import type { CursorOf } from '../../domain/provider/cursor-ledger.ts';
import type { Failure } from '../../machines/provider-link.facts.ts';

export type LinkState =
  | 'Disconnected'
  | 'TransportConnected'
  | 'Registering'
  | 'Ready'
  | 'BackingOff'
  | 'Refused'
  | 'Stopped';

export interface Told extends Failure {
  /** Milliseconds, wall clock, as every time here. */
  readonly at: number;
}

export interface LinkHealth {
  readonly state: LinkState;
  /** Ready, and nothing else. */
  readonly connected: boolean;
  /** Since when the link is in this state. */
  readonly since: number;
  /** Attempts so far, this one included. */
  readonly attempt: number;
  readonly nextRetryAt: number | null;
  /** The failure that holds now, and the one that held last; the first is gone once the link is Ready. */
  readonly lastError: Told | null;
  readonly previousError: Told | null;
  readonly provider: string;
  readonly instanceId: string;
  readonly node: string;
  readonly transport: { readonly open: boolean; readonly since: number | null };
  /** When an inventory was last answered. Pongs and open sockets prove nothing. */
  readonly proved: { readonly at: number | null };
  readonly cursors: readonly CursorOf[];
  /** Agents that the peer does not take from us, and why. */
  readonly refused: readonly { readonly agent: string; readonly code: string }[];
  readonly counters: Readonly<Record<string, number>>;
}

/** The state's name as people know it. */
export function stateOf(value: unknown): LinkState {
  if (typeof value === 'string') return value === 'Refused' ? 'Refused' : 'Stopped';
  const { Attempt: attempt } = value as { Attempt?: unknown };
  if (attempt === undefined) return 'BackingOff';
  if (attempt === 'Disconnected') return 'Disconnected';
  const { Unregistered: unregistered } = attempt as { Unregistered?: unknown };
  if (unregistered === undefined) return 'Ready';
  return unregistered === 'TransportConnected' ? 'TransportConnected' : 'Registering';
}
