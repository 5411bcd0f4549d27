import { api, BUCKETS, byLeader, direct, kv, type Part } from './words.ts';

export const scheduler: Part = {
  publish: [
    ['asking for timers', () => ['cotal.main.ept.flow.i1.3.pause.schedule']],
    ['looking at what is armed and has fired', () => [...direct('EPT_main'), byLeader('EPT_main')]],
    ['how many requests wait', () => [api('STREAM.INFO.EPT_REQ_main'), api('STREAM.INFO.EPT_main')]],
  ],
  subscribe: [],
  neverPublish: [
    ['arming and firing', () => ['cotal.main.ept.flow.i1.3.pause.armed', 'cotal.main.ept.flow.i1.3.pause.fire']],
    [
      'taking requests',
      () => [
        api('CONSUMER.CREATE.EPT_REQ_main.timerw_main'),
        api('CONSUMER.MSG.NEXT.EPT_REQ_main.timerw_main'),
        api('STREAM.PURGE.EPT_main'),
        api('STREAM.MSG.DELETE.EPT_main'),
      ],
    ],
    ['content', () => [...direct('CHAT_main'), ...direct('INBOX_main'), ...direct('DLV_main')]],
    ['rows of buckets', () => BUCKETS.map((bucket) => kv(bucket, 'a.b.c'))],
    ['posts and rails', () => ['cotal.main.chat.local.scheduler.team', 'cotal.main.ctl.delivery.local.scheduler']],
  ],
  neverSubscribe: [['anything', () => ['cotal.main.>', '$JS.EVENT.>', '>']]],
};
