/**
 * What happens in a run, and when: a list of steps, drawn from a seed, or read from a script. The same seed gives the same
 * steps; what follows from them on real processes differs from run to run.
 */
import { z } from 'zod';
import { Random } from './random.ts';

export const DURABLE_CHANNELS = ['ops', 'ops.night', 'dev'] as const;
export const LIVE_CHANNEL = 'lobby';

const at = z.int().min(0);
const agent = z.string().regex(/^[a-z]+\d*$/);
const forMs = z.int().min(0);
const target = z.string();

export const stepSchema = z.discriminatedUnion('do', [
  z.object({ at, do: z.literal('post'), agent, channel: z.string(), id: z.string(), mentions: z.array(z.string()) }),
  z.object({ at, do: z.literal('join'), agent, channel: z.string() }),
  z.object({ at, do: z.literal('leave'), agent, channel: z.string() }),
  z.object({ at, do: z.literal('grant'), agent, read: z.array(z.string()) }),
  z.object({ at, do: z.literal('retire'), agent }),
  /** It surfaces and does not confirm. */
  z.object({ at, do: z.literal('careless'), agent, forMs }),
  z.object({ at, do: z.literal('kill'), target, forMs }),
  z.object({ at, do: z.literal('stop'), target, forMs }),
  z.object({ at, do: z.literal('restart'), target }),
  z.object({ at, do: z.literal('freeze'), target, forMs }),
  z.object({ at, do: z.literal('cut'), target }),
  z.object({ at, do: z.literal('slow'), target, forMs, delayMs: z.int() }),
  /** Bytes are kept back, one way or both; at the end they come through, or the connection is gone with them. */
  z.object({
    at,
    do: z.literal('half-open'),
    target,
    forMs,
    ways: z.array(z.enum(['toBroker', 'toClient'])),
    end: z.enum(['release', 'drop']),
  }),
  /** The daemon runs with a credential that ends after `lifeS`, and is given a new one after `forMs`. */
  z.object({ at, do: z.literal('expire'), target, forMs, lifeS: z.int().min(1) }),
  /** The daemon runs with a credential that lacks a right. */
  z.object({
    at,
    do: z.literal('deny'),
    target,
    forMs,
    right: z.enum(['entries', 'copies', 'removal', 'memberships']),
  }),
  z.object({ at, do: z.literal('fill'), target, forMs }),
  /** The daemon's clock is wrong by this much, or jumps by it. */
  z.object({ at, do: z.literal('skew'), target, forMs, byMs: z.int() }),
  /** A server of the cluster and the others do not reach each other. */
  z.object({ at, do: z.literal('partition'), target, forMs }),
]);
export type Step = z.infer<typeof stepSchema>;
export type StepOf<D extends Step['do']> = Extract<Step, { do: D }>;
export type FaultStep = Exclude<Step, { do: 'post' | 'join' | 'leave' | 'grant' | 'retire' | 'careless' }>;

const DEEDS = ['post', 'join', 'leave', 'grant', 'retire', 'careless'] as const;
export const isFault = (step: Step): step is FaultStep => !(DEEDS as readonly string[]).includes(step.do);

export interface ScheduleOptions {
  readonly seed: number;
  readonly durationMs: number;
  readonly agents: number;
  /** Servers of the broker: 1, or a cluster. */
  readonly servers: number;
  /** Life of a lease: faults last some of these. */
  readonly leaseTtlMs: number;
}

const PATTERNS = [['>'], ['>'], ['ops', 'lobby'], ['ops', 'ops.night'], ['dev', 'lobby'], []] as const;
const STEP_GAP_MS = 150;
const FAULT_GAP_MS = 4_000;

export const agentName = (n: number): string => `agent${n}`;

/** The steps of a seed, in the order of their times. Everybody joins something first. */
export function scheduleOf(options: ScheduleOptions): Step[] {
  const random = new Random(options.seed);
  const { durationMs, agents } = options;
  const names = Array.from({ length: agents }, (_, n) => agentName(n));
  const steps: Step[] = names.flatMap((name) =>
    DURABLE_CHANNELS.filter(() => random.chance(0.7)).map(
      (channel): Step => ({ at: 0, do: 'join', agent: name, channel }),
    ),
  );
  const living = new Set(names);
  for (let at = 1_000, n = 0; at < durationMs; at += random.below(2 * STEP_GAP_MS)) {
    steps.push(deed(random, at, [...living], n++));
    const last = steps.at(-1);
    if (last?.do === 'retire') living.delete(last.agent);
  }
  for (let at = 2_000; at < durationMs; at += 500 + random.below(2 * FAULT_GAP_MS)) {
    steps.push(fault(random, at, { ...options, names }));
  }
  return steps.sort((a, b) => a.at - b.at);
}

