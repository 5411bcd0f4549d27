/**
 * What is true of a mesh now. Every fact is asked for at the call, and says when. `ok` is null for what could not be asked:
 * nothing is green that did not answer.
 */
import type { NatsConnection } from '@nats-io/nats-core';
import { z } from 'zod';
import { whyStale, whyTorn } from '../domain/credential-plan.ts';
import { describeError } from '../domain/errors/catalogue.ts';
import { MANAGER_TTL_MS } from '../domain/layout.ts';
import type { MeshSettings } from '../domain/mesh-settings.ts';
import { readJson, shaped } from '../domain/message.ts';
import type { RecordedProcess } from '../domain/process-record.ts';
import type { Profile } from '../domain/profiles.ts';
import { managerSubject, railSubject, replyPrefix, streams } from '../domain/subjects.ts';
import { type OperatorKeys, operatorKeys, type SpaceKeys, spaceKeys } from '../services/local/auth-store.ts';
import { authorityPath } from '../services/local/certificates.ts';
import { credsPath, mint } from '../services/local/mint.ts';
import { isStopped, knownProcesses } from '../services/local/process-record.ts';
import { holderNow } from '../services/local/reservation.ts';
import { connectOnce } from '../services/nats/connect.ts';
import { parseDriverError } from '../services/nats/driver-errors.ts';
import { isLeaderless } from '../services/nats/leaderless.ts';
import { lookAtLease, lookAtPlane } from '../services/nats/serving-probe.ts';
import { brokerOfRoot, urlOfBroker } from './broker-of-root.ts';
import { findCredential } from './credentials.ts';
import { type Fact, type FactOptions, fact, type Opened } from './fact.ts';
import { leaseFact } from './lease-fact.ts';
import { readSettings } from './mesh.ts';
import { recordFact } from './record-fact.ts';
import { layoutFact, shortfallFacts, spaceFact, writesFact } from './store-facts.ts';

const PRINCIPAL = 'local.doctor';
const LIFE_S = 60;
const ASK_MS = 2_000;

export async function factsOf(options: FactOptions): Promise<Fact[]> {
  const { root, space } = options;
  const settings = readSettings(root);
  const running = brokerOfRoot(root);
  const recorded = recordFact({ root, space, isUp: running !== undefined });
  const facts: Fact[] = [
    running === undefined
      ? fact('broker.process', false, null, 'no nats-server of this root runs')
      : fact('broker.process', true, { pid: running.pid }, `nats-server runs (pid ${running.pid})`),
    settings === undefined
      ? fact('broker.durability', null, null, 'this root has never been up')
      : fact('broker.durability', true, settings.durability, settings.durability),
    recorded.fact,
  ];
  const url = running === undefined ? undefined : urlOfBroker(root, running.pid);
  const address = url ?? recorded.address;
  const tls = settings?.tls === true ? { caFile: authorityPath(root) } : undefined;
  const keys = settings?.mode === 'auth' ? await keysOf(root, space) : undefined;
  const opened = address === undefined ? 'it has no address' : await open({ address, tls, keys, space });
  if (typeof opened === 'string') {
    facts.push(fact('broker.answers', false, null, `the broker does not answer: ${opened}`));
  } else {
    const { version } = opened.connection.info ?? {};
    facts.push(fact('broker.answers', true, { url: address, version }, `answers at ${address} (${version ?? ''})`));
  }
  try {
    if (settings?.mode === 'open') {
      facts.push(fact('mode', true, 'open', 'open: live only, no delivery daemon'));
      return facts;
    }
    facts.push(...processFacts(options, 'delivery'));
    const canAsk = typeof opened !== 'string' && opened.publicKey !== undefined;
    if (isManaged(options, settings)) {
      const operator = () => open({ address: address ?? '', tls, keys, space, profile: 'operator' });
      facts.push(...processFacts(options, 'manager').slice(0, 1));
      facts.push(...(canAsk ? await managerFacts(options, opened, operator) : unasked(MANAGER_FACTS)));
    }
    facts.push(...(canAsk ? await planeFacts(options, opened) : unasked(PLANE_FACTS)));
    facts.push(
      await writesFact({
        options,
        account: keys?.space.account.publicKey,
        health: () => open({ address: address ?? '', tls, keys, space, profile: 'health' }),
      }),
      spaceFact(options, typeof opened === 'string' || running === undefined ? undefined : opened),
      await layoutFact({
        options,
        settings,
        provisioner: () => open({ address: address ?? '', tls, keys, space, profile: 'provisioner' }),
      }),
    );
    facts.push(...credentialFacts(options, keys));
    return facts;
  } finally {
    if (typeof opened !== 'string') await opened.connection.close();
  }
}

