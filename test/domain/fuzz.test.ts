/**
 * Every decoder of what comes from outside answers, whatever it is given: it never throws, and what it takes for good is well
 * formed. FUZZ_RUNS inputs each (`npm run fuzz` for a million in all); the seed is printed by a failure.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCopy, readEnvelope } from '../../src/domain/copy.ts';
import { readEntry } from '../../src/domain/entry.ts';
import { readJson, readPost, shaped } from '../../src/domain/message.ts';
import { isChannel, memberKey, readMember } from '../../src/domain/names.ts';
import { adminOps, deliveryOps, readRequest, replySchema } from '../../src/domain/rail.ts';
import { laneMarkSchema, leaseRowSchema, memberRowSchema, readAcl } from '../../src/domain/rows.ts';
import { chatSubject, copySubject, entrySubject, readMemberRowKey } from '../../src/domain/subjects.ts';

const numRuns = Number(process.env.FUZZ_RUNS ?? 300);
const member = { owner: 'local', actor: 'bob', uid: 'b'.repeat(26) };
const encoder = new TextEncoder();

/** What a post, an entry and a copy look like, with any field missing, of another kind, or strange. */
const strange = fc.oneof(
  fc.jsonValue(),
  fc.string({ unit: 'binary' }),
  fc.constant(undefined),
  fc.integer(),
  fc.constant(''),
);
const fields = (names: readonly string[]) =>
  fc.record(Object.fromEntries(names.map((name) => [name, strange])), { requiredKeys: [] });
const post = fc.oneof(
  fields(['id', 'ts', 'space', 'from', 'channel', 'mentions', 'parts']),
  fc.record({
    id: fc.string(),
    ts: fc.integer(),
    space: fc.constant('main'),
    from: fc.record({ id: fc.constantFrom('local.alice', 'local.bob'), name: fc.string() }),
    channel: fc.constantFrom('ops', 'ops.night', '*', ''),
    parts: fc.array(fc.oneof(fc.record({ kind: fc.constant('text'), text: fc.string() }), strange)),
  }),
);
const body = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc
    .oneof(
      strange,
      post,
      fc.record({ msg: post, channel: strange, seq: strange, reason: strange, generation: strange }),
      fc.record({ version: fc.constant(1), channel: fc.constant('ops'), msg: post, seq: strange, generation: strange }),
    )
    .map((value) => encoder.encode(JSON.stringify(value) ?? '')),
);
const subject = fc.oneof(
  fc.constantFrom(
    chatSubject('main', 'local.alice', 'ops'),
    entrySubject('main', member, 'ops'),
    copySubject('main', member, 'ops'),
  ),
  fc.string(),
  fc
    .array(fc.constantFrom('cotal', 'main', 'chat', 'dinbox', 'dlv', 'local', 'bob', member.uid, '*', '>', ''), {
      maxLength: 9,
    })
    .map((parts) => parts.join('.')),
);
const header = fc.dictionary(
  fc.constantFrom('Cotal-Delivery-Frame', 'Plane3-Entry', 'Plane3-Writer'),
  fc.oneof(fc.string(), fc.constant('1')),
);

const always = <T>(arbitrary: fc.Arbitrary<T>, holds: (value: T) => void): void =>
  fc.assert(fc.property(arbitrary, holds), { numRuns });

describe('whatever comes from outside', () => {
  it('a post is a post of its subject, or poison with a reason', () => {
    always(fc.tuple(subject, body), ([on, data]) => {
      const read = readPost('main', on, data);
      if (read.kind === 'poison') {
        expect(read.why).not.toBe('');
        return;
      }
      expect(isChannel(read.channel)).toBe(true);
      expect(read.message.from.id).toBe(read.principal);
    });
  });

  it('an entry or a copy is one of a member, or foreign with a reason', () => {
    always(fc.tuple(subject, header, body), ([on, headers, data]) => {
      const lookup = (name: string) => headers[name] ?? '';
      for (const read of [
        readEntry('main', on, lookup, data),
        readEnvelope('main', on, lookup, data),
        readCopy('main', on, lookup, data),
      ]) {
        if (read.kind === 'foreign') expect(read.why).not.toBe('');
        else expect(readMember(memberKey(read.member))).toEqual(read.member);
      }
    });
  });

  it('a row is read or not, and one that is not is never taken for an empty grant', () => {
    always(body, (data) => {
      const acl = readAcl(data);
      if (acl.kind === 'grant') expect(acl.allow.every((pattern) => pattern !== '')).toBe(true);
      for (const schema of [memberRowSchema, leaseRowSchema, laneMarkSchema, replySchema])
        shaped<unknown>(schema, readJson(data));
    });
  });

  it('a request on a rail is one of its operations, or refused by name', () => {
    const asked = fc.record(
      {
        op: fc.oneof(fc.constantFrom(...Object.keys({ ...deliveryOps, ...adminOps })), fc.string()),
        args: strange,
        from: strange,
      },
      { requiredKeys: [] },
    );
    always(
      fc.tuple(fc.constantFrom('delivery' as const, 'delivery-admin' as const), fc.oneof(asked, strange)),
      ([rail, request]) => {
        expect(readRequest(rail, 'local.bob', request).kind).toMatch(/./);
      },
    );
  });

  it('a key of a member row names a channel and a member, or nothing', () => {
    always(
      fc.oneof(
        fc.string(),
        fc.constant(`ops/${memberKey(member)}`),
        fc.string().map((text) => `${text}/${memberKey(member)}`),
      ),
      (key) => {
        const place = readMemberRowKey(key);
        if (place !== undefined)
          expect([isChannel(place.channel), `${place.channel}/${memberKey(place.member)}`]).toEqual([true, key]);
      },
    );
  });
});
