import { nuid } from '@nats-io/nats-core';
import { describe, expect, it } from 'vitest';
import { copySubject, deliveryConsumer, entrySubject, streams } from '../../../src/domain/subjects.ts';
import { type Agent, texts } from '../../support/delivery/agent.ts';
import { countIn } from '../../support/delivery/store.ts';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { until } from '../../support/until.ts';

const CHANNEL = 'team.general';

describe('messages steered into the store through reply subjects', () => {
  const suite = deliverySuite({ env: { COTAL_DELIVERY_SURVEY_MS: '200', COTAL_DELIVERY_LANE_REST_MS: '100' } });

  /** What an agent can make the broker say where it likes: answers of its API, and its own stored copies. */
  async function steer(mallory: Agent, to: string): Promise<void> {
    const { dlv, chat } = streams(suite.mesh.space);
    const own = deliveryConsumer(mallory.member);
    mallory.connection.publish(`$JS.API.STREAM.INFO.${chat}`, '{}', { reply: to });
    mallory.connection.publish(`$JS.API.CONSUMER.INFO.${dlv}.${own}`, '', { reply: to });
    mallory.connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${dlv}.${own}`, JSON.stringify({ batch: 5, no_wait: true }), {
      reply: to,
    });
    mallory.connection.publish(`cotal.${suite.mesh.space}.chat.${mallory.principal}.${CHANNEL}`, 'not a post', {
      reply: to,
    });
    await mallory.connection.flush();
  }

  it.each(['chat', 'dinbox', 'dlv'] as const)(
    'into %s: nothing surfaces, nothing stalls, all are removed and counted',
    async (family) => {
      const [alice, bob, mallory] = [
        await suite.agent('alice'),
        await suite.agent('bob'),
        await suite.agent('mallory'),
      ];
      await bob.join(CHANNEL);
      await mallory.join(CHANNEL);
      await alice.post(CHANNEL, { text: 'for mallory and bob' });
      await until(
        async () => (await mallory.asked('pendingCount', {})).handedOff === 1,
        () => suite.running.state(),
      );
      const space = suite.mesh.space;
      const to = {
        chat: `cotal.${space}.chat.${alice.principal}.${CHANNEL}`,
        dinbox: entrySubject(space, bob.member, CHANNEL),
        dlv: copySubject(space, bob.member, CHANNEL),
      }[family];
      await steer(mallory, to);
      await alice.post(CHANNEL, { text: 'after' });
      const seen: string[] = [];
      await until(
        async () => {
          for (const { message, text } of await bob.take(10, 1_000)) {
            // An honest client surfaces what is a copy for itself, and terminates what is not.
            const mine = message.headers?.get('Plane3-Member') === `${bob.principal}.${bob.member.uid}`;
            if (mine && message.headers?.get('Cotal-Delivery-Frame') === '1') seen.push(text);
            if (mine) await message.ackAck();
            else message.term('foreign');
          }
          return seen.includes('after');
        },
        () => `${suite.running.state()} ${seen}`,
        30_000,
      );
      expect(seen).toEqual(['for mallory and bob', 'after']);
      const delivery = await suite.mesh.connect('delivery');
      const { inbox, dlv } = streams(space);
      const { tally } = suite.running.daemon;
      const counted = {
        chat: () => tally.get('posts.poison', 'not-a-message') > 0,
        dinbox: () => Object.keys(tally.all()).some((name) => name.startsWith('entries.foreign')),
        // The member met them above, or the daemon has removed them.
        dlv: () => true,
      }[family];
      // What was steered is stored by the broker in its own time: stores without it are not yet stores that are rid of it.
      await until(counted, () => suite.running.state());
      const head = (stream: string, family: string) =>
        countIn(delivery, stream, `cotal.${space}.${family}.${bob.principal}.${bob.member.uid}.>`);
      await until(
        async () => (await head(inbox, 'dinbox')) === 0 && (await head(dlv, 'dlv')) === 0,
        () => suite.running.state(),
        30_000,
      );
      expect(texts(await bob.take(1, 1_000))).toEqual([]);
    },
  );

  it('onto subjects that name no member: they are removed and counted', async () => {
    const mallory = await suite.agent('mallory');
    const space = suite.mesh.space;
    await steer(mallory, `cotal.${space}.dinbox.${nuid.next()}`);
    await steer(mallory, `cotal.${space}.dlv.${nuid.next()}.x`);
    const delivery = await suite.mesh.connect('delivery');
    const { inbox, dlv } = streams(space);
    // The counts are zero before the first of them is stored, too.
    await until(
      () => suite.running.daemon.tally.get('entries.foreign', 'foreign-subject') >= 2,
      () => suite.running.state(),
    );
    await until(
      async () => (await countIn(delivery, inbox)) === 0 && (await countIn(delivery, dlv)) === 0,
      () => suite.running.state(),
      30_000,
    );
  });
});
