import { api, kv, kvStream, type Part } from './words.ts';

const elsewhere: Part['neverPublish'] = [
  [
    'rows of anything',
    () => ['auth', 'acl', 'members', 'lanes', 'manager', 'delivery'].map((bucket) => kv(bucket, 'a.b.c')),
  ],
  ["the daemon's rails", () => ['delivery', 'delivery-admin'].map((rail) => `cotal.main.ctl.${rail}.local.operator`)],
  ['posts', () => ['cotal.main.chat.local.operator.team']],
];

export const serve: Part = {
  publish: [['replies on the rail of the manager', () => ['cotal.main.ctl.manager.local.operator.reply.x']]],
  subscribe: [['the rail of the manager', () => ['cotal.main.ctl.manager.*.*']]],
  neverPublish: [['asking it', () => ['cotal.main.ctl.manager.local.operator']], ...elsewhere],
  neverSubscribe: [['posts, other rails', () => ['cotal.main.chat.>', 'cotal.main.ctl.delivery-admin.*.*', '>']]],
};

export const operator: Part = {
  publish: [
    ['asking the manager', () => ['cotal.main.ctl.manager.local.operator']],
    ['whether there is one', () => [api(`DIRECT.GET.${kvStream('manager')}.${kv('manager', 'lease.0')}`)]],
  ],
  subscribe: [['replies to it', () => ['cotal.main.ctl.manager.local.operator.reply.>']]],
  neverPublish: [
    [
      "asking in another's name, answering",
      () => ['cotal.main.ctl.manager.local.other', 'cotal.main.ctl.manager.local.operator.reply.x'],
    ],
    ...elsewhere,
  ],
  neverSubscribe: [
    ['the rail itself', () => ['cotal.main.ctl.manager.*.*', 'cotal.main.ctl.manager.local.other.reply.>', '>']],
  ],
};

export const session: Part = {
  publish: [['whether the plane serves', () => ['cotal.main.live.delivery.local.session_a']]],
  subscribe: [['the answer', () => ['cotal.main.live.delivery.local.session_a.reply.>']]],
  neverPublish: [['the manager', () => ['cotal.main.ctl.manager.local.session_a']], ...elsewhere],
  neverSubscribe: [['anything else', () => ['cotal.main.chat.>', 'cotal.main.ctl.manager.*.*', '>']]],
};
