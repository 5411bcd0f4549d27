import { describe } from 'vitest';
import { keepsEveryContract } from './contracts.ts';
import { memoryGround } from './memory-ground.ts';

describe('over memory', () => {
  const ground = memoryGround();
  keepsEveryContract(() => ground);
});
