import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COPY_ENTRY_HEADER, COPY_FRAME_HEADER, encodeCopy, readCopy, readEnvelope } from '../../src/domain/copy.ts';
import { encodeEntry, entryIdentity, MEMBER_HEADER, readEntry, WRITER_HEADER } from '../../src/domain/entry.ts';
import { memberKey } from '../../src/domain/names.ts';

const space = 'main';
const ann = { owner: 'local', actor: 'ann', uid: 'a'.repeat(26) };
const bob = { owner: 'local', actor: 'bob', uid: 'b'.repeat(26) };
const bytes = (value: unknown) => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
const text = (data: Uint8Array) => Buffer.from(data).toString();
const post = (more: object = {}) => ({
  id: 'm',
  ts: 1,
  space,
  from: { id: 'local.zoe', name: 'zoe' },
  channel: 'ops',
  parts: [{ kind: 'text', text: 'hello' }],
  ...more,
});
const lookup = (head: Readonly<Record<string, string>>) => (name: string) => head[name] ?? '';
const subject = `cotal.main.dinbox.${memberKey(ann)}.ops`;
const head = { [WRITER_HEADER]: 'i1', [MEMBER_HEADER]: memberKey(ann) };
const entry = { channel: 'ops', seq: 9, reason: 'durable-channel', generation: 2 } as const;

describe('an entry', () => {
  it('is read as it was encoded, with the post byte by byte as it came', () => {
    const raw =
      '{"id": "m",  "ts":1,"space":"main","from":{"id":"local.zoe","name":"z"},"channel":"ops","parts":[],"extra":"\\u00e9\\ud83d\\ude00"}';
    const read = readEntry(space, subject, lookup(head), encodeEntry(bytes(raw), entry));
    expect(read).toMatchObject({ kind: 'entry', member: ann, entry });
    expect(read.kind === 'entry' && text(read.post)).toBe(raw);
  });

  it('survives whatever a post may say, also a text that looks like an envelope', () => {
    const tail = ',"channel":"dev","seq":1,"reason":"live-mention","generation":0}';
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary' }), fc.constant(tail)),
        fc.nat(),
        fc.nat(999_999),
        (body, seq, generation) => {
          const message = bytes(post({ parts: [{ kind: 'text', text: body }] }));
          const of = { ...entry, seq, generation };
          const read = readEntry(space, subject, lookup(head), encodeEntry(message, of));
          expect(read).toMatchObject({ kind: 'entry', entry: of });
          expect(read.kind === 'entry' && text(read.post)).toBe(text(message));
        },
      ),
    );
  });

  const good = encodeEntry(bytes(post()), entry);
  it.each<[string, string, Record<string, string>, Uint8Array]>([
    ['foreign-subject', `cotal.main.dinbox.local.ann.ops`, head, good],
    ['foreign-subject', `cotal.main.dinbox.${memberKey(ann)}.a$b`, head, good],
    ['foreign-subject', `cotal.other.dinbox.${memberKey(ann)}.ops`, head, good],
    ['no-writer', subject, { [MEMBER_HEADER]: memberKey(ann) }, good],
    ['foreign-member', subject, { ...head, [MEMBER_HEADER]: memberKey(bob) }, good],
    ['foreign-member', subject, { [WRITER_HEADER]: 'i1' }, good],
    ['not-an-entry', subject, head, bytes('')],
    ['not-an-entry', subject, head, bytes('{}')],
    ['not-an-entry', subject, head, bytes('{"type":"io.nats.jetstream.api.v1.stream_info_response"}')],
    ['not-an-entry', subject, head, bytes('{"msg":{},"channel":"ops","seq":1,"reason":"other","generation":0}')],
    [
      'not-an-entry',
      subject,
      head,
      bytes('{"msg":{},"channel":"ops","seq":-1,"reason":"live-mention","generation":0}'),
    ],
    [
      'not-an-entry',
      subject,
      head,
      bytes('{"msg":{},"channel":"ops","seq":1.5,"reason":"live-mention","generation":0}'),
    ],
    ['not-json', subject, head, encodeEntry(bytes('{"half":'), entry)],
    ['not-json', subject, head, encodeEntry(new Uint8Array([0x7b, 0xff, 0x7d]), entry)],
    ['not-json', subject, head, encodeEntry(bytes('\ufeff{}'), entry)],
    ['foreign-channel', subject, head, encodeEntry(bytes(post({ channel: 'dev' })), entry)],
    ['foreign-channel', subject, head, encodeEntry(bytes(post()), { ...entry, channel: 'dev' })],
    ['foreign-channel', subject, head, encodeEntry(bytes('[]'), entry)],
    ['foreign-channel', subject, head, encodeEntry(bytes('null'), entry)],
  ])('that is forged is foreign: %s (%#)', (why, at, header, data) => {
    expect(readEntry(space, at, lookup(header), data)).toEqual({ kind: 'foreign', why });
  });

  it('of any bytes at all is read or foreign, never thrown over', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (data) =>
        ['entry', 'foreign'].includes(readEntry(space, subject, lookup(head), data).kind),
      ),
    );
  });

  it('has no identity for the empty id (FAN-01), and one of its own for each sender, channel, member and generation', () => {
    const of = { sender: 'local.zoe', channel: 'ops', id: 'm', member: ann, generation: 1 };
    expect(entryIdentity({ ...of, id: '' })).toBeUndefined();
    const others = [
      of,
      { ...of, sender: 'local.y' },
      { ...of, channel: 'dev' },
      { ...of, id: 'n' },
      { ...of, member: bob },
      { ...of, generation: 2 },
      { ...of, id: '1\nm' },
      { ...of, channel: 'ops\n1' },
    ];
    expect(new Set(others.map(entryIdentity)).size).toBe(others.length);
  });
});

