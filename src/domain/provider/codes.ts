/** The stable codes of `error` frames, of `rejected_agents`, and of refused sends. */
export type FrameErrorCode =
  | 'invalid_message'
  | 'provider_not_registered'
  | 'provider_instance_conflict'
  | 'storage_timeout'
  | 'storage_failed'
  | 'agent_already_exists'
  | 'agent_not_found'
  | 'agent_identity_mismatch'
  | 'agent_provider_conflict'
  | 'agent_location_conflict'
  | 'node_id_mismatch'
  | 'node_not_found'
  | 'invocation_not_found'
  | 'action_name_conflict';

/** Why a frame was not written to a socket (rule 9). */
export type SendReason =
  | 'no_provider'
  | 'unbound'
  | 'stale'
  | 'not_open'
  | 'not_ready'
  | 'replaying'
  | 'behind'
  | 'window';

export type SendResult = { readonly delivered: true } | { readonly delivered: false; readonly reason: SendReason };

/** Close codes of the server, with the reason that goes with each. */
export const closeCodes = {
  superseded: 1000,
  overloaded: 1008,
  too_big: 1009,
  shutting_down: 1012,
  reaped: 4001,
} as const;
