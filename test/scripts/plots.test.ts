import { expect, it } from 'vitest';
import { svgOf } from '../../scripts/plots/chart.ts';
import { chartsOf } from '../../scripts/plots/charts.ts';

const chart = { title: 'a < b', x: 'members', y: 'µs', log: true };
const polylines = (svg: string) =>
  [...svg.matchAll(/<polyline points="([^"]*)"/g)].map(([, points = '']) =>
    points.split(' ').map((point) => point.split(',').map(Number)),
  );

it('a chart has a line for each name, with every known point of it inside the frame, and its title escaped', () => {
  const lines = [
    {
      name: 'daemon',
      points: [
        [0, 30],
        [10, 60],
        [10_000, 45],
      ] as const,
    },
    {
      name: 'nats-server',
      points: [
        [0, 10],
        [10, Number.NaN],
        [10_000, 20],
      ] as const,
    },
  ];
  const svg = svgOf({ ...chart, lines });
  expect(svg).toContain('a &lt; b');
  const [daemon = [], server = []] = polylines(svg);
  expect([daemon.length, server.length]).toEqual([3, 2]);
  for (const [x = -1, y = -1] of [...daemon, ...server]) {
    expect(x).toBeGreaterThanOrEqual(64);
    expect(x).toBeLessThanOrEqual(624);
    expect(y).toBeGreaterThanOrEqual(46);
    expect(y).toBeLessThanOrEqual(216);
  }
  // Larger is higher, and the axis begins at nothing: 60 stands twice as far above the ground as 30.
  const above = ([, y = 0]: number[] = []) => 216 - y;
  expect(above(daemon[1]) / above(daemon[0])).toBeCloseTo(2, 1);
});

it('results are drawn part by part; a part that was not measured has no chart, one of another shape is refused', () => {
  const curve = [{ members: 10, daemonUs: 30, brokerUs: 20 }];
  expect(Object.keys(chartsOf('scale', { members: { curve } }))).toEqual(['scale-members']);
  const woken = curve.map((point) => ({ ...point, wakeDaemonUs: 2_000, wakeBrokerUs: 800 }));
  expect(Object.keys(chartsOf('scale', { members: { curve: woken } }))).toEqual(['scale-members', 'scale-wake']);
  expect(Object.keys(chartsOf('scale', {}))).toEqual([]);
  expect(Object.keys(chartsOf('soak', { samples: [{ at: 10, p99Ms: null }] }))).toHaveLength(5);
  expect(Object.keys(chartsOf('soak', { samples: [{ at: 10, syncMs: 1 }] }))).toContain('soak-disk');
  expect(() => chartsOf('soak', { samples: 'none' })).toThrow();
});
