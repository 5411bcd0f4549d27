import type { Member } from './names.ts';

/** The credential profiles of a mesh: who needs one, for how long it is good, and which account signs it. */

export const PROFILES = [
  'delivery',
  'agent',
  'manager',
  'serve',
  'operator',
  'session',
  'observer',
  'evictor',
  'claims',
  'health',
  'provisioner',
  'scheduler',
] as const;
export type ProfileName = (typeof PROFILES)[number];

/** What a credential is asked for: the profile with the facts that its rights depend on. */
export type Profile =
  | { readonly profile: 'delivery' | 'provisioner' | 'scheduler'; readonly space: string }
  | {
      /** `serve`: answers the rail of the manager. `operator`: asks it. `session`: the serving holder of an attach session. */
      readonly profile: 'manager' | 'serve' | 'operator' | 'session';
      readonly space: string;
      readonly principal: string;
    }
  | {
      readonly profile: 'agent';
      readonly space: string;
      readonly member: Member;
      /** Patterns it may subscribe to and read. */
      readonly read: readonly string[];
      /** Patterns it may post to. */
      readonly post: readonly string[];
    }
  /** `account`: public key of the account whose connections it may list. */
  | { readonly profile: 'observer'; readonly account: string }
  | { readonly profile: 'evictor' | 'claims' | 'health' };

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;

/**
 * Life of a credential in seconds. An agent's has no end of its own: its lifecycle ends by retirement, which revokes the
 * key. The provisioner's, the scheduler's, the claims user's and the one that asks for health are made for one command.
 */
export const LIFE_S: Readonly<Record<ProfileName, number | undefined>> = {
  delivery: DAY_S,
  manager: DAY_S,
  serve: DAY_S,
  operator: 600,
  session: DAY_S,
  agent: undefined,
  observer: 30 * DAY_S,
  evictor: 30 * DAY_S,
  claims: 60,
  health: 60,
  provisioner: 600,
  scheduler: 600,
};

/** Profiles whose users live in the system account. */
export const isSystemProfile = (profile: ProfileName): boolean =>
  profile === 'observer' || profile === 'evictor' || profile === 'claims' || profile === 'health';
