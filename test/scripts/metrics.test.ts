import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { madeOfMetrics } from '../../scripts/metrics.ts';
import { metricOf, metrics } from '../../src/domain/metrics.ts';

describe('what is made from the catalogue of metrics', () => {
  it.each(madeOfMetrics)('%s is up to date (npm run metrics)', (file, make) => {
    expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toBe(make());
  });

  it('has each metric in the dashboard, and no other', () => {
    const board = JSON.parse(readFileSync(new URL('../../deploy/grafana.json', import.meta.url), 'utf8')) as {
      panels: { targets: { expr: string }[] }[];
    };
    const asked = board.panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => expr.match(/plane3_\w+/g) ?? []));
    expect(new Set(asked)).toEqual(new Set(Object.keys(metrics)));
  });

  it('finds the metric of each count of the tally; one that nobody has named is not lost', () => {
    expect(metricOf('posts.settled')).toEqual({ name: 'plane3_posts_total', labels: {} });
    expect(metricOf('copies.refused{10077}')).toEqual({
      name: 'plane3_copies_refused_total',
      labels: { code: '10077' },
    });
    expect(metricOf('novel{x}')).toEqual({ name: 'plane3_other_total', labels: { name: 'novel{x}' } });
  });
});
