/** One space of a test's mesh: its credentials, its agents, connections to it. */
import type { NatsConnection } from '@nats-io/nats-core';
import type { Profile, ProfileName } from '../../src/domain/profiles.ts';
import { type AddedAgent, addAgent } from '../../src/manager/lifecycle.ts';
import type { Credential, SigningPair } from '../../src/services/credential.ts';
import type { OperatorKeys, SpaceKeys } from '../../src/services/local/auth-store.ts';
import { mint } from '../../src/services/local/mint.ts';

/** What a profile's credential may be asked to differ in. */
export interface CredentialFacts {
  readonly principal?: string;
  readonly name?: string;
  readonly lifeS?: number | null;
  /** Key to keep; a new one unless told. */
  readonly pair?: SigningPair;
  /** Account that an observer may look at; the space's own unless told. */
  readonly account?: string;
}

/** One space of a mesh. */
export interface MeshSpace {
  readonly space: string;
  /** Folder that has the `.cotal` of this mesh. */
  readonly root: string;
  readonly url: string;
  readonly keys: SpaceKeys;
  /** Pid of the running broker. */
  pid(): number;
  credsFor(profile: Exclude<ProfileName, 'agent'>, facts?: CredentialFacts): Promise<Credential>;
  /** A connection with this profile's rights or this credential; it comes back by itself, and ends with the mesh. */
  connect(who: Exclude<ProfileName, 'agent'> | Credential): Promise<NatsConnection>;
  addAgent(asked: {
    name: string;
    owner?: string;
    read?: readonly string[];
    post?: readonly string[];
  }): Promise<AddedAgent>;
}

const principalOf: Record<Exclude<ProfileName, 'agent'>, string> = {
  delivery: 'local.delivery',
  manager: 'local.manager',
  serve: 'local.serve',
  operator: 'local.operator',
  session: 'local.session_a',
  provisioner: 'local.provisioner',
  observer: 'local.observer',
  evictor: 'local.evictor',
  claims: 'local.claims',
  health: 'local.health',
  scheduler: 'local.scheduler',
};

export function spaceOf(of: {
  root: string;
  space: string;
  keys: SpaceKeys;
  operator: OperatorKeys;
  url: () => string;
  pid: () => number;
  connectAs: (credential: Credential) => Promise<NatsConnection>;
}): MeshSpace {
  const { root, space, keys, operator, connectAs } = of;
  const credsFor: MeshSpace['credsFor'] = (profile, facts = {}) => {
    const principal = facts.principal ?? principalOf[profile];
    const more = {
      ...(facts.lifeS === undefined ? {} : { lifeS: facts.lifeS }),
      ...(facts.pair === undefined ? {} : { pair: facts.pair }),
    };
    return mint(
      { operator, space: keys },
      { profile: profileOf(profile, principal, facts), name: facts.name ?? principal, ...more },
    );
  };
  const profileOf = (profile: Exclude<ProfileName, 'agent'>, principal: string, facts: CredentialFacts): Profile => {
    switch (profile) {
      case 'delivery':
      case 'provisioner':
      case 'scheduler':
        return { profile, space };
      case 'manager':
      case 'serve':
      case 'operator':
      case 'session':
        return { profile, space, principal };
      case 'observer':
        return { profile, account: facts.account ?? keys.account.publicKey };
      case 'evictor':
      case 'claims':
      case 'health':
        return { profile };
    }
  };
  const connect: MeshSpace['connect'] = async (who) => connectAs(typeof who === 'string' ? await credsFor(who) : who);
  let manager: Promise<NatsConnection> | undefined;
  return {
    space,
    root,
    keys,
    get url() {
      return of.url();
    },
    pid: of.pid,
    credsFor,
    connect,
    addAgent: async ({ name, owner, read = [], post = [] }) => {
      manager ??= connect('manager');
      return addAgent({
        connection: await manager,
        keys: { operator, space: keys },
        name,
        ...(owner === undefined ? {} : { owner }),
        read,
        post,
        by: { managerInstance: 'test', processEpoch: 1 },
      });
    },
  };
}
