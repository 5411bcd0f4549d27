import { describe, expect, it } from 'vitest';
import { MANAGER_TTL_MS } from '../../src/domain/layout.ts';
import { leaseFact } from '../../src/launch/lease-fact.ts';
import { readHealth } from '../../src/services/nats/store-health.ts';

/** As nats-server 2.14.0 and 2.15.1 answer. */
const error = {
  type: 'STREAM',
  account: 'A',
  stream: 'CHAT_main',
  error:
    "JetStream stream 'A > CHAT_main' write error: write /s/jetstream/A/streams/CHAT_main/msgs/1.blk: no space left on device",
};
const reply = (data: object, server: object = {}) => ({ server: { ver: '2.14.0', ...server }, data });
const OK = { status: 'ok', status_code: 200 };

describe('the health of a store', () => {
  it('is good when a server that would tell says so', () => {
    expect(readHealth(reply(OK))).toEqual({ kind: 'told', stopped: [] });
  });

  it('names each stream that was stopped with the word of the system, on a server that need not tell too', () => {
    const stopped = [{ store: 'CHAT_main', why: 'no space left on device' }];
    for (const server of [{}, { cluster: 'c' }, { ver: '2.12.0' }]) {
      expect(readHealth(reply({ status: 'error', errors: [error] }, server))).toEqual({ kind: 'told', stopped });
    }
  });

  it.each([
    ['a server that is not known to tell', reply(OK, { ver: '2.13.9' })],
    ['one of a cluster, which answers for itself alone', reply(OK, { cluster: 'c' })],
    [
      'an account that has no store yet',
      reply({ status: 'error', errors: [{ type: 'ACCOUNT', account: 'A', error: 'JetStream account "A" not found' }] }),
    ],
    ['trouble that is no stream’s', reply({ status: 'unavailable', error: 'JetStream is not current' })],
    ['an answer of another shape', { error: { code: 400 } }],
    ['no answer', undefined],
  ])('is unknown, and not good, after %s', (_, answer) => {
    expect(readHealth(answer).kind).toBe('unknown');
  });
});

describe('the fact of a lease', () => {
  const held = (ageMs: number) =>
    ({ kind: 'held', holder: 'local.manager', incarnation: 'i', ready: true, ageMs }) as const;

  it('is not good of a row that is older than its life, which a store that takes no write keeps', () => {
    expect(leaseFact('manager.lease', held(MANAGER_TTL_MS), MANAGER_TTL_MS).ok).toBe(true);
    const { ok, words } = leaseFact('manager.lease', held(MANAGER_TTL_MS + 1), MANAGER_TTL_MS);
    expect([ok, words]).toEqual([null, 'unknown: the row of local.manager was written 10 s ago, and it lives 10 s']);
  });
});