describe('a copy', () => {
  const at = `cotal.main.dlv.${memberKey(ann)}.ops`;
  const header = { [COPY_FRAME_HEADER]: '1', [COPY_ENTRY_HEADER]: '5', [MEMBER_HEADER]: memberKey(ann) };
  const envelope = { channel: 'ops', seq: 9, generation: 2 };
  const good = encodeCopy(bytes(post()), envelope);

  it('is read whole by whoever surfaces it, and by its envelope on the way', () => {
    const whole = readCopy(space, at, lookup(header), good);
    expect(whole).toMatchObject({
      kind: 'copy',
      member: ann,
      entrySeq: 5,
      copy: { version: 1, seq: 9, generation: 2 },
    });
    expect(whole.kind === 'copy' && whole.copy.msg).toEqual(post());
    expect(readEnvelope(space, at, lookup(header), good)).toEqual({ kind: 'copy', member: ann, envelope, entrySeq: 5 });
  });

  it('keeps the fields of a post that nobody knows', () => {
    const read = readCopy(space, at, lookup(header), encodeCopy(bytes(post({ later: { a: 1 } })), envelope));
    expect(read.kind === 'copy' && read.copy.msg).toMatchObject({ later: { a: 1 } });
  });

  it.each<[string, string, Record<string, string>, Uint8Array]>([
    ['foreign-subject', 'cotal.main.dlv.local.x', header, good],
    ['no-writer', at, {}, good],
    ['no-writer', at, { ...header, [COPY_ENTRY_HEADER]: '0' }, good],
    ['no-writer', at, { ...header, [COPY_ENTRY_HEADER]: 'x' }, good],
    ['no-writer', at, { ...header, [COPY_FRAME_HEADER]: '2' }, good],
    ['foreign-member', at, { ...header, [MEMBER_HEADER]: memberKey(bob) }, good],
    ['not-a-copy', at, header, bytes('{}')],
  ])('that is forged is foreign: %s (%#)', (why, place, heads, data) => {
    expect(readCopy(space, place, lookup(heads), data)).toEqual({ kind: 'foreign', why });
    expect(readEnvelope(space, place, lookup(heads), data)).toEqual({ kind: 'foreign', why });
  });
});
