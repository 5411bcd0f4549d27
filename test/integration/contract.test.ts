import { afterAll, beforeAll, describe } from 'vitest';
import { keepsEveryContract } from '../contract/contracts.ts';
import { type NatsGround, natsGround } from './nats-ground.ts';

describe('over nats', () => {
  let ground: NatsGround;
  beforeAll(async () => {
    ground = await natsGround();
  });
  afterAll(() => ground?.dispose());
  keepsEveryContract(() => ground);
});
