import { describe, expect, it } from 'vitest';
import { judgeArrival } from '../../../src/domain/provider/arrival.ts';

const frameBytes = 1024 * 1024;
const judge = (data: unknown, bound = true) => judgeArrival({ data, bound, frameBytes });
const register = {
  v: 1,
  type: 'node.register',
  id: 'r1',
  name: 'n',
  node_id: 'node_1',
  provider: { name: 'broker', instance_id: 'i1' },
  capabilities: [{ name: 'relay:delivery-cursor-v1' }],
  max_agents: 10,
  tags: [],
  version: '6.3.0',
};
const heartbeat = { v: 1, type: 'node.heartbeat', active_agents: 0, handlers_live: true };

describe('arrival', () => {
  it.each([
    ['binary', new Uint8Array(3)],
    ['not JSON', '{'],
    ['an array', '[]'],
    ['null', 'null'],
    ['a number', '7'],
    ['no type', '{"v":1}'],
    ['a type that is no string', '{"v":1,"type":5}'],
    ['version 2', JSON.stringify({ ...heartbeat, v: 2 })],
    ['version "1"', JSON.stringify({ ...heartbeat, v: '1' })],
    ['ten thousand open brackets', '['.repeat(10_000)],
  ])('refuses %s as no message, bound or not', (_, data) => {
    for (const bound of [true, false]) expect(judge(data, bound)).toMatchObject({ code: 'invalid_message' });
  });

  it('refuses everything but node.register on an unbound socket, whatever else is wrong with it', () => {
    for (const frame of [heartbeat, { v: 1, type: 'agent.register', x: null }, { v: 1, type: 'nonsense', id: 'q' }])
      expect(judge(JSON.stringify(frame), false)).toMatchObject({ code: 'provider_not_registered' });
    expect(judge(JSON.stringify(register), false)).toMatchObject({ outcome: 'accepted' });
  });

  it.each([
    ['an unknown key', { ...register, colour: 'red' }],
    ['a null provider', { ...register, provider: null }],
    ['a missing instance', { ...register, provider: { name: 'broker' } }],
    ['a huge number', { ...register, max_agents: 1e300 }],
    ['a fraction', { ...register, max_agents: 1.5 }],
    ['a name of 129 bytes', { ...register, name: `${'ä'.repeat(64)}a` }],
    ['a control character', { ...register, name: 'a\u0000b' }],
    ['a lone surrogate', { ...register, name: '\ud800' }],
    ['an unknown type', { v: 1, type: 'toString', id: 'r1' }],
    ['a negative ack', { v: 1, type: 'delivery.ack', id: 'r1', agent: 'a', up_to_seq: -1 }],
    ['an ack past whole numbers', { v: 1, type: 'delivery.ack', id: 'r1', agent: 'a', up_to_seq: 2 ** 53 }],
    ['a result with both ends', { v: 1, type: 'action.result', id: 'r1', invocation_id: 'x', output: 1, error: 'e' }],
    ['a result with neither end', { v: 1, type: 'action.result', id: 'r1', invocation_id: 'x' }],
  ])('refuses %s by schema, with the id of the request', (_, frame) => {
    expect(judge(JSON.stringify(frame))).toMatchObject({ outcome: 'refused', id: 'r1', code: 'invalid_message' });
  });

  it('never repeats an id that is no id', () => {
    for (const id of [7, null, '', 'x'.repeat(129)])
      expect(judge(JSON.stringify({ v: 1, type: 'node.heartbeat', id }), false)).toMatchObject({ id: undefined });
  });

  it('accepts null for resume_cursor and load, and for nothing else', () => {
    expect(judge(JSON.stringify({ ...register, resume_cursor: null }))).toMatchObject({ outcome: 'accepted' });
    expect(judge(JSON.stringify({ ...heartbeat, load: null }))).toMatchObject({ outcome: 'accepted' });
    expect(judge(JSON.stringify({ ...register, machine_id: null }))).toMatchObject({ outcome: 'refused' });
  });

  it('takes a name of 128 bytes and a result of null', () => {
    expect(judge(JSON.stringify({ ...register, name: 'ä'.repeat(64) }))).toMatchObject({ outcome: 'accepted' });
    const result = { v: 1, type: 'action.result', invocation_id: 'x', output: null };
    expect(judge(JSON.stringify(result))).toMatchObject({ outcome: 'accepted' });
  });

  it('takes a frame of exactly the cap, and finds one byte more too big', () => {
    const pad = (bytes: number) => `${JSON.stringify(heartbeat)}${' '.repeat(bytes)}`;
    const exact = frameBytes - JSON.stringify(heartbeat).length;
    expect(judge(pad(exact))).toMatchObject({ outcome: 'accepted' });
    expect(judge(pad(exact + 1))).toEqual({ outcome: 'too_big' });
    expect(judge('ä'.repeat(frameBytes / 2 + 1))).toEqual({ outcome: 'too_big' });
  });
});
