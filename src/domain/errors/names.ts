import { defineErrors } from './define.ts';

/** Refusals of names, channels, patterns and numbers that are outside the grammar. */
export const nameErrors = defineErrors({
  'name.space': {
    kind: 'refuse',
    exit: 64,
    template: 'space "{input}" is not a name: 1 to 64 of A-Z a-z 0-9 _ -',
    help: 'Nothing was changed. Choose another --space.',
  },
  'name.token': {
    kind: 'refuse',
    exit: 64,
    template: '"{input}" is not a name: 1 to 64 of A-Z a-z 0-9 _',
    help: 'Names are never rewritten. Choose one inside the grammar.',
  },
  'name.principal': {
    kind: 'refuse',
    exit: 64,
    template: '"{input}" is not a principal: owner.actor, each 1 to 64 of A-Z a-z 0-9 _',
    help: 'Write it as owner.actor, for example local.alice.',
  },
  'name.channel': {
    kind: 'refuse',
    exit: 64,
    template:
      'channel "{input}" is not a channel: segments of A-Z a-z 0-9 _ - with dots between, at most 4096 characters',
    help: 'Nothing was sent. A channel has no empty segment and no wildcard.',
  },
  'name.channel.wildcard': {
    kind: 'refuse',
    exit: 64,
    template: 'channel "{input}" has a wildcard where one concrete channel is due',
    help: 'Nothing was sent. Name one channel; patterns belong into --read and --post.',
  },
  'name.pattern': {
    kind: 'refuse',
    exit: 64,
    template: 'pattern "{input}" is not a channel pattern: segments, "*" for one whole segment, ">" last',
    help: 'Examples: team.general   team.*   team.>',
  },
  'number.positive': {
    kind: 'refuse',
    exit: 64,
    template: '{name} is "{input}", not a whole number from {least} to {most}',
    help: 'Nothing was changed.',
  },
});
