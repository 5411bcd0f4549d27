import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { madeOfMetrics } from '../../scripts/metrics.ts';
import { type MetricEntry, metricOf, metrics } from '../../src/domain/metrics.ts';

/** What Grafana's dashboard JSON (schema version 39, timeseries panels on Prometheus) has of what we write. */
const cell = z.number().int().min(0);
const board = z.strictObject({
  title: z.string().min(1),
  uid: z.string().regex(/^[\w-]{1,40}$/),
  schemaVersion: z.literal(39),
  refresh: z.string().regex(/^\d+[smh]$/),
  time: z.strictObject({ from: z.string().regex(/^now-\d+[smhd]$/), to: z.literal('now') }),
  templating: z.strictObject({
    list: z.tuple([
      z.strictObject({ name: z.literal('datasource'), type: z.literal('datasource'), query: z.literal('prometheus') }),
    ]),
  }),
  panels: z
    .array(
      z.strictObject({
        id: z.number().int().positive(),
        title: z.string().min(1),
        type: z.literal('timeseries'),
        // The variable of the list above.
        datasource: z.strictObject({ type: z.literal('prometheus'), uid: z.literal(`$${'{datasource}'}`) }),
        gridPos: z.strictObject({ x: cell, y: cell, w: cell.min(1).max(24), h: cell.min(1) }),
        fieldConfig: z.strictObject({
          // Ids of Grafana's value formats that are used here.
          defaults: z.strictObject({
            unit: z.enum(['short', 's', 'ops', 'bytes', 'percentunit', 'bool']),
            min: z.number(),
          }),
          overrides: z.tuple([]),
        }),
        targets: z
          .array(
            z.strictObject({
              refId: z.string().regex(/^[A-Z]$/),
              expr: z.string().min(1),
              legendFormat: z.string().min(1),
            }),
          )
          .min(1),
      }),
    )
    .min(1),
});
const readBoard = () =>
  board.parse(JSON.parse(readFileSync(new URL('../../deploy/grafana.json', import.meta.url), 'utf8')));

describe('what is made from the catalogue of metrics', () => {
  it.each(madeOfMetrics)('%s is up to date (npm run metrics)', (file, make) => {
    expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toBe(make());
  });

  it('is a dashboard as Grafana reads one: every panel, target and place is of the kind it takes, and nothing else', () => {
    const { panels } = readBoard();
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    for (const { title, targets, gridPos } of panels) {
      expect(new Set(targets.map(({ refId }) => refId)).size, title).toBe(targets.length);
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
    }
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, n) => `${x + (n % w)},${y + Math.floor(n / w)}`),
    );
    expect(new Set(cells).size, 'panels lie on each other').toBe(cells.length);
  });

  it('asks in each query for one metric of the catalogue, by labels that it has, as a rate where it only grows', () => {
    const targets = readBoard().panels.flatMap((panel) => panel.targets);
    const asked = targets.map(({ expr, legendFormat }) => {
      const [, labels = '', rate, counted, gauge] =
        /^sum(?: by \(([\w, ]+)\))? \((?:(rate)\((\w+)\[\$__rate_interval\]\)|(\w+))\)$/.exec(expr) ?? [];
      const name = counted ?? gauge ?? '';
      const entry = Object.entries<MetricEntry>(metrics).find(([known]) => known === name)?.[1];
      expect(entry, `${expr}: "${name}" is no metric of the catalogue`).toBeDefined();
      expect(rate === 'rate', expr).toBe(entry?.kind === 'counter');
      const by = labels.split(', ').filter((label) => label !== '');
      expect(by, expr).toEqual(entry?.labels ?? []);
      const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
      expect(shown, legendFormat).toEqual(by);
      return name;
    });
    expect([...asked].sort()).toEqual(Object.keys(metrics).sort());
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
