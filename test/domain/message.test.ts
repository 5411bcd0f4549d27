import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  mentionsOf,
  messageSchema,
  postMessageId,
  readJson,
  readPost,
  shaped,
  sightingKey,
} from '../../src/domain/message.ts';

const subject = 'cotal.main.chat.local.ann.ops';
const bytes = (value: unknown) => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
const post = (more: object = {}) => ({
  id: 'm',
  ts: 1,
  space: 'main',
  from: { id: 'local.ann', name: 'ann' },
  channel: 'ops',
  parts: [{ kind: 'text', text: 'hello' }],
  ...more,
});
const read = (data: Uint8Array, at = subject) => readPost('main', at, data);
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('a post', () => {
  it('is read with its sender and channel by the subject, and with fields that nobody knows', () => {
    expect(read(bytes(post({ later: [1, { a: null }] })))).toMatchObject({
      kind: 'post',
      principal: 'local.ann',
      channel: 'ops',
      message: { later: [1, { a: null }] },
    });
  });

  it.each<[string, object]>([
    ['text', { kind: 'text', text: '' }],
    ['data', { kind: 'data', data: { a: [1, 'x', null, { b: true }] } }],
    ['artifact', { kind: 'artifact', name: 'a', mediaType: 'text/plain', digest: `sha256:${'0'.repeat(64)}`, size: 0 }],
    ['an extension kind', { kind: 'com.example.thing', anything: 1 }],
  ])('may have a part of %s', (_what, part) => {
    expect(read(bytes(post({ parts: [part] }))).kind).toBe('post');
  });

  it.each<[string, string, Uint8Array]>([
    ['foreign-subject', 'another space', bytes(post())],
    ['not-json', 'nothing', bytes('')],
    ['not-json', 'half an object', bytes('{"id":')],
    ['not-json', 'a byte order mark', bytes(`\ufeff${JSON.stringify(post())}`)],
    ['not-json', 'invalid UTF-8', new Uint8Array([0x22, 0xc3, 0x28, 0x22])],
    ['not-json', 'an overlong encoding', new Uint8Array([0x22, 0xc0, 0xaf, 0x22])],
    ['not-json', 'a lone surrogate in UTF-8', new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['not-a-message', 'a text', bytes('"hello"')],
    ['not-a-message', 'null', bytes('null')],
    ['not-a-message', 'a list', bytes('[]')],
    [
      'not-a-message',
      'a reply of the broker',
      bytes({ type: 'io.nats.jetstream.api.v1.pub_ack', stream: 'X', seq: 1 }),
    ],
    ['not-a-message', 'an id that is no text', bytes(post({ id: 5 }))],
    ['not-a-message', 'no id', bytes(post({ id: undefined }))],
    ['not-a-message', 'a time before time', bytes(post({ ts: -1 }))],
    ['not-a-message', 'parts that are none', bytes(post({ parts: 'x' }))],
    ['not-a-message', 'a part of an unknown kind', bytes(post({ parts: [{ kind: 'video' }] }))],
    [
      'not-a-message',
      'a digest that is none',
      bytes(post({ parts: [{ kind: 'artifact', name: 'a', mediaType: 'b', digest: 'sha256:x', size: 1 }] })),
    ],
    ['not-a-message', 'a wildcard channel', bytes(post({ channel: 'ops.*' }))],
    ['foreign-sender', 'another sender', bytes(post({ from: { id: 'local.bob', name: 'bob' } }))],
    ['foreign-channel', 'another channel', bytes(post({ channel: 'dev' }))],
    ['foreign-space', 'another space in the body', bytes(post({ space: 'other' }))],
  ])('is poison (%s): %s', (why, what, data) => {
    expect(read(data, what === 'another space' ? 'cotal.other.chat.local.ann.ops' : subject)).toEqual({
      kind: 'poison',
      why,
    });
  });

  it('nested too deep to be looked through is poison, and throws nobody out', () => {
    const deep = `{"id":"m","ts":1,"space":"main","from":{"id":"local.ann","name":"a"},"channel":"ops","parts":[{"kind":"data","data":${nested(50_000)}}]}`;
    const outcome = read(bytes(deep));
    expect(['not-a-message', 'not-json']).toContain(outcome.kind === 'poison' ? outcome.why : outcome.kind);
    expect(read(bytes(post({ parts: [{ kind: 'data', data: JSON.parse(nested(50)) }] }))).kind).toBe('post');
  });

  it('of any bytes at all is a post or poison, never thrown over', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (data) => ['post', 'poison'].includes(read(data).kind)));
    fc.assert(fc.property(fc.json(), (json) => ['post', 'poison'].includes(read(bytes(json)).kind)));
  });
});

describe('the names that a post mentions', () => {
  it('are trimmed, lower-cased, each once, none empty', () => {
    const message = messageSchema.parse(post({ mentions: [' Ann', 'ANN ', '', '  ', 'bob'] }));
    expect(mentionsOf(message)).toEqual(['ann', 'bob']);
    expect(mentionsOf(messageSchema.parse(post()))).toEqual([]);
  });
});

describe('the ids of a post', () => {
  it('suppress nothing when empty', () => {
    const message = messageSchema.parse(post({ id: '' }));
    expect([sightingKey(message), postMessageId(message)]).toEqual([undefined, undefined]);
  });
  it('are told apart by sender and channel', () => {
    const of = (more: object) => messageSchema.parse(post(more));
    const all = [of({}), of({ channel: 'dev' }), of({ from: { id: 'local.bob', name: 'b' } }), of({ id: 'n' })];
    expect(new Set(all.map(sightingKey)).size).toBe(4);
    expect(new Set(all.map(postMessageId)).size).toBe(4);
  });
});

describe('JSON', () => {
  it('that is none is undefined, and a value of another shape too', () => {
    expect(readJson(bytes('{'))).toBeUndefined();
    expect(readJson(bytes('5'))).toBe(5);
    expect(shaped(messageSchema, { id: 1 })).toBeUndefined();
  });
});
