/** A database of before on a real D1, brought to the newest migration while the worker serves. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { roomy } from './support/bounds.ts';
import { Site } from './support/site.ts';
import { openWorkerd, type WorkerdStage } from './support/workerd-stage.ts';

const MIGRATIONS = 'src/provider/migrations';
const folder = mkdtempSync(join(tmpdir(), 'plane3-upgrade-'));
let stage: WorkerdStage;
beforeAll(async () => {
  cpSync(join(MIGRATIONS, '0001_provider_plane.sql'), join(folder, '0001_provider_plane.sql'));
  stage = await openWorkerd({ bounds: roomy }, folder);
});
afterAll(async () => {
  await stage?.close();
  rmSync(folder, { recursive: true, force: true });
});

it('keeps every row, knows each key that was used, and takes it of another sender for another post', async () => {
  const site = await Site.make(stage);
  const peer = await site.bound();
  for (const name of ['Ann', 'Bob']) await site.agent(peer, name);
  const post = async (from: string, key: string) => {
    const body = { text: `of ${from}`, from, idempotency_key: key };
    const { status, data } = await site.api('POST', '/v1/channels/general/messages', body);
    return { status, id: data?.id };
  };
  const [ann, ops] = [await post('Ann', 'k1'), await post('ops', 'k2')];
  await site.post('without a key');
  // Under the index of before, Bob cannot have a post of his own with Ann's key.
  expect((await post('Bob', 'k1')).status).not.toBe(201);
  await peer.delivered('Bob', [1, 2, 3]);
  const rows = () => site.rows('SELECT * FROM messages WHERE workspace_id = ? ORDER BY id', site.workspace);
  const before = await rows();
  expect(before).toHaveLength(3);

  cpSync(MIGRATIONS, folder, { recursive: true });
  await stage.migrate();
  expect(await rows()).toEqual(before);
  expect(await post('Ann', 'k1')).toEqual({ status: 200, id: ann.id });
  expect(await post('ops', 'k2')).toEqual({ status: 200, id: ops.id });
  expect(await post('Bob', 'k1')).toMatchObject({ status: 201 });
  expect(await post('Bob', 'k1')).toMatchObject({ status: 200 });
  expect(await rows()).toHaveLength(4);
  await site.leave();
});
