/**
 * The server's frames. Peers in the field do not forgive: an `error` has exactly `v, type, id, ok, code, message` unless
 * the peer asked for guidance, and a reply to `agent.register` carries nothing beside the four keys below.
 */
import type { FrameErrorCode } from './codes.ts';

export type DeliveryMode = 'wait' | 'steer';

export interface ReplyFrame {
  readonly v: 1;
  readonly type: 'reply';
  readonly id: string;
  readonly ok: true;
  readonly data: object;
}

export interface ErrorFrame {
  readonly v: 1;
  readonly type: 'error';
  readonly id: string;
  readonly ok: false;
  readonly code: FrameErrorCode;
  readonly message: string;
  /** Only for who advertised `relay:retry-guidance-v1`, only on `provider_instance_conflict`. */
  readonly retry_after_ms?: number;
}

export interface DeliverFrame {
  readonly v: 1;
  readonly type: 'deliver';
  readonly delivery_id: string;
  readonly agent_id: string;
  readonly agent: string;
  readonly msg_id: string;
  readonly seq: number;
  readonly mode: DeliveryMode;
  readonly payload: { readonly type: string; readonly data: unknown };
}

export interface InvokeFrame {
  readonly v: 1;
  readonly type: 'action.invoke';
  readonly invocation_id: string;
  readonly action: string;
  readonly input: unknown;
  readonly agent_id?: string;
  readonly agent_name?: string;
}

export type SendableFrame = DeliverFrame | InvokeFrame;
export type ServerFrame = ReplyFrame | ErrorFrame | SendableFrame;

export const replyFrame = (id: string, data: object): ReplyFrame => ({ v: 1, type: 'reply', id, ok: true, data });

export const errorFrame = (id: string, code: FrameErrorCode, message: string): ErrorFrame => ({
  v: 1,
  type: 'error',
  id,
  ok: false,
  code,
  message,
});

/** How a conflict is told: the guidance as its own key to who asked for it, and as a fixed suffix to everybody else. */
export const conflictFrame = (id: string, retryAfterMs: number, guided: boolean): ErrorFrame => {
  const message = 'another instance of this provider is attached to this node';
  return guided
    ? { ...errorFrame(id, 'provider_instance_conflict', message), retry_after_ms: retryAfterMs }
    : errorFrame(id, 'provider_instance_conflict', `${message} (retry_after_ms=${retryAfterMs})`);
};

export interface AcceptedCapability {
  readonly name: string;
  readonly kind: string;
  readonly accepted: boolean;
  readonly reason?: string;
}

/** `data` of the reply to `node.register`: one entry of `accepted_capabilities` for every advertised one. */
export interface RegisterReply {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly status: string;
  readonly live: boolean;
  readonly provider: { readonly name: string; readonly instance_id: string };
  readonly accepted_capabilities: readonly AcceptedCapability[];
  readonly max_agents: number;
  readonly active_agents: number;
  /** Unix seconds. */
  readonly last_heartbeat_at: number;
}

/** `data` of the reply to `agent.register` and `agent.recover`. */
export interface AgentReply {
  readonly agent_id: string;
  readonly token: string;
  readonly name: string;
  /** The authoritative cursor, for agent-scoped readiness. */
  readonly delivery_ack_seq?: number;
}

/** `data` of the reply to `inventory.sync`; the numbers are counts. */
export interface InventoryReply {
  readonly rebound_agents: number;
  readonly open_invocations: number;
  readonly completed_invocations: number;
  readonly rescheduled_invocations: number;
  readonly rejected_agents: readonly { readonly agent_id: string; readonly code: FrameErrorCode }[];
  readonly cursors: readonly { readonly agent_id: string; readonly delivery_ack_seq: number }[];
}
