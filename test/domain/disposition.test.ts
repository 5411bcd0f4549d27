import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { disposition, type MembershipState } from '../../src/domain/disposition.ts';
import type { AclState, MemberRow } from '../../src/domain/rows.ts';

const row = (more: Partial<MemberRow> = {}): MemberRow => ({
  channel: 'ops',
  owner: 'local.ann',
  lifecycleUid: 'u'.repeat(26),
  state: 'active',
  joinCursor: 10,
  generation: 2,
  writerIdentity: 't',
  updatedAt: 1,
  ...more,
});
const grant = (allow: string[] = ['>'], issued: string[] = ['>']): AclState => ({
  kind: 'grant',
  name: 'ann',
  allow,
  issued,
  revision: 1,
});
const member = (more: Partial<MemberRow> = {}): MembershipState => ({ kind: 'row', row: row(more) });
const entry = (more: Partial<{ channel: string; seq: number; generation: number }> = {}) => ({
  channel: 'ops',
  seq: 15,
  generation: 2,
  ...more,
});
const mention = entry({ generation: 0 });

const release = { kind: 'release' };
const refuse = (why: string) => ({ kind: 'refuse', why });
const unknown = { kind: 'unknown' };
const retired = { kind: 'retired' };

describe('the disposition of an entry', () => {
  it.each<[string, ReturnType<typeof entry>, AclState, MembershipState, object]>([
    ['inside its interval', entry(), grant(), member(), release],
    ['of a pending membership, inside its interval', entry(), grant(), member({ state: 'pending' }), release],
    ['at the join cursor', entry({ seq: 10 }), grant(), member(), refuse('outside-interval')],
    ['right above the join cursor', entry({ seq: 11 }), grant(), member(), release],
    [
      'at the leave cursor of a row that says active',
      entry({ seq: 20 }),
      grant(),
      member({ leaveCursor: 20 }),
      release,
    ],
    ['above the leave cursor', entry({ seq: 21 }), grant(), member({ leaveCursor: 20 }), refuse('outside-interval')],
    [
      'of a generation that left, inside its interval',
      entry(),
      grant(),
      member({ state: 'left', leaveCursor: 20 }),
      refuse('left'),
    ],
    ['of an older generation', entry({ generation: 1 }), grant(), member(), refuse('left')],
    ['of a generation that the row does not know yet', entry({ generation: 3 }), grant(), member(), unknown],
    ['without a membership', entry(), grant(), { kind: 'absent' }, refuse('no-membership')],
    ['whose membership cannot be read', entry(), grant(), { kind: 'unknown' }, unknown],
    ['that the row does not cover', entry(), grant(['dev']), member(), refuse('acl')],
    [
      'that the row covers and the credential was not issued for (RDR-14)',
      entry(),
      grant(['>'], ['dev']),
      member(),
      refuse('acl'),
    ],
    [
      'that the credential was issued for and the row does not cover',
      entry(),
      grant(['dev'], ['>']),
      member(),
      refuse('acl'),
    ],
    ['covered by no pattern', entry(), grant([]), member(), refuse('acl')],
    ['that is a mention, covered', mention, grant(), { kind: 'absent' }, release],
    ['that is a mention, covered, whatever the membership', mention, grant(), member({ state: 'left' }), release],
    ['that is a mention, not covered', mention, grant(['dev']), { kind: 'absent' }, refuse('acl')],
    ['of a retired lifecycle', entry(), { kind: 'retired' }, member(), retired],
    ['of a retired lifecycle, without anything else', mention, { kind: 'retired' }, { kind: 'unknown' }, retired],
    ['without an ACL row', entry(), { kind: 'unknown', why: 'absent' }, member(), unknown],
    ['with a deleted ACL row', entry(), { kind: 'unknown', why: 'deleted' }, member(), unknown],
    ['with an unreadable ACL row', mention, { kind: 'unknown', why: 'unreadable' }, { kind: 'absent' }, unknown],
  ])('%s', (_what, what, acl, membership, expected) => {
    expect(disposition(what, acl, membership)).toEqual(expected);
  });

  it('is a release only of what the ACL covers, in both lists, and of an open generation', () => {
    const acls = fc.oneof(
      fc.constant<AclState>({ kind: 'retired' }),
      fc.constant<AclState>({ kind: 'unknown', why: 'absent' }),
      fc
        .tuple(fc.subarray(['ops', 'dev', '>']), fc.subarray(['ops', 'dev', '>']))
        .map(([allow, issued]) => grant(allow, issued)),
    );
    const memberships = fc.oneof(
      fc.constant<MembershipState>({ kind: 'absent' }),
      fc.constant<MembershipState>({ kind: 'unknown' }),
      fc
        .record({
          state: fc.constantFrom('pending', 'active', 'left' as const),
          generation: fc.integer({ min: 1, max: 3 }),
          joinCursor: fc.nat(20),
        })
        .map((more) => member(more as Partial<MemberRow>)),
    );
    fc.assert(
      fc.property(acls, memberships, fc.nat(3), fc.nat(30), (acl, membership, generation, seq) => {
        if (disposition(entry({ generation, seq }), acl, membership).kind !== 'release') return true;
        const covered =
          acl.kind === 'grant' && [acl.allow, acl.issued].every((list) => list.includes('ops') || list.includes('>'));
        if (!covered || generation === 0) return covered;
        if (membership.kind !== 'row') return false;
        const { row: found } = membership;
        return found.state !== 'left' && found.generation === generation && found.joinCursor < seq;
      }),
    );
  });
});
