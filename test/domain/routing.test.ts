import { beforeEach, describe, expect, it } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import { type Member, principalOf } from '../../src/domain/names.ts';
import { RoutingIndex } from '../../src/domain/routing.ts';
import { type AclState, CHANNEL_DEFAULTS, type MemberRow } from '../../src/domain/rows.ts';

const member = (actor: string, uid = actor): Member => ({
  owner: 'local',
  actor,
  uid: uid.padEnd(26, 'u').slice(0, 26),
});
const [ann, bob, cid] = [member('ann'), member('bob'), member('cid')];
const row = (of: Member, more: Partial<MemberRow> = {}): MemberRow => ({
  channel: 'ops',
  owner: principalOf(of),
  lifecycleUid: of.uid,
  state: 'active',
  joinCursor: 0,
  generation: 1,
  writerIdentity: 't',
  updatedAt: 1,
  ...more,
});
const grant = (name: string, allow: string[] = ['>'], issued: string[] = ['>']): AclState => ({
  kind: 'grant',
  name,
  allow,
  issued,
  revision: 1,
});
const post = (channel: string, more: Partial<Message> = {}): Message => ({
  id: 'm',
  ts: 1,
  space: 'main',
  from: { id: 'local.zoe', name: 'zoe' },
  channel,
  parts: [],
  ...more,
});

let index: RoutingIndex;
let revision = 0;
beforeEach(() => {
  index = new RoutingIndex();
});
const join = (of: Member, more: Partial<MemberRow> = {}) => index.applyMember('ops', of, row(of, more), ++revision);
const may = (of: Member, acl: AclState) => index.applyAcl(of, acl, ++revision);
const live = (channel: string) => index.applyChannel(channel, { deliveryClass: 'live' }, ++revision);
const route = (message: Message, seq = 5, sender = 'local.zoe') => index.route(message, sender, seq);
const names = (message: Message, seq = 5, sender = 'local.zoe') =>
  route(message, seq, sender)
    .targets.map(({ member: to }) => to.actor)
    .sort();

describe('a post on a durable channel', () => {
  it('goes to every member in whose interval it lies, whatever the row’s state', () => {
    join(ann, { joinCursor: 4 });
    join(bob, { joinCursor: 5 });
    join(cid, { joinCursor: 0, leaveCursor: 5, state: 'left' });
    expect(names(post('ops'), 4)).toEqual(['cid']);
    expect(names(post('ops'), 5)).toEqual(['ann', 'cid']);
    expect(names(post('ops'), 6)).toEqual(['ann', 'bob']);
  });

  it('never goes to its sender, in any lifecycle of it (F3)', () => {
    join(ann);
    join(member('ann', 'another'));
    join(bob);
    expect(names(post('ops'), 5, 'local.ann')).toEqual(['bob']);
  });

  it('carries the generation of the membership, and is routed without any ACL: being a target grants nothing (F2)', () => {
    join(ann, { generation: 7 });
    expect(route(post('ops')).targets).toMatchObject([{ member: ann, generation: 7, reason: 'durable-channel' }]);
  });

  it('does not go to members of other channels, nor of those below it, and mentions nobody', () => {
    join(ann);
    may(bob, grant('bob'));
    expect(names(post('ops.night'))).toEqual([]);
    expect(names(post('dev', { mentions: ['bob'] }))).toEqual([]);
  });
});

describe('a mention on a live channel', () => {
  beforeEach(() => live('lobby'));
  const missed = (message: Message) => route(message).misses;

  it('reaches the one whose name it is, without regard to case and blanks, once', () => {
    may(ann, grant('Ann'));
    const targets = route(post('lobby', { mentions: [' ANN ', 'ann', 'Ann'] })).targets;
    expect(targets).toMatchObject([{ member: ann, generation: 0, reason: 'live-mention' }]);
  });

  it('reaches nobody where the name is nobody’s, several lifecycles’, or not covered; each is told (F4)', () => {
    may(ann, grant('twin'));
    may(bob, grant('twin'));
    may(cid, grant('cid', ['dev']));
    const message = post('lobby', { mentions: ['nobody', 'twin', 'cid'] });
    expect(route(message).targets).toEqual([]);
    expect(missed(message)).toEqual([
      { name: 'nobody', why: 'nobody' },
      { name: 'twin', why: 'ambiguous' },
      { name: 'cid', why: 'not-covered' },
    ]);
  });

  it('of a name that became one lifecycle’s again reaches that one', () => {
    may(ann, grant('twin'));
    may(bob, grant('twin'));
    may(ann, { kind: 'retired' });
    expect(names(post('lobby', { mentions: ['twin'] }))).toEqual(['bob']);
    may(bob, grant('renamed'));
    expect(names(post('lobby', { mentions: ['twin'] }))).toEqual([]);
    expect(names(post('lobby', { mentions: ['renamed'] }))).toEqual(['bob']);
  });

  it('does not reach a lifecycle whose row is unknown, nor its sender', () => {
    may(ann, { kind: 'unknown', why: 'deleted' });
    may(bob, grant('bob'));
    expect(missed(post('lobby', { mentions: ['ann'] }))).toEqual([{ name: 'ann', why: 'nobody' }]);
    expect(names(post('lobby', { mentions: ['bob'] }), 5, 'local.bob')).toEqual([]);
  });

  it('reaches a peer that never joined, and no member that is not mentioned', () => {
    index.applyMember('lobby', bob, row(bob, { channel: 'lobby' }), ++revision);
    may(ann, grant('ann'));
    expect(names(post('lobby', { mentions: ['ann'] }))).toEqual(['ann']);
  });
});

describe('the class of a channel', () => {
  it('is its own, else that of the defaults, else durable', () => {
    expect(index.classOf('ops')).toBe('durable');
    index.applyChannel(CHANNEL_DEFAULTS, { deliveryClass: 'live' }, ++revision);
    expect(index.classOf('ops')).toBe('live');
    index.applyChannel('ops', { description: 'x' }, ++revision);
    expect(index.classOf('ops')).toBe('live');
    index.applyChannel('ops', { deliveryClass: 'durable' }, ++revision);
    expect(index.classOf('ops')).toBe('durable');
    index.applyChannel('ops', undefined, ++revision);
    expect(index.classOf('ops')).toBe('live');
  });
});

describe('the index', () => {
  it('is not moved back by a row that is older than what it knows', () => {
    index.applyMember('ops', ann, row(ann, { joinCursor: 3 }), 9);
    index.applyMember('ops', ann, row(ann, { joinCursor: 0 }), 8);
    index.applyMember('ops', ann, undefined, 8);
    index.applyChannel('ops', { deliveryClass: 'live' }, 5);
    index.applyChannel('ops', undefined, 4);
    index.applyAcl(ann, grant('ann'), 7);
    index.applyAcl(ann, { kind: 'retired' }, 6);
    expect(index.membership('ops', ann)?.joinCursor).toBe(3);
    expect([index.classOf('ops'), index.classRevision('ops')]).toEqual(['live', 5]);
    expect(index.acl(ann).kind).toBe('grant');
  });

  it('forgets a row that was removed, or that cannot be read', () => {
    join(ann);
    index.applyMember('ops', ann, undefined, ++revision);
    expect([index.membership('ops', ann), [...index.memberships()], names(post('ops'))]).toEqual([undefined, [], []]);
  });

  it('knows of nobody what it was not told', () => {
    expect(index.acl(ann)).toEqual({ kind: 'unknown', why: 'absent' });
    expect(index.classRevision('ops')).toBe(0);
  });
});
