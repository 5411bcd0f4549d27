/** The repair's SQL as a person runs it, on a real D1: each statement with its values written into it, a step in one batch. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as statements from '../../src/provider/repair/statements.ts';
import { type Statement, sql } from '../../src/provider/storage/port.ts';
import { roomy } from './support/bounds.ts';
import { Site } from './support/site.ts';
import { openWorkerd, type WorkerdStage } from './support/workerd-stage.ts';

let stage: WorkerdStage;
beforeAll(async () => {
  stage = await openWorkerd({ bounds: roomy });
});
afterAll(() => stage?.close());

const seconds = () => Math.floor(Date.now() / 1_000);
const asWritten = (parts: readonly Statement[]) =>
  stage.sql(...parts.map((part) => sql(statements.written(part).replace(/;$/, ''))));

it('finds, snapshots, applies and rolls back an agent, and what it applied is replayed', async () => {
  const site = await Site.make(stage);
  try {
    const first = await site.bound();
    // A heartbeat that is projected after `now` was taken lies in the future of the run, and is not fresh.
    first.quiet();
    const ann = await site.agent(first, 'Ann');
    await site.post('one');
    await first.delivered('Ann', [1]);
    await stage.sql(sql("UPDATE agents SET provider_name = 'default' WHERE id = ?", ann));
    const now = seconds();
    const run = { snapshot: 'snap_1', run: 'run_1', now, approvedAs: 'apply snap_1 1' };
    const [found] = await asWritten([statements.survey(now)]);
    expect(found).toMatchObject([{ agent_id: ann, cursor: 0, above: 1 }]);
    expect((await asWritten(statements.takeSnapshot(run))).at(-1)).toMatchObject([{ agent_id: ann }]);

    // The connection cannot have it yet: it is not its own.
    const before = await site.inventory(first, [{ id: ann, name: 'Ann' }]);
    expect(before.data).toMatchObject({ rejected_agents: [{ agent_id: ann }] });
    expect((await asWritten(statements.apply(run)))[1]).toEqual([{ agent_id: ann }]);
    const second = await site.bound();
    await site.inventory(second, [{ id: ann, name: 'Ann' }]);
    await second.delivered('Ann', [1]);

    const again = { ...run, run: 'run_2', now: seconds() };
    expect((await asWritten(statements.apply(again)))[1]).toEqual([]);
    const back = { ...run, run: 'run_3', approvedAs: 'rollback snap_1 1' };
    expect((await asWritten(statements.rollBack(back, false)))[1]).toEqual([{ agent_id: ann }]);
    expect(await site.rows('SELECT provider_name FROM agents WHERE id = ?', ann)).toEqual([
      { provider_name: 'default' },
    ]);
    const broken = [...statements.takeSnapshot({ ...run, snapshot: 'snap_2' }), sql('SELECT no_such_column')];
    await expect(asWritten(broken)).rejects.toThrow();
    expect(await site.rows("SELECT 1 FROM repair_snapshots WHERE snapshot_id = 'snap_2'")).toEqual([]);
  } finally {
    await site.leave();
  }
});
