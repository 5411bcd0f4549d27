import { describe, expect, it } from 'vitest';
import { describeDifference, differencesOf } from '../../src/domain/differences.ts';
import { memberConsumer, standingConsumers, streamLayouts } from '../../src/domain/layout.ts';

const member = { owner: 'local', actor: 'alice', uid: 'a'.repeat(26) };
const layout = (name: string) => streamLayouts({ space: 'main' }).find((each) => each.name === name);

describe('the layout of a space', () => {
  it('has each stream and bucket of the wire format once', () => {
    expect(streamLayouts({ space: 'main' }).map(({ name }) => name)).toEqual([
      'CHAT_main',
      'INBOX_main',
      'DLV_main',
      'EPT_REQ_main',
      'EPT_main',
      ...['presence', 'channels', 'members', 'acl', 'lanes', 'delivery', 'manager', 'auth'].map(
        (bucket) => `KV_cotal_${bucket}_main`,
      ),
    ]);
  });

  it('lets every stream and bucket have a hundred thousand consumers', () => {
    for (const { max_consumers } of streamLayouts({ space: 'main' })) expect(max_consumers).toBe(100_000);
  });

  it.each([
    ['CHAT_main', { retention: 'limits', discard: 'old', max_msgs_per_subject: 10_000, allow_direct: true }],
    ['INBOX_main', { retention: 'limits', duplicate_window: 7_200e9, allow_direct: true, allow_atomic: true }],
    ['DLV_main', { retention: 'workqueue', allow_atomic: true }],
    ['EPT_REQ_main', { allow_msg_schedules: false }],
    ['EPT_main', { retention: 'limits', allow_msg_schedules: true }],
    ['KV_cotal_presence_main', { storage: 'memory', max_age: 6e9 }],
    ['KV_cotal_delivery_main', { max_age: 30e9, allow_msg_ttl: true, subject_delete_marker_ttl: 30e9 }],
    ['KV_cotal_manager_main', { max_age: 10e9 }],
    ['KV_cotal_members_main', { max_age: 0, allow_direct: true, max_msgs_per_subject: 1 }],
    ['KV_cotal_auth_main', { allow_direct: false }],
  ])('gives %s what the wire format says', (name, expected) => {
    expect(layout(name)).toMatchObject(expected);
  });

  it('takes history, quota and replicas from the operator', () => {
    const asked = streamLayouts({ space: 'main', history: 5, quota: 7, replicas: 3 });
    expect(asked.find(({ name }) => name === 'CHAT_main')?.max_msgs_per_subject).toBe(5);
    expect(asked.find(({ name }) => name === 'INBOX_main')?.metadata).toEqual({ 'plane3-quota': '7' });
    expect(new Set(asked.map(({ num_replicas }) => num_replicas))).toEqual(new Set([3]));
  });

  it('never gives a consumer a back-off list beside its deadline, and samples every ack of a member', () => {
    const configs = [...standingConsumers('main'), memberConsumer('main', member)].map(({ config }) => config);
    for (const config of configs) {
      expect(config).not.toHaveProperty('backoff');
      const ackWait = config.durable_name === 'timerw_main' ? 10e9 : 60e9;
      expect(config).toMatchObject({ ack_policy: 'explicit', ack_wait: ackWait, max_deliver: -1 });
    }
    expect(configs.at(-1)).toMatchObject({
      durable_name: `dlv_local-alice-${member.uid}`,
      filter_subject: `cotal.main.dlv.local.alice.${member.uid}.>`,
      sample_freq: '100',
    });
  });
});

describe('a comparison with what the broker has', () => {
  const told = (have: object, wanted: object) => differencesOf('stream X', have, wanted).map(describeDifference);

  it('names field, what is and what is wanted', () => {
    expect(told({ a: 1, subjects: ['x'] }, { a: 2, subjects: ['x', 'y'] })).toEqual([
      'stream X: a is 1, wanted 2',
      'stream X: subjects is ["x"], wanted ["x","y"]',
    ]);
  });

  it('takes a field that the broker left out as false, zero or empty', () => {
    expect(told({}, { off: false, none: 0, list: [], text: '' })).toEqual([]);
    expect(told({}, { on: true, max_age: 5e9, storage: 'file' })).toEqual([
      'stream X: on is false, wanted true',
      'stream X: max_age is none, wanted 5 s',
      'stream X: storage is not set, wanted file',
    ]);
  });

  it("does not look at fields and metadata of the broker's own, nor at a flag that this build does not know", () => {
    expect(
      told(
        { sealed: false, allow_msg_schedules: true, metadata: { _nats: '1', ours: 'x' } },
        { metadata: { ours: 'x' } },
      ),
    ).toEqual([]);
    expect(told({ metadata: { ours: 'y' } }, { metadata: { ours: 'x' } })).toEqual([
      'stream X: metadata ours is y, wanted x',
    ]);
  });
});
