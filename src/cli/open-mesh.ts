/**
 * The mesh from the workstation: connections with rights minted on the spot from the root's own keys, for one command, and
 * the credentials of agents that `cotal agent add` keeps.
 *
 *   <root>/.cotal/space.<key>/agents/<owner>.<actor>.creds     (0600)
 */
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/nats-core';
import { unreachable } from '../client/link.ts';
import { accountOf } from '../domain/claims.ts';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { parsePrincipal, parseToken } from '../domain/names.ts';
import type { Profile } from '../domain/profiles.ts';
import { type Credential, readCreds } from '../services/credential.ts';
import { type OperatorKeys, operatorKeys, type SpaceKeys, spaceKeys } from '../services/local/auth-store.ts';
import { readIfThere } from '../services/local/files.ts';
import { credsPath, mint } from '../services/local/mint.ts';
import { connectOnce } from '../services/nats/connect.ts';
import { type BrokerAddress, brokerOf, type Place } from './place.ts';

/** Principal of the command line towards the rails of managers. */
export const CLI_PRINCIPAL = 'local.cli';
/** Longest that one command needs a credential of its own, seconds. */
const COMMAND_LIFE_S = 600;

export interface MeshKeys {
  readonly operator: OperatorKeys;
  readonly space: SpaceKeys;
}

/** @throws Plane3Error `auth.missing` where the root has no keys of this space. */
export async function keysOf({ root, space }: Place): Promise<MeshKeys> {
  const [operator, keys] = await Promise.all([
    operatorKeys({ root, create: false }),
    spaceKeys({ root, space, create: false }),
  ]);
  return { operator, space: keys };
}

export type MintedProfile = 'manager' | 'operator' | 'provisioner' | 'observer' | 'scheduler';

export interface Opened {
  readonly connection: NatsConnection;
  readonly keys: MeshKeys;
  /** The credential that was minted for this. */
  readonly credential: Credential;
  readonly address: BrokerAddress;
}

/**
 * Does a piece of work over a connection with the rights of this profile, which is closed afterwards.
 * @throws Plane3Error `broker.unreachable` naming the address and why.
 */
export async function withRights<T>(
  place: Place,
  profile: MintedProfile,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  const address = brokerOf(place);
  if (isOpen(address)) throw new Plane3Error('mesh.open', { space: place.space });
  const keys = await keysOf(place);
  const credential = await mint(keys, {
    profile: profileOf(profile, place, keys),
    name: CLI_PRINCIPAL,
    lifeS: COMMAND_LIFE_S,
  });
  const connection = await dial(address, credential);
  try {
    return await work({ connection, keys, credential, address });
  } finally {
    await connection.close();
  }
}

function profileOf(profile: MintedProfile, { space }: Place, keys: MeshKeys): Profile {
  switch (profile) {
    case 'manager':
    case 'operator':
      return { profile, space, principal: CLI_PRINCIPAL };
    case 'provisioner':
    case 'scheduler':
      return { profile, space };
    case 'observer':
      return { profile, account: keys.space.account.publicKey };
  }
}

async function dial({ url, tls }: BrokerAddress, credential: Credential): Promise<NatsConnection> {
  try {
    return await connectOnce({ url, name: 'cotal', credential, ...(tls === undefined ? {} : { tls }) });
  } catch (error) {
    throw unreachable(url, error);
  }
}

/** Whether the mesh is known to be an open one: no accounts, no credentials, live only. */
export const isOpen = ({ record }: BrokerAddress): boolean => record !== undefined && record.accountKey === undefined;

/** The actor of `NAME` or of a principal. */
export const actorNamed = (name: string): string => principalNamed(name).split('.')[1] ?? name;

/** `NAME` stands for `local.NAME`; a principal is taken as it is. */
export const principalNamed = (name: string): string =>
  name.includes('.') ? parsePrincipal(name) : `local.${parseToken(name)}`;

/** Where the credential of an agent lies. */
export const agentCredsPath = ({ root, space }: Place, principal: string): string =>
  credsPath(root, space, join('agents', principal));

/**
 * The creds text of an agent that was added on this root.
 * @throws Plane3Error `agent.no-credential`, `credential.unreadable`, `place.other-account` for one of another mesh.
 */
export function agentCreds(place: Place, name: string, address: BrokerAddress): string {
  const path = agentCredsPath(place, principalNamed(name));
  const text = readIfThere(path);
  if (text === undefined) throw new Plane3Error('agent.no-credential', { name, path });
  const account = accountOf(readCreds(text, path).claims);
  const recorded = address.record?.accountKey;
  if (recorded !== undefined && recorded !== account) {
    throw new Plane3Error('place.other-account', { path, account, space: place.space, recorded });
  }
  return text;
}
