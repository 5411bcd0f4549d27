import { api, direct, everyStream, kv, kvStream, own, type Part, watching } from './words.ts';

export const manager: Part = {
  publish: [
    [
      'its admin rail and liveness',
      () => ['cotal.main.ctl.delivery-admin.local.manager', 'cotal.main.live.delivery.local.manager'],
    ],
    [
      'rows of auth, ACL, members, lanes, manager',
      () => ['auth', 'acl', 'members', 'lanes', 'manager'].map((bucket) => kv(bucket, 'a.b.c')),
    ],
    ['reading and watching those', () => ['auth', 'acl', 'members', 'lanes', 'manager'].flatMap(watching)],
    [
      'direct get where the bucket has it',
      () => ['acl', 'members', 'lanes', 'manager'].flatMap((bucket) => direct(kvStream(bucket))),
    ],
    ['rows of auth by the leader', () => [api(`STREAM.MSG.GET.${kvStream('auth')}`)]],
    [
      'durables on DLV',
      (facts) => [
        api(`CONSUMER.CREATE.DLV_main.${own(facts)}.cotal.main.dlv.local.alice.${facts.alice.uid}.any`),
        api(`CONSUMER.INFO.DLV_main.${own(facts)}`),
        api(`CONSUMER.DELETE.DLV_main.${own(facts)}`),
      ],
    ],
    ['the lease row', () => [api(`DIRECT.GET.${kvStream('delivery')}.${kv('delivery', 'lease.0')}`)]],
    [
      'frontiers of the streams',
      () => ['CHAT_main', 'INBOX_main', 'DLV_main'].map((name) => api(`STREAM.INFO.${name}`)),
    ],
  ],
  subscribe: [
    [
      'replies of its rails',
      () => ['cotal.main.ctl.delivery-admin.local.manager.reply.>', 'cotal.main.live.delivery.local.manager.reply.>'],
    ],
  ],
  neverPublish: [
    ["a durable over everybody's copies", (facts) => [api(`CONSUMER.CREATE.DLV_main.${own(facts)}`)]],
    [
      "another's admin rail, the agents' rail",
      () => ['cotal.main.ctl.delivery-admin.local.other', 'cotal.main.ctl.delivery.local.manager'],
    ],
    [
      'posts, entries, copies',
      () => ['cotal.main.chat.local.manager.team', 'cotal.main.dinbox.a.b.c.team', 'cotal.main.dlv.a.b.c.team'],
    ],
    [
      'content',
      () => ['CHAT_main', 'INBOX_main', 'DLV_main'].flatMap((name) => [...direct(name), api(`STREAM.MSG.GET.${name}`)]),
    ],
    [
      'purge and removal',
      () => everyStream.flatMap((name) => [api(`STREAM.PURGE.${name}`), api(`STREAM.MSG.DELETE.${name}`)]),
    ],
    [
      'pulling from a durable',
      (facts) => [api(`CONSUMER.MSG.NEXT.DLV_main.${own(facts)}`), `$JS.ACK.DLV_main.${own(facts)}.1.1.1.1.0`],
    ],
    [
      'the lease row, channels, presence',
      () => [kv('delivery', 'lease.0'), kv('channels', 'team'), kv('presence', 'local.manager')],
    ],
    [
      'streams',
      () =>
        everyStream.flatMap((name) => [
          api(`STREAM.CREATE.${name}`),
          api(`STREAM.UPDATE.${name}`),
          api(`STREAM.DELETE.${name}`),
        ]),
    ],
  ],
  neverSubscribe: [
    [
      'posts, rails, others',
      () => [
        'cotal.main.chat.>',
        'cotal.main.ctl.delivery-admin.*.*',
        'cotal.main.ctl.delivery-admin.local.other.reply.>',
        '>',
      ],
    ],
  ],
};
