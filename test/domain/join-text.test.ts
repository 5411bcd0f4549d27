/** What `cotal join` tells a person is what the client said of the membership, and nothing more. */
import { expect, it } from 'vitest';
import { textOf } from '../../src/cli/join.ts';
import { Output } from '../../src/cli/output.ts';

const out = new Output({ json: true });

it.each([
  ['durable', { state: 'durable', generation: 3 }, 'local.bob joined team.plan durable (generation 3)'],
  ['live', { state: 'live', reason: 'no daemon' }, 'joined team.plan live, durable backstop unestablished: no daemon'],
  ['joining', { state: 'joining', reason: 'the connection is down' }, 'is not subscribed to team.plan at the moment'],
] as const)('of one that is %s', (_, standing, says) => {
  const text = textOf(out, 'local.bob', { channel: 'team.plan', ...standing }, false);
  expect(text).toContain(says);
  expect(text.includes('joined')).toBe(standing.state !== 'joining');
});
