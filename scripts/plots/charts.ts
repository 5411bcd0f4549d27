/** Which charts are made of which kept results. A part that was not measured has no chart. */
import { z } from 'zod';
import type { Chart, Line } from './chart.ts';

const pointSchema = z.record(z.string(), z.number().nullable());
type Point = z.infer<typeof pointSchema>;
const curveSchema = z.looseObject({ curve: z.array(pointSchema) });

const schemas = {
  failover: z.looseObject({ takeoverMs: z.array(z.number()) }),
  soak: z.looseObject({ samples: z.array(pointSchema) }),
  scale: z.looseObject({
    members: curveSchema.optional(),
    spaces: z.array(pointSchema).optional(),
    backlog: curveSchema.optional(),
  }),
};
export type Plotted = keyof typeof schemas;
export const plotted = Object.keys(schemas) as Plotted[];

/** Charts of one result, by the name of their file. @throws ZodError where the result has another shape. */
export function chartsOf(name: Plotted, figures: unknown): Record<string, Chart> {
  switch (name) {
    case 'failover': {
      const { takeoverMs } = schemas.failover.parse(figures);
      const points = takeoverMs.map((ms, n) => [n + 1, ms / 1_000] as const);
      return {
        failover: {
          title: 'Failover: from SIGKILL until another daemon serves',
          ...{ x: 'failover', y: 'seconds', lines: [{ name: 'takeover', points }] },
        },
      };
    }
    case 'soak':
      return soak(schemas.soak.parse(figures).samples);
    case 'scale': {
      const { members, spaces, backlog } = schemas.scale.parse(figures);
      return {
        ...(members === undefined ? {} : costs('members', members.curve, 'members of the channel')),
        ...(members?.curve.some((point) => 'wakeDaemonUs' in point) === true ? wakes(members.curve) : {}),
        ...(spaces === undefined ? {} : many(spaces)),
        ...(backlog === undefined
          ? {}
          : { ...costs('pending', backlog.curve, 'entries pending'), ...starts(backlog.curve) }),
      };
    }
  }
}

const line = (points: readonly Point[], x: string, y: string, name: string): Line => ({
  name,
  points: points.map((point) => [point[x] ?? Number.NaN, point[y] ?? Number.NaN] as const),
});

function soak(samples: readonly Point[]): Record<string, Chart> {
  const over = (title: string, y: string, lines: Record<string, string>): Chart => ({
    title: `Soak: ${title}`,
    x: 'seconds of load',
    y,
    lines: Object.entries(lines).map(([key, name]) => line(samples, 'at', key, name)),
  });
  return {
    'soak-throughput': over('copies confirmed a second', 'copies a second', { copiesPerSecond: 'copies' }),
    'soak-latency': over('from post to surfaced', 'milliseconds', { p50Ms: 'p50', p99Ms: 'p99' }),
    ...(samples.some((sample) => 'syncMs' in sample)
      ? { 'soak-disk': over('one sync of the disk', 'milliseconds', { syncMs: 'sync' }) }
      : {}),
    'soak-memory': over('resident set', 'MiB', { daemonRssMiB: 'daemon', brokerRssMiB: 'nats-server' }),
    'soak-descriptors': over('open descriptors', 'descriptors', {
      daemonDescriptors: 'daemon',
      brokerDescriptors: 'nats-server',
    }),
    'soak-backlog': over('backlog', 'messages', { owed: 'owed', handedOff: 'handed off', unrouted: 'not routed' }),
  };
}

function costs(by: string, curve: readonly Point[], x: string): Record<string, Chart> {
  return {
    [`scale-${by}`]: {
      title: `What a copy costs, by ${x}`,
      ...{ x, y: 'µs of a processor', log: true },
      lines: [line(curve, by, 'daemonUs', 'daemon'), line(curve, by, 'brokerUs', 'nats-server')],
    },
  };
}

function wakes(curve: readonly Point[]): Record<string, Chart> {
  return {
    'scale-wake': {
      title: 'What a copy costs when every member is away and its lane rests',
      ...{ x: 'members of the channel', y: 'µs of a processor', log: true },
      lines: [line(curve, 'members', 'wakeDaemonUs', 'daemon'), line(curve, 'members', 'wakeBrokerUs', 'nats-server')],
    },
  };
}

function starts(curve: readonly Point[]): Record<string, Chart> {
  const shared = { x: 'entries pending', log: true };
  return {
    'scale-start': {
      title: 'From the start of a daemon until it serves, by entries pending',
      ...{ ...shared, y: 'milliseconds' },
      lines: [
        line(curve, 'pending', 'startToReadyMs', 'nothing handed off'),
        line(curve, 'pending', 'restartToReadyMs', 'windows full'),
      ],
    },
    'scale-memory': {
      title: 'Growth of memory after the start, by entries pending',
      ...{ ...shared, y: 'MiB' },
      lines: [
        line(curve, 'pending', 'rssGrowthMiB', 'nothing handed off'),
        line(curve, 'pending', 'rssGrowthAtRestartMiB', 'windows full'),
      ],
    },
  };
}

function many(curve: readonly Point[]): Record<string, Chart> {
  const x = 'spaces on one broker, a daemon each';
  return {
    'scale-spaces': {
      title: 'Copies stored a second by all of them together',
      ...{ x, y: 'copies a second' },
      lines: [line(curve, 'spaces', 'copiesPerSecond', 'copies')],
    },
    'scale-spaces-memory': {
      title: 'Resident set by spaces on one broker',
      ...{ x, y: 'MiB' },
      lines: [
        line(curve, 'spaces', 'daemonRssMiB', 'a daemon'),
        line(curve, 'spaces', 'largestDaemonRssMiB', 'the largest'),
        line(curve, 'spaces', 'brokerRssMiB', 'nats-server'),
      ],
    },
  };
}
