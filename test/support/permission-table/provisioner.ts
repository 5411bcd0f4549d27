import { api, BUCKETS, direct, everyStream, kv, kvStream, type Part, watching } from './words.ts';

export const provisioner: Part = {
  publish: [
    [
      'making and looking at streams and buckets',
      () => everyStream.flatMap((name) => [api(`STREAM.CREATE.${name}`), api(`STREAM.INFO.${name}`)]),
    ],
    [
      'the standing consumers',
      () => [
        api('CONSUMER.CREATE.CHAT_main.fanout'),
        api('CONSUMER.INFO.CHAT_main.fanout'),
        api('CONSUMER.CREATE.EPT_REQ_main.timerw_main'),
        api('CONSUMER.INFO.EPT_REQ_main.timerw_main'),
      ],
    ],
    [
      'the channel registry',
      () => [
        kv('channels', 'team.general'),
        kv('channels', '=defaults'),
        ...direct(kvStream('channels')),
        ...watching('channels'),
      ],
    ],
  ],
  subscribe: [],
  neverPublish: [
    [
      'changing, deleting or emptying a stream',
      () =>
        everyStream.flatMap((name) => [
          api(`STREAM.UPDATE.${name}`),
          api(`STREAM.DELETE.${name}`),
          api(`STREAM.PURGE.${name}`),
        ]),
    ],
    [
      'content',
      () => [
        ...direct('CHAT_main'),
        ...direct('INBOX_main'),
        api('STREAM.MSG.GET.CHAT_main'),
        api('CONSUMER.MSG.NEXT.CHAT_main.fanout'),
        api('CONSUMER.DELETE.CHAT_main.fanout'),
      ],
    ],
    [
      'rows of other buckets',
      () => BUCKETS.filter((bucket) => bucket !== 'channels').map((bucket) => kv(bucket, 'a.b.c')),
    ],
    [
      'posts, entries, copies, rails',
      () => [
        'cotal.main.chat.local.provisioner.team',
        'cotal.main.dinbox.a.b.c.team',
        'cotal.main.dlv.a.b.c.team',
        'cotal.main.ctl.delivery-admin.local.provisioner',
      ],
    ],
  ],
  neverSubscribe: [['anything', () => ['cotal.main.>', '$JS.EVENT.>', '>']]],
};
