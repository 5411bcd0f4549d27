import { describe, expect, it } from 'vitest';
import { adminOps, deliveryOps, encodeReply, readRequest } from '../../src/domain/rail.ts';
import { isReplyOf, type RAILS } from '../../src/domain/subjects.ts';

const uid = 'u'.repeat(26);
const ask = (op: unknown, args: unknown = {}, rail: (typeof RAILS)[number] = 'delivery') =>
  readRequest(rail, 'local.ann', { op, args });
const refusal = (read: ReturnType<typeof ask>) =>
  read.kind === 'refused' ? `${read.error.code} ${read.error.message}` : read.kind;

describe('a request', () => {
  it.each<[string, object]>([
    ['durableJoin', { channel: 'ops.night' }],
    ['durableLeave', { channel: 'ops', generation: 1, lifecycleUid: uid }],
    ['listMemberships', { lifecycleUid: uid }],
    ['readHistory', { channel: 'ops' }],
    ['readHistory', { channel: 'ops', limit: 200 }],
    ['pendingCount', {}],
  ])('%s is read', (op, args) => {
    expect(ask(op, args)).toMatchObject({ kind: 'request', op, args });
  });

  it('without args is read where none are wanted', () => {
    expect(readRequest('delivery', 'local.ann', { op: 'pendingCount' })).toMatchObject({ kind: 'request' });
  });

  it.each<[string, unknown, unknown]>([
    ['a wildcard channel', 'durableJoin', { channel: 'ops.>' }],
    ['no channel', 'durableJoin', {}],
    ['a cursor of its own', 'durableJoin', { channel: 'ops', joinCursor: 5 }],
    ['a generation of 0', 'durableLeave', { channel: 'ops', generation: 0, lifecycleUid: uid }],
    ['a fractional generation', 'durableLeave', { channel: 'ops', generation: 1.5, lifecycleUid: uid }],
    ['a uid that is none', 'listMemberships', { lifecycleUid: 'x' }],
    ['a limit above 200', 'readHistory', { channel: 'ops', limit: 201 }],
    ['a limit of 0', 'readHistory', { channel: 'ops', limit: 0 }],
    ['args that are no object', 'readHistory', 'x'],
  ])('with %s is refused by name', (_what, op, args) => {
    expect(refusal(ask(op, args))).toMatch(new RegExp(`^rail\\.bad-args .*${String(op)}`));
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a list', []],
    ['an op that is no text', { op: 5, args: {} }],
  ])('whose body is %s is refused', (_what, body) => {
    expect(refusal(readRequest('delivery', 'local.ann', body))).toMatch(/^rail\.bad-args/);
  });

  it.each(['nonsense', 'constructor', '__proto__', 'toString', 'evictPrincipals'])(
    'of the unknown operation %s is refused by name',
    (op) => {
      expect(refusal(ask(op))).toMatch(/^rail\.unknown-op/);
      expect(refusal(ask(op))).toContain(op);
    },
  );

  it('of one rail is unknown on the other', () => {
    for (const op of Object.keys(deliveryOps)) {
      if (!(op in adminOps)) expect(refusal(ask(op, {}, 'delivery-admin'))).toMatch(/^rail\.unknown-op/);
    }
  });

  it('that names another sender than its subject is refused', () => {
    const body = { op: 'pendingCount', args: {}, from: { id: 'local.bob', name: 'bob' } };
    expect(refusal(readRequest('delivery', 'local.ann', body))).toMatch(/^rail\.bad-args .*local\.bob/);
    expect(readRequest('delivery', 'local.bob', body).kind).toBe('request');
  });

  it('to evict takes 1 to 256 principals', () => {
    const evict = (count: number) =>
      readRequest('delivery-admin', 'local.manager', {
        op: 'evictPrincipals',
        args: { principals: Array.from({ length: count }, (_, n) => `local.a${n}`) },
      }).kind;
    expect([0, 1, 256, 257].map(evict)).toEqual(['refused', 'request', 'request', 'refused']);
  });
});

describe('a reply', () => {
  it('that fits is encoded as it is, to the byte', () => {
    const reply = { ok: true as const, data: 'é' };
    const bytes = new TextEncoder().encode(JSON.stringify(reply));
    expect(encodeReply('x', reply, bytes.length)).toEqual(bytes);
  });

  it('that is one byte too large becomes a refusal with its size in bytes, not in characters (K2)', () => {
    const reply = { ok: true as const, data: 'é'.repeat(500) };
    const size = new TextEncoder().encode(JSON.stringify(reply)).length;
    const refused = JSON.parse(new TextDecoder().decode(encodeReply('readHistory', reply, size - 1)));
    expect(refused).toMatchObject({ ok: false, error: { code: 'rail.too-large', bytes: size, limit: size - 1 } });
    expect(refused.error.message).toContain(`${size} bytes`);
  });
});

describe('a reply subject', () => {
  const request = 'cotal.main.ctl.delivery.local.ann';
  it.each([
    [`${request}.reply.1`, true],
    [`${request}.reply.a.b`, true],
    [`${request}.reply.`, false],
    [`${request}.reply`, false],
    [`${request}x.reply.1`, false],
    ['cotal.main.ctl.delivery.local.bob.reply.1', false],
    ['cotal.main.dinbox.local.bob', false],
    ['', false],
    [undefined, false],
  ])('%s lies in the request’s own subtree: %s (K3)', (reply, inside) => {
    expect(isReplyOf(request, reply)).toBe(inside);
  });
});
