import { afterAll, beforeAll } from 'vitest';
import { sql } from '../../src/provider/storage/port.ts';
import { storageContract } from '../contract/storage.ts';
import { openWorkerd, type WorkerdStage } from './support/workerd-stage.ts';

let stage: WorkerdStage;
beforeAll(async () => {
  stage = await openWorkerd();
});
afterAll(() => stage?.close());

storageContract('D1', async () => {
  await stage.sql(sql('DELETE FROM channels'), sql('DELETE FROM workspaces'));
  return stage.storage;
});
