/**
 * `cotal provider`: one provider of a hosted node, kept connected in the foreground. What comes for a mapped agent becomes a
 * pending entry of the member in the local space; what comes for an agent that is only named is printed, and acknowledged
 * when the system has taken it.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readNumbers } from '../domain/config.ts';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { type Member, parsePrincipal, readMember } from '../domain/names.ts';
import { parseMap } from '../domain/provider/bridge.ts';
import { readLinkNumbers } from '../domain/provider/link-numbers.ts';
import { listAgents } from '../manager/roster.ts';
import { Bridge } from '../provider/link/bridge.ts';
import type { LinkHealth } from '../provider/link/health.ts';
import { checkNames, parseBase, startHostedLink, type TokenFrom } from '../provider/link/hosted-link.ts';
import type { Deliveries, Delivery } from '../provider/link/ports.ts';
import { onceResolved } from '../services/bind-name-wait.ts';
import { systemClock } from '../services/local/clock.ts';
import { writeAtomic } from '../services/local/files.ts';
import { mint } from '../services/local/mint.ts';
import { bridgeMarks, hostedTokens } from '../services/local/provider-files.ts';
import { connectOnce } from '../services/nats/connect.ts';
import { unresolvedName } from '../services/nats/driver-errors.ts';
import { HostedEntries } from '../services/nats/hosted-entries.ts';
import type { Journal } from '../services/ports.ts';
import { Tally } from '../services/tally.ts';
import type { ExitCode } from './failure.ts';
import { list, whole } from './flags.ts';
import { type Call, type Define, examples } from './frame.ts';
import { journalOf } from './journal.ts';
import { keysOf, withRights } from './open-mesh.ts';
import { brokerOf, type Place } from './place.ts';
import { version } from './version.ts';
import { inspectFlag, inspectPort, watched } from './watching.ts';

interface Flags {
  readonly url: string;
  readonly nodeId: string;
  readonly nodeName?: string;
  readonly provider: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly map?: readonly string[];
  readonly agent?: readonly string[];
  readonly healthFile?: string;
  readonly poll: number;
  readonly inspect?: string | true;
}

const HALF_A_DAY_MS = 12 * 3_600_000;
const DAY_S = 24 * 3_600;

export const define: Define = (command, frame) => {
  command
    .requiredOption('--url <address>', 'the provider plane: ws://, wss://, http:// or https://')
    .requiredOption('--node-id <id>', 'id of the node')
    .option('--node-name <name>', 'name of the node (default: its id)')
    .option('--provider <name>', 'name of this provider at the node', 'broker')
    .option('--token <token>', 'token of the node; other processes of this machine can see it here')
    .option('--token-file <file>', 'file with the token, read for each attempt (else COTAL_NODE_TOKEN)')
    .option('--map <names>', 'hostedName=owner.actor, with commas: into the local space', list)
    .option('--agent <names>', 'further hosted agents, with commas: what comes is printed', list)
    .option('--health-file <file>', 'keeps the health of the link there, as JSON')
    .option('--poll <ms>', 'how often the bridge looks for settled entries', whole('--poll', 10), 1_000)
    .option(inspectFlag, 'open the inspector on a loopback port, a free one unless told; needs a workspace')
    .action(frame.action(async (call, flags: Flags): Promise<ExitCode> => provide(call, flags)));
  examples(
    command,
    'cotal provider --url wss://plane.example --node-id n1 --token-file ./node.token --map Ann=local.ann',
    'COTAL_WORKSPACE_KEY=… cotal provider --url ws://127.0.0.1:8787 --node-id n1 --agent Ann --json',
  );
};

async function provide(call: Call, flags: Flags): Promise<ExitCode> {
  const { url, nodeId, nodeName = nodeId, provider, map: mapped = [], agent: printed = [] } = flags;
  const base = parseBase(url);
  const numbers = readLinkNumbers(process.env);
  const map = parseMap(mapped);
  checkNames({ node: nodeId, 'node name': nodeName, provider });
  for (const name of printed) checkNames({ agent: name });
  const agents = [...new Set([...map.keys(), ...printed])];
  if (agents.length === 0) throw new Plane3Error('link.no-agents', {});
  const tokens = tokensOf(flags);
  const journal = journalOf('provider');
  const stopped = call.stopped();
  const setting = { base, nodeId, map, journal, pollMs: flags.poll };
  const bridge = map.size === 0 ? undefined : await bridgeOf(call, setting).catch(askedToStop(stopped));
  if (bridge === 'stopped') return 0;
  const print = printing(call);
  const deliveries: Deliveries = {
    take: (delivery) => (map.has(delivery.agent) ? bridge?.bridge.take(delivery) : print.take(delivery)),
  };
  const inspect = inspectPort(flags.inspect);
  const watch =
    inspect === undefined ? undefined : await watched({ ...call.place(), what: 'provider', journal, inspect });
  const link = startHostedLink({
    base,
    tokens,
    node: {
      nodeId,
      nodeName,
      provider: { name: provider, instance: randomUUID() },
      version: version(),
      maxAgents: agents.length,
    },
    agents,
    numbers,
    deliveries,
    journal,
    onHealth: healthTo(call, journal, flags.healthFile),
    ...(watch === undefined ? {} : { inspect: watch.inspect }),
  });
  stopped.addEventListener('abort', () => link.stop());
  if (stopped.aborted) link.stop();
  const ended = await link.ended;
  await bridge?.close();
  watch?.close();
  if (ended.end === 'stopped') return 0;
  call.out.remark(
    '  Give it a token that the node takes, and start it again; nothing was acknowledged that did not surface.',
  );
  return 1;
}

/** A start that was asked to stop before it was done is no failure. */
const askedToStop = (stopped: AbortSignal) => (error: unknown) => {
  if (stopped.aborted && error === stopped.reason) return 'stopped' as const;
  throw error;
};

