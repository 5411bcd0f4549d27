import { api, BUCKETS, direct, kv, kvStream, other, own, type Part } from './words.ts';

export const agent: Part = {
  publish: [
    ['a post on a granted channel', () => ['cotal.main.chat.local.alice.team.general']],
    ['its own rail', () => ['cotal.main.ctl.delivery.local.alice']],
    ['its own presence', () => [kv('presence', 'local.alice')]],
    [
      'its own durable and its acks',
      (facts) => [
        api(`CONSUMER.INFO.DLV_main.${own(facts)}`),
        api(`CONSUMER.MSG.NEXT.DLV_main.${own(facts)}`),
        `$JS.ACK.DLV_main.${own(facts)}.1.1.1.1.0`,
      ],
    ],
    ['direct get of the lease row', () => [api(`DIRECT.GET.${kvStream('delivery')}.${kv('delivery', 'lease.0')}`)]],
    [
      'direct get of channel rows',
      () => [
        api(`DIRECT.GET.${kvStream('channels')}.${kv('channels', 'team.general')}`),
        api(`DIRECT.GET.${kvStream('channels')}.${kv('channels', '=defaults')}`),
      ],
    ],
    ['info of CHAT', () => [api('STREAM.INFO.CHAT_main')]],
  ],
  subscribe: [
    [
      'channels that its read grants cover',
      () => [
        'cotal.main.chat.*.*.team.*',
        'cotal.main.chat.*.*.team.general',
        'cotal.main.chat.*.*.news.>',
        'cotal.main.chat.local.bob.news.a.b',
      ],
    ],
    ['replies to itself', () => ['cotal.main.ctl.delivery.local.alice.reply.>']],
  ],
  neverPublish: [
    [
      "a post on another channel, or under another's name",
      () => [
        'cotal.main.chat.local.alice.team.other',
        'cotal.main.chat.local.alice.team',
        'cotal.main.chat.local.bob.team.general',
      ],
    ],
    [
      "another's rail, the admin rail, liveness",
      () => [
        'cotal.main.ctl.delivery.local.bob',
        'cotal.main.ctl.delivery-admin.local.alice',
        'cotal.main.live.delivery.local.alice',
      ],
    ],
    [
      'a reply on a rail',
      () => ['cotal.main.ctl.delivery.local.alice.reply.x', 'cotal.main.ctl.delivery.local.bob.reply.x'],
    ],
    [
      'entries and copies',
      (facts) => ['cotal.main.dinbox.local.alice.u.team', `cotal.main.dlv.local.alice.${facts.alice.uid}.team`],
    ],
    [
      'making a consumer on INBOX, DLV or CHAT',
      () =>
        ['INBOX_main', 'DLV_main', 'CHAT_main'].flatMap((name) => [
          api(`CONSUMER.CREATE.${name}.mine`),
          api(`CONSUMER.CREATE.${name}.mine.cotal.main.chat.any.any.team.general`),
          api(`CONSUMER.CREATE.${name}`),
          api(`CONSUMER.DURABLE.CREATE.${name}.mine`),
        ]),
    ],
    [
      'making its own durable anew, or deleting it',
      (facts) => [api(`CONSUMER.CREATE.DLV_main.${own(facts)}`), api(`CONSUMER.DELETE.DLV_main.${own(facts)}`)],
    ],
    [
      "another's durable",
      (facts) => [
        api(`CONSUMER.INFO.DLV_main.${other(facts)}`),
        api(`CONSUMER.MSG.NEXT.DLV_main.${other(facts)}`),
        `$JS.ACK.DLV_main.${other(facts)}.1.1.1.1.0`,
      ],
    ],
    [
      'reading INBOX, DLV or CHAT',
      () =>
        ['INBOX_main', 'DLV_main', 'CHAT_main'].flatMap((name) => [
          ...direct(name),
          api(`STREAM.MSG.GET.${name}`),
          api(`STREAM.PURGE.${name}`),
          api(`STREAM.MSG.DELETE.${name}`),
        ]),
    ],
    ['info of INBOX and DLV', () => [api('STREAM.INFO.INBOX_main'), api('STREAM.INFO.DLV_main')]],
    [
      'rows other than its presence',
      () => [
        ...BUCKETS.filter((bucket) => bucket !== 'presence').map((bucket) => kv(bucket, 'local.alice')),
        kv('presence', 'local.bob'),
        kv('delivery', 'lease.0'),
      ],
    ],
    [
      'other rows by direct get',
      () => [
        ...direct(kvStream('acl')),
        ...direct(kvStream('members')),
        api(`DIRECT.GET.${kvStream('channels')}`),
        api(`DIRECT.GET.${kvStream('delivery')}`),
      ],
    ],
    [
      'timers',
      () => ['cotal.main.ept.e.i.1.t.schedule', 'cotal.main.ept.e.i.1.t.armed', 'cotal.main.ept.e.i.1.t.fire'],
    ],
  ],
  neverSubscribe: [
    [
      'channels that its read grants do not cover',
      () => ['cotal.main.chat.>', 'cotal.main.chat.*.*.>', 'cotal.main.chat.*.*.team.a.b', 'cotal.main.chat.*.*.news'],
    ],
    ['rails and replies to others', () => ['cotal.main.ctl.delivery.*.*', 'cotal.main.ctl.delivery.local.bob.reply.>']],
    [
      'entries and copies, its own included',
      () => ['cotal.main.dinbox.>', 'cotal.main.dlv.local.alice.>', 'cotal.main.dlv.>'],
    ],
    ['events, rows, inboxes of others', () => ['$JS.EVENT.>', '$KV.>', '_INBOX.>', '>']],
  ],
};
