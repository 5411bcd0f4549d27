import { expect, it } from 'vitest';
import { memberKey } from '../../src/domain/names.ts';
import { buckets, keySubject } from '../../src/domain/subjects.ts';
import { bench, memberNamed, SPACE } from '../support/period.ts';

const ann = memberNamed('ann');
const key = memberKey(ann);

/** A member with one mention handed off. */
async function handedOff() {
  const world = bench();
  world.grant(ann);
  const serving = await world.period();
  await serving.lanes.recover(key);
  await serving.copier.store([world.entry(ann, { channel: 'lobby', seq: 1, id: 'one' })]);
  await serving.lanes.authorize(key, 1);
  await serving.lanes.handOff(key);
  await serving.lanes.markHandedOff(key);
  expect(world.broker.dlv.size).toBe(1);
  const answers: unknown[] = [];
  const ask = (args: object) => reauthorize(world, args).then((answer) => answers.push(answer));
  return { ...world, serving, answers, ask };
}

/** Asks as the manager does, over the rail. */
const reauthorize = ({ broker }: ReturnType<typeof bench>, args: object) =>
  new Promise((resolve) => {
    const subject = `cotal.${SPACE}.ctl.delivery-admin.local.manager`;
    broker.requests.send({
      rail: 'delivery-admin',
      subject,
      reply: `${subject}.reply.1`,
      data: new TextEncoder().encode(JSON.stringify({ op: 'reauthorize', args })),
      answer: (data) => resolve(JSON.parse(new TextDecoder().decode(data))),
    });
  });
const turn = () => new Promise((resolve) => setImmediate(resolve));

it('a reauthorization is answered only once there is a row to judge by, and then by that row (seed 223)', async () => {
  const { serving, broker, grant, answers, ask, news } = await handedOff();
  const rails = serving.serveRails({ bound() {}, lost() {} });
  await turn();
  broker.acl.publish({
    subject: keySubject(buckets(SPACE).acl, key),
    data: new Uint8Array(),
    headers: { 'KV-Operation': 'DEL' },
  });
  void ask({ principal: 'local.ann', lifecycleUid: ann.uid });
  await turn();
  expect(news).toContainEqual({ type: 'review.asked', member: key });
  await serving.withdrawals.review(key, 1);
  await turn();
  expect([answers, broker.dlv.size]).toEqual([[], 1]);
  grant(ann, ['ops']);
  await serving.withdrawals.review(key, 1);
  await turn();
  expect(answers).toEqual([{ ok: true, data: { withdrawn: 1, removed: 1 } }]);
  expect([broker.dlv.size, broker.inbox.size]).toEqual([0, 0]);
  await rails.stop();
});

it('a copy that is withdrawn settles nothing, though the broker calls it terminated', async () => {
  const { serving, broker, grant } = await handedOff();
  const [copy] = broker.deliveries.take(ann, 1);
  grant(ann, []);
  const reviewed = serving.withdrawals.review(key, 1);
  expect(await reviewed).toMatchObject({ type: 'copies.withdrawn', copies: 1, settled: 0 });
  expect(broker.dlv.get(copy?.seq ?? 0)).toBeUndefined();
  expect(broker.inbox.size).toBe(0);
});