function tokensOf({ token, tokenFile, nodeId }: Flags): TokenFrom {
  if (tokenFile !== undefined) return { kind: 'read', read: () => readText(tokenFile) };
  const given = token ?? process.env.COTAL_NODE_TOKEN ?? '';
  if (given !== '') return { kind: 'read', read: () => given };
  const workspaceKey = process.env.COTAL_WORKSPACE_KEY ?? '';
  if (workspaceKey === '') throw new Plane3Error('link.no-token', { node: nodeId });
  return { kind: 'made', workspaceKey, store: hostedTokens() };
}

/** Undefined where it cannot be read now: the link tries again. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

const printing = (call: Call): Deliveries => ({
  take(delivery: Delivery) {
    const { agent, agentId, seq, msgId, mode, payload, isRepeat } = delivery;
    const record = { agent, agentId, seq, id: msgId, mode, payload, repeat: isRepeat };
    const text = `${call.out.paint('bold', agent)} ${seq}${isRepeat ? ' (again)' : ''}  ${JSON.stringify(payload.data)}`;
    void call.out.delivered(record, text).then((taken) => {
      if (taken) delivery.confirm();
    });
  },
});

/** With --json a line for each state; the file has what is true now. One that cannot be written ends nothing. */
function healthTo(call: Call, journal: Journal, file: string | undefined): (health: LinkHealth) => void {
  let state: string | undefined;
  let written = '';
  let isTold = false;
  const keep = (path: string, health: LinkHealth): void => {
    const { counters: _, ...steady } = health;
    const text = JSON.stringify(steady);
    if (text === written) return;
    try {
      writeAtomic(path, `${JSON.stringify(health)}\n`, 0o600);
      written = text;
      isTold = false;
    } catch (error) {
      if (!isTold)
        journal.tell('link.health-unwritten', { why: error instanceof Error ? error.message : String(error) });
      isTold = true;
    }
  };
  return (health) => {
    if (file !== undefined) keep(file, health);
    if (health.state === state) return;
    state = health.state;
    if (call.out.json) call.out.answer({ health }, '');
  };
}

interface BridgeSetting {
  readonly base: URL;
  readonly nodeId: string;
  readonly map: ReadonlyMap<string, string>;
  readonly journal: Journal;
  readonly pollMs: number;
}

async function bridgeOf(call: Call, { base, nodeId, map, journal, pollMs }: BridgeSetting) {
  const place = call.place();
  const members = await onceResolved(() => membersOf(place, map), {
    clock: systemClock,
    numbers: readNumbers(process.env),
    unresolved: unresolvedName,
    tell: (facts) => journal.tell('link.nameless', facts),
    signal: call.stopped(),
  });
  const inbox = new HostedEntries({
    space: place.space,
    writer: 'provider-link',
    timeoutMs: 5_000,
    renewAfterMs: HALF_A_DAY_MS,
    dial: () => dialSpace(place),
  });
  const bridge = new Bridge({
    inbox,
    members,
    space: place.space,
    node: nodeId,
    marks: bridgeMarks({ ...place, origin: base.origin, nodeId }),
    journal,
    tally: new Tally(),
    pollMs,
  });
  return {
    bridge,
    async close() {
      await bridge.stop();
      await inbox.close();
    },
  };
}

/** The rights of the delivery profile, minted on the spot and kept in memory. */
async function dialSpace(place: Place) {
  const { url, tls } = brokerOf(place);
  const keys = await keysOf(place);
  const credential = await mint(keys, {
    profile: { profile: 'delivery', space: place.space },
    name: 'local.provider',
    lifeS: DAY_S,
  });
  const connection = await connectOnce({
    url,
    name: 'cotal provider',
    credential,
    ...(tls === undefined ? {} : { tls }),
  });
  return { connection, publicKey: credential.publicKey };
}

/** The live lifecycle of each principal. @throws Plane3Error `link.no-agent`. */
async function membersOf(place: Place, map: ReadonlyMap<string, string>): Promise<Map<string, Member>> {
  const listed = await withRights(place, 'manager', ({ connection }) => listAgents({ connection, space: place.space }));
  const members = new Map<string, Member>();
  for (const [hosted, principal] of map) {
    const found = listed.find((each) => each.principal === parsePrincipal(principal) && each.state === 'active');
    const member = readMember(`${principal}.${found?.lifecycleUid ?? ''}`);
    if (member === undefined) throw new Plane3Error('link.no-agent', { agent: principal });
    members.set(hosted, member);
  }
  return members;
}