type Keys = { operator: OperatorKeys; space: SpaceKeys };

async function keysOf(root: string, space: string): Promise<Keys | undefined> {
  try {
    return {
      operator: await operatorKeys({ root, create: false }),
      space: await spaceKeys({ root, space, create: false }),
    };
  } catch {
    return undefined;
  }
}

async function open(of: {
  address: string;
  tls: { caFile: string } | undefined;
  keys: Keys | undefined;
  space: string;
  profile?: 'manager' | 'operator' | 'provisioner' | 'health';
}): Promise<Opened | string> {
  const { address, tls, keys, space, profile = 'manager' } = of;
  try {
    const credential =
      keys === undefined
        ? undefined
        : await mint(keys, {
            profile: profileOf(profile, space),
            name: PRINCIPAL,
            lifeS: LIFE_S,
          });
    const connection = await connectOnce({
      url: address,
      name: 'doctor',
      timeoutMs: ASK_MS,
      ...(credential === undefined ? {} : { credential }),
      ...(tls === undefined ? {} : { tls }),
    });
    return { connection, publicKey: credential?.publicKey };
  } catch (error) {
    const failure = parseDriverError(error);
    return failure.kind === 'unexpected' ? failure.message : failure.kind;
  }
}

const profileOf = (profile: 'manager' | 'operator' | 'provisioner' | 'health', space: string): Profile => {
  if (profile === 'health') return { profile };
  return profile === 'provisioner' ? { profile, space } : { profile, space, principal: PRINCIPAL };
};

/** A mesh may be run without one (--no-manager): then only one that began here, or left something here, is asked about. */
function isManaged({ root, space }: FactOptions, settings: MeshSettings | undefined): boolean {
  if (settings?.managers?.[space] === true) return true;
  const { record, starting } = knownProcesses({ root, what: 'manager', space });
  return record.kind !== 'none' || starting.length > 0;
}

function processFacts({ root, space }: FactOptions, what: RecordedProcess): Fact[] {
  const name = { root, what, space };
  const { record, starting: known } = knownProcesses(name);
  const starting = known.map(({ pid }) => pid);
  const stop = holderNow(`${root}/.cotal/up.lock`);
  const words =
    record.kind === 'running'
      ? `runs (pid ${record.pid})`
      : record.kind === 'stale'
        ? `the record is stale: ${record.reason}`
        : isStopped(name)
          ? 'was stopped with "cotal down"'
          : 'does not run';
  return [
    fact(
      `${what}.process`,
      record.kind === 'running',
      record.kind === 'running'
        ? { pid: record.pid }
        : { record: record.kind, starting, ...(record.kind === 'stale' ? { reason: record.reason } : {}) },
      starting.length === 0 ? words : `${words}; starting: ${starting.join(', ')}`,
    ),
    ...(stop === undefined
      ? []
      : [fact('up.process', true, { pid: stop.pid }, `"cotal up" is at work (pid ${stop.pid})`)]),
  ];
}

/** What only a broker that answers can tell. */
const PLANE_FACTS = [
  'delivery.lease',
  'delivery.responder',
  'delivery.rail',
  'delivery.owed',
  'delivery.shortfall',
  'delivery.discarded',
] as const;
const MANAGER_FACTS = ['manager.lease', 'manager.rail'] as const;
const unasked = (names: readonly string[]): Fact[] =>
  names.map((name) => fact(name, null, null, 'unknown: the broker could not be asked'));

async function planeFacts(options: FactOptions, { connection, publicKey = '' }: Opened): Promise<Fact[]> {
  const { space, numbers } = options;
  const plane = await lookAtPlane({ connection, publicKey, space, principal: PRINCIPAL, timeoutMs: ASK_MS });
  return [
    leaseFact('delivery.lease', plane.lease, numbers.leaseTtlMs),
    plane.responder === undefined
      ? fact('delivery.responder', plane.lease.kind === 'unknown' ? null : false, null, 'no responder answered')
      : fact('delivery.responder', plane.responder === 'bound', plane.responder, `the responder is ${plane.responder}`),
    await railFact(connection, {
      name: 'delivery.rail',
      rail: 'ctl.delivery-admin',
      subject: railSubject(space, 'delivery-admin', PRINCIPAL),
      request: { op: 'principalLiveness', args: { principal: PRINCIPAL } },
    }),
    await owedFact(connection, space),
    ...(await shortfallFacts({ connection, publicKey, space, principal: PRINCIPAL, timeoutMs: ASK_MS })),
  ];
}