function deed(random: Random, at: number, living: readonly string[], n: number): Step {
  const who = random.pick(living);
  const channel = random.pick(DURABLE_CHANNELS);
  const what = random.weighted([
    [30, 'post'],
    [7, 'join'],
    [5, 'leave'],
    [3, 'grant'],
    [2, 'careless'],
    [0.15, 'retire'],
  ] as const);
  switch (what) {
    case 'post': {
      const isLive = random.chance(0.15);
      const id = random.chance(0.1) ? '' : random.chance(0.05) ? 'again' : `p${n}`;
      const mentions = isLive ? [random.pick(living)] : [];
      return { at, do: 'post', agent: who, channel: isLive ? LIVE_CHANNEL : channel, id, mentions };
    }
    case 'join':
    case 'leave':
      return { at, do: what, agent: who, channel };
    case 'grant':
      return { at, do: 'grant', agent: who, read: [...random.pick(PATTERNS)] };
    case 'careless':
      return { at, do: 'careless', agent: who, forMs: 500 + random.below(6_000) };
    case 'retire':
      return living.length > 3 ? { at, do: 'retire', agent: who } : { at, do: 'careless', agent: who, forMs: 1_000 };
  }
}

function fault(random: Random, at: number, of: ScheduleOptions & { names: readonly string[] }): Step {
  const { leaseTtlMs, servers, names } = of;
  const daemon = random.chance(0.75) ? 'serving' : 'standby';
  const anyAgent = random.pick(names);
  const forMs = Math.round(leaseTtlMs * (random.chance(0.3) ? 1 + random.next() : random.next()));
  const server = servers === 1 ? 'broker' : `broker.${1 + random.below(servers)}`;
  const either = random.chance(0.6) ? daemon : anyAgent;
  const short = 200 + random.below(2_000);
  const verbs: (readonly [number, () => Step])[] = [
    [6, () => ({ at, do: 'kill', target: either, forMs: short })],
    [3, () => ({ at, do: 'stop', target: daemon, forMs: short })],
    [6, () => ({ at, do: 'freeze', target: either, forMs })],
    [4, () => ({ at, do: 'cut', target: either })],
    [3, () => ({ at, do: 'slow', target: either, forMs, delayMs: 20 + random.below(400) })],
    [
      7,
      () => ({
        at,
        do: 'half-open',
        target: either,
        forMs,
        ways: random.pick([['toBroker'], ['toClient'], ['toBroker', 'toClient']] as const).slice(),
        end: random.pick(['release', 'drop'] as const),
      }),
    ],
    [2, () => ({ at, do: 'expire', target: daemon, lifeS: 3, forMs: 6_000 })],
    [2, () => ({ at, do: 'deny', target: daemon, forMs: 4_000, right: random.pick(RIGHTS) })],
    [1, () => ({ at, do: 'fill', target: 'disk', forMs: 3_000 })],
    [
      2,
      () => ({ at, do: 'skew', target: daemon, forMs: 5_000, byMs: random.pick([-600_000, -5_000, 5_000, 600_000]) }),
    ],
    [2, () => ({ at, do: 'kill', target: server, forMs: short })],
    [2, () => ({ at, do: 'restart', target: server })],
    [1.5, () => ({ at, do: 'freeze', target: server, forMs: Math.min(forMs, leaseTtlMs) })],
    [servers === 1 ? 0 : 4, () => ({ at, do: 'partition', target: server, forMs })],
  ];
  return random.weighted(verbs)();
}

const RIGHTS = ['entries', 'copies', 'removal', 'memberships'] as const;

export const AGENTS = 6;

/** The run of a seed. */
export const scriptOf = (of: { seed: number; minutes: number; servers: number; leaseTtlMs: number }): Script => ({
  version: 1,
  found: '',
  seed: of.seed,
  agents: AGENTS,
  servers: of.servers,
  steps: scheduleOf({ ...of, durationMs: of.minutes * 60_000, agents: AGENTS }),
});

/** A run as a script: what a failing seed shrinks to, and what `--script` lives through again. */
export const scriptSchema = z.object({
  version: z.literal(1),
  /** What was found with it, in words. */
  found: z.string(),
  seed: z.int(),
  agents: z.int().min(1),
  servers: z.int().min(1),
  steps: z.array(stepSchema),
});
export type Script = z.infer<typeof scriptSchema>;
