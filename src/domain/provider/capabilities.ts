/** Capabilities: what a register advertises, and what of it is accepted. Every advertised one gets an answer. */
import type { AdvertisedCapability } from './frames.ts';
import type { AcceptedCapability } from './server-frames.ts';

/** Cursors and agent-scoped readiness. */
export const CURSOR_CAPABILITY = 'relay:delivery-cursor-v1';
/** Heartbeats list their agents. */
export const LIVE_AGENTS_CAPABILITY = 'relay:live-agents:v1';
/** Ours: `retry_after_ms` as a key of its own on a conflict. */
export const GUIDANCE_CAPABILITY = 'relay:retry-guidance-v1';

const known: readonly string[] = [CURSOR_CAPABILITY, LIVE_AGENTS_CAPABILITY, GUIDANCE_CAPABILITY];

export const isProtocolCapability = (name: string): boolean => name.startsWith('relay:');

export interface CapabilityVerdicts {
  readonly accepted: readonly AcceptedCapability[];
  /** The accepted ones that are actions, each name once. */
  readonly actions: readonly AdvertisedCapability[];
}

/**
 * @param taken names of actions that another provider of the node serves now
 * @param named whether the register has a `provider` key: an old peer gets no cursor capability
 */
export function judgeCapabilities(
  advertised: readonly AdvertisedCapability[],
  { taken, named }: { taken: ReadonlySet<string>; named: boolean },
): CapabilityVerdicts {
  const actions = new Map<string, AdvertisedCapability>();
  const accepted = advertised.map((capability): AcceptedCapability => {
    const protocol = isProtocolCapability(capability.name);
    const entry = { name: capability.name, kind: capability.kind ?? (protocol ? 'protocol' : 'action') };
    const reason = protocol ? protocolFault(capability.name, named) : actionFault(capability.name, taken, actions);
    if (reason !== undefined) return { ...entry, accepted: false, reason };
    if (!protocol) actions.set(capability.name, capability);
    return { ...entry, accepted: true };
  });
  return { accepted, actions: [...actions.values()] };
}

function protocolFault(name: string, named: boolean): string | undefined {
  if (!known.includes(name)) return 'unknown_capability';
  return name === CURSOR_CAPABILITY && !named ? 'needs_provider' : undefined;
}

const actionFault = (name: string, taken: ReadonlySet<string>, mine: ReadonlyMap<string, unknown>) =>
  taken.has(name) || mine.has(name) ? 'action_name_conflict' : undefined;

export const advertises = (advertised: readonly AdvertisedCapability[], name: string): boolean =>
  advertised.some((capability) => capability.name === name);