/** That its process runs says little: it may be waiting for its start, in doubt of its lease, or without its rail. */
async function managerFacts(
  { space }: FactOptions,
  { connection, publicKey = '' }: Opened,
  operator: () => Promise<Opened | string>,
): Promise<Fact[]> {
  const lease = await lookAtLease({ connection, publicKey, space, timeoutMs: ASK_MS, whose: 'manager' });
  const opened = await operator();
  if (typeof opened === 'string') {
    return [leaseFact('manager.lease', lease, MANAGER_TTL_MS), fact('manager.rail', null, null, `unknown: ${opened}`)];
  }
  try {
    const subject = managerSubject(space, PRINCIPAL);
    const request = { op: 'status', args: {} };
    return [
      leaseFact('manager.lease', lease, MANAGER_TTL_MS),
      await railFact(opened.connection, { name: 'manager.rail', rail: 'ctl.manager', subject, request }),
    ];
  } finally {
    await opened.connection.close();
  }
}

/** Any reply shows that the rail is answered, a refusal too. */
async function railFact(
  connection: NatsConnection,
  { name, rail, subject, request }: { name: string; rail: string; subject: string; request: object },
): Promise<Fact> {
  const body = { ...request, from: { id: PRINCIPAL, name: PRINCIPAL.split('.')[1] } };
  try {
    const reply = `${replyPrefix(subject)}${Date.now().toString(36)}`;
    await connection.request(subject, JSON.stringify(body), { timeout: ASK_MS, noMux: true, reply });
    return fact(name, true, rail, `${rail} answers`);
  } catch (error) {
    return fact(name, false, null, `${rail} does not answer: ${parseDriverError(error).kind}`);
  }
}

const stateSchema = z.object({ state: z.object({ messages: z.number(), first_ts: z.string() }) });

async function owedFact(connection: NatsConnection, space: string): Promise<Fact> {
  try {
    const reply = await connection.request(`$JS.API.STREAM.INFO.${streams(space).inbox}`, '', { timeout: ASK_MS });
    const json = readJson(reply.data);
    if (isLeaderless(json)) return fact('delivery.owed', null, null, 'unknown: the store has no leader');
    const info = shaped(stateSchema, json);
    if (info === undefined)
      return fact('delivery.owed', null, null, 'unknown: the store gave no answer that can be read');
    const { messages, first_ts } = info.state;
    const oldestAgeMs = messages === 0 ? null : Math.max(0, Date.now() - Date.parse(first_ts));
    const words =
      oldestAgeMs === null
        ? 'nothing is owed'
        : `${messages} entries are owed, the oldest for ${Math.round(oldestAgeMs / 1000)} s`;
    return fact('delivery.owed', true, { entries: messages, oldestAgeMs }, words);
  } catch (error) {
    return fact('delivery.owed', null, null, `unknown: ${describeError(error).message}`);
  }
}

function credentialFacts({ root, space }: FactOptions, keys: Keys | undefined): Fact[] {
  const names = ['delivery', 'observer', 'evictor'] as const;
  if (keys === undefined) return names.map((name) => fact(`credential.${name}`, null, null, 'unknown: no keys here'));
  const account = keys.space.account.publicKey;
  const system = keys.operator.system.publicKey;
  const nowMs = Date.now();
  const [delivery, observer, evictor] = names.map((name) => findCredential(credsPath(root, space, name)).found);
  const missing = { kind: 'missing' } as const;
  const asked = { account, system, nowMs, least: 0 };
  const torn = whyTorn({ observer: observer ?? missing, evictor: evictor ?? missing }, asked);
  return names.map((name, n) => {
    const found = [delivery, observer, evictor][n] ?? missing;
    const own = name === 'delivery' ? whyStale(found, asked) : whyStale(found, { ...asked, account: system });
    const why = own ?? (torn?.startsWith(`${name}.creds`) === true ? torn : undefined);
    const { exp, iat } = found.kind === 'found' ? found.claims : { exp: undefined, iat: undefined };
    const value = {
      ageMs: iat === undefined ? null : nowMs - iat * 1000,
      expiresAt: exp === undefined ? null : new Date(exp * 1000).toISOString(),
    };
    return fact(
      `credential.${name}`,
      why === undefined,
      value,
      why ?? `good until ${value.expiresAt ?? 'it is revoked'}`,
    );
  });
}
