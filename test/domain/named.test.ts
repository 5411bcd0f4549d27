/** A post that names somebody, and the grant of whoever is named, which was written before and is told after (F4). */
import { expect, it } from 'vitest';
import { memberKey } from '../../src/domain/names.ts';
import { buckets, chatSubject, keySubject } from '../../src/domain/subjects.ts';
import { encodeRow } from '../../src/services/memory/rows.ts';
import { bench, memberNamed, SPACE } from '../support/period.ts';

const ann = memberNamed('ann');

/** A daemon that has heard a post on a live channel that names ann, and before it one that names nobody. */
async function mentioned() {
  const world = bench();
  const live = keySubject(buckets(SPACE).channels, 'lobby');
  world.broker.channels.publish({ subject: live, data: encodeRow({ deliveryClass: 'live' }) });
  const { fanout } = await world.period();
  await fanout.open();
  const post = (id: string, mentions: string[]) =>
    world.broker.chat.publish({
      subject: chatSubject(SPACE, 'local.bob', 'lobby'),
      data: encodeRow({ ...JSON.parse(new TextDecoder().decode(world.post('local.bob', 'lobby', id))), mentions }),
    });
  const heard = new Promise<void>((resolve) => {
    let count = 0;
    const waiting = () => (++count === 2 ? resolve() : undefined);
    fanout.hear({ waiting, skipped: () => {}, lost: () => {} });
  });
  world.grant(ann, ['lobby']);
  post('p1', []);
  post('p2', ['ann']);
  await heard;
  return { ...world, fanout };
}

it('is copied to them when the grant has been told, and what names nobody does not wait for that', async () => {
  const { fanout, broker, faults } = await mentioned();
  const release = faults.hold('rowWatch.caughtUp', 1);
  expect(await fanout.route()).toMatchObject({ posts: 1, copies: 0 });
  await fanout.settle();
  const routed = fanout.route();
  release();
  expect(await routed).toMatchObject({ posts: 1, copies: 1 });
  await fanout.storeRound();
  expect(broker.inbox.all().map(({ subject }) => subject.includes(memberKey(ann)))).toEqual([true]);
});

it('waits where that is not known, and is asked for no more once it is', async () => {
  const { fanout, faults, tally } = await mentioned();
  await fanout.route();
  await fanout.settle();
  const lift = faults.silent('rowWatch.caughtUp');
  for (let i = 0; i < 3; i++) expect(await fanout.route()).toMatchObject({ kind: 'silent' });
  lift();
  expect(await fanout.route()).toMatchObject({ copies: 1 });
  faults.silent('rowWatch.caughtUp');
  expect(await fanout.route()).toMatchObject({ copies: 1 });
  expect(tally.get('mentions.missed', 'nobody')).toBe(0);
});
