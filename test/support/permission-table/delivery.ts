import { api, byLeader, direct, everyStream, kv, kvStream, own, type Part, STREAMS, watching } from './words.ts';

const READABLE = [
  'CHAT_main',
  'INBOX_main',
  'DLV_main',
  ...['members', 'acl', 'lanes', 'channels', 'delivery'].map(kvStream),
];

export const delivery: Part = {
  publish: [
    ['info of our streams', () => STREAMS.map((name) => api(`STREAM.INFO.${name}`))],
    [
      'the fanout consumer and its acks',
      () => [
        api('CONSUMER.CREATE.CHAT_main.fanout'),
        api('CONSUMER.INFO.CHAT_main.fanout'),
        api('CONSUMER.MSG.NEXT.CHAT_main.fanout'),
        api('CONSUMER.DELETE.CHAT_main.fanout'),
        '$JS.ACK.CHAT_main.fanout.1.1.1.1.0',
      ],
    ],
    [
      'the timer consumer, its acks, and what is armed',
      () => [
        api('CONSUMER.CREATE.EPT_REQ_main.timerw_main'),
        api('CONSUMER.INFO.EPT_REQ_main.timerw_main'),
        api('CONSUMER.DELETE.EPT_REQ_main.timerw_main'),
        ...direct('EPT_main'),
        byLeader('EPT_main'),
        api('CONSUMER.MSG.NEXT.EPT_REQ_main.timerw_main'),
        '$JS.ACK.EPT_REQ_main.timerw_main.1.1.1.1.0',
      ],
    ],
    ['watching the buckets it reads', () => ['members', 'acl', 'lanes', 'channels', 'delivery'].flatMap(watching)],
    ['direct get', () => READABLE.flatMap(direct)],
    ['the same by the leader of a replicated stream', () => READABLE.map(byLeader)],
    [
      'purge and removal of entries and copies',
      () =>
        ['INBOX_main', 'DLV_main'].flatMap((name) => [api(`STREAM.PURGE.${name}`), api(`STREAM.MSG.DELETE.${name}`)]),
    ],
    ["info of any member's durable", (facts) => [api(`CONSUMER.INFO.DLV_main.${own(facts)}`)]],
    [
      'entries, copies, armed timers',
      () => ['cotal.main.dinbox.a.b.c.team', 'cotal.main.dlv.a.b.c.team', 'cotal.main.ept.e.i.1.t.armed'],
    ],
    [
      'member rows, lane marks, the lease',
      () => [kv('members', 'team/a.b.c'), kv('lanes', 'a.b.c'), kv('delivery', 'lease.0')],
    ],
    [
      'replies',
      () => [
        'cotal.main.ctl.delivery.local.alice.reply.x',
        'cotal.main.ctl.delivery-admin.local.manager.reply.x',
        'cotal.main.live.delivery.local.manager.reply.x',
      ],
    ],
  ],
  subscribe: [
    [
      'requests',
      () => ['cotal.main.ctl.delivery.*.*', 'cotal.main.ctl.delivery-admin.*.*', 'cotal.main.live.delivery.*.*'],
    ],
    [
      'confirmations and terminations',
      () => ['$JS.EVENT.METRIC.CONSUMER.ACK.DLV_main.>', '$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.DLV_main.>'],
    ],
  ],
  neverPublish: [
    ['a post', () => ['cotal.main.chat.local.alice.team', 'cotal.main.chat.local.delivery.team']],
    ['a request', () => ['cotal.main.ctl.delivery.local.alice', 'cotal.main.ctl.delivery-admin.local.manager']],
    ['a fired or requested timer', () => ['cotal.main.ept.e.i.1.t.fire', 'cotal.main.ept.e.i.1.t.schedule']],
    [
      'ACL, presence, channel, manager and auth rows',
      () => ['acl', 'presence', 'channels', 'manager', 'auth'].map((bucket) => kv(bucket, 'a.b.c')),
    ],
    ['any other row of the lease bucket', () => [kv('delivery', 'other')]],
    [
      'making, changing or deleting a stream',
      () =>
        everyStream.flatMap((name) => [
          api(`STREAM.CREATE.${name}`),
          api(`STREAM.UPDATE.${name}`),
          api(`STREAM.DELETE.${name}`),
        ]),
    ],
    [
      'another consumer on CHAT than the fan-out writer',
      () => [
        api('CONSUMER.CREATE.CHAT_main.cu_1'),
        api('CONSUMER.CREATE.CHAT_main.cu_1.cotal.main.chat.any.any.team'),
        api('CONSUMER.MSG.NEXT.CHAT_main.cu_1'),
        api('CONSUMER.DELETE.CHAT_main.cu_1'),
        '$JS.ACK.CHAT_main.cu_1.1.1.1.1.0',
      ],
    ],
    ['purging CHAT', () => [api('STREAM.PURGE.CHAT_main'), api('STREAM.MSG.DELETE.CHAT_main')]],
    [
      "making, pulling from or deleting a member's durable",
      (facts) => [
        api(`CONSUMER.CREATE.DLV_main.${own(facts)}`),
        api(`CONSUMER.MSG.NEXT.DLV_main.${own(facts)}`),
        api(`CONSUMER.DELETE.DLV_main.${own(facts)}`),
        `$JS.ACK.DLV_main.${own(facts)}.1.1.1.1.0`,
      ],
    ],
    [
      'reading the auth bucket',
      () => [api(`STREAM.MSG.GET.${kvStream('auth')}`), ...direct(kvStream('auth')), ...watching('auth')],
    ],
    ['the system account', () => ['$SYS.REQ.CLAIMS.UPDATE', '$SYS.REQ.SERVER.X.KICK']],
  ],
  neverSubscribe: [
    ['posts', () => ['cotal.main.chat.>', 'cotal.main.chat.*.*.team']],
    ["replies to others, others' inboxes", () => ['cotal.main.ctl.delivery.local.alice.reply.>', '_INBOX.>', '>']],
  ],
};
