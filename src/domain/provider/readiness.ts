/**
 * Readiness (rule 5): what a bound connection may receive. `unknown` before a register and after a failed one;
 * `immediate` for a peer without cursors; `agent_scoped` for one that proves each identity. A heartbeat never changes it.
 */
import { advertises, CURSOR_CAPABILITY } from './capabilities.ts';
import type { RegisterFrame } from './frames.ts';
import { DEFAULT_PROVIDER, type ProviderId } from './names.ts';

export type ReadinessMode = 'unknown' | 'immediate' | 'agent_scoped';

/** Who a register is for. Without a `provider` key it is, explicitly, `default` with the connection as its instance. */
export const providerOf = (frame: Pick<RegisterFrame, 'provider'>, connection: string): ProviderId =>
  frame.provider === undefined
    ? { name: DEFAULT_PROVIDER, instance: connection }
    : { name: frame.provider.name, instance: frame.provider.instance_id };

export const modeOf = (frame: Pick<RegisterFrame, 'provider' | 'capabilities'>): 'immediate' | 'agent_scoped' =>
  frame.provider !== undefined && advertises(frame.capabilities, CURSOR_CAPABILITY) ? 'agent_scoped' : 'immediate';

/** Whether a register keeps the ready set: the same connection with the same name, instance and mode as before. */
export const keepsReadiness = (
  before: { readonly provider: ProviderId; readonly mode: ReadinessMode } | undefined,
  after: { readonly provider: ProviderId; readonly mode: ReadinessMode },
): boolean =>
  before !== undefined &&
  before.mode === after.mode &&
  before.provider.name === after.provider.name &&
  before.provider.instance === after.provider.instance;

/** What the database says of an agent that a peer declares ready. */
export interface DeclaredAgent {
  readonly id: string;
  readonly name: string;
  readonly node: string | null;
  readonly provider: string;
  readonly released: boolean;
  readonly bound: boolean;
}

export type DeclarationFault =
  | 'agent_not_found'
  | 'agent_identity_mismatch'
  | 'agent_location_conflict'
  | 'agent_provider_conflict';

/** Why an identity cannot become ready on that provider of that node, or undefined. A `default` row is never adopted. */
export function declarationFault(
  declared: { readonly agent_id: string; readonly name: string },
  agent: DeclaredAgent | undefined,
  at: { readonly node: string; readonly provider: string },
): DeclarationFault | undefined {
  if (agent === undefined || agent.released) return 'agent_not_found';
  if (agent.name !== declared.name) return 'agent_identity_mismatch';
  if (agent.node !== at.node) return 'agent_location_conflict';
  if (agent.provider !== at.provider) return 'agent_provider_conflict';
  return agent.bound ? undefined : 'agent_location_conflict';
}
