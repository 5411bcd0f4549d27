/** What a client says of its memberships while its connection is away, over a broker that answers when it is told to. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Agent, connectAgent, type Standing } from '../../src/client/client.ts';
import { type ScriptedBroker, scriptedBroker } from '../support/scripted-broker.ts';
import { until } from '../support/until.ts';

const CHANNEL = 'team.general';

describe('a channel that is joined live, whose connection is lost', () => {
  let broker: ScriptedBroker;
  let agent: Agent;
  let told: Standing[];
  beforeEach(async () => {
    broker = await scriptedBroker();
    told = [];
    agent = await connectAgent({
      url: broker.url,
      open: { space: 'main', name: 'bob' },
      onStanding: (standing) => told.push(standing),
    });
    expect(await agent.join(CHANNEL)).toMatchObject({ state: 'live' });
  });
  afterEach(async () => {
    broker.answers(true);
    await agent.close();
    await broker.close();
  });

  const standing = () => agent.standings()[0];
  const is = (state: Standing['state']) =>
    until(
      () => standing()?.state === state,
      () => ({ standing: standing(), lines: broker.lines }),
    );
  /** Cuts the connection, keeps the next one's pings unanswered, and waits until the client has sent one after its subscriptions. */
  const reconnected = async () => {
    const before = broker.lines.length;
    broker.answers(false);
    broker.cut();
    const since = () => broker.lines.slice(before);
    await until(
      () => {
        const subscribed = since().findIndex((line) => line.startsWith('SUB '));
        return subscribed >= 0 && since().lastIndexOf('PING') > subscribed;
      },
      () => broker.lines,
    );
  };

  it('is joining, not live, until the broker has answered after it was given the subscription again', async () => {
    await reconnected();
    expect(standing()).toEqual({ channel: CHANNEL, state: 'joining', reason: 'the connection is down' });
    expect(await agent.join(CHANNEL)).toMatchObject({ state: 'joining' });
    broker.answers(true);
    await is('live');
    expect(told.map(({ state }) => state)).toEqual(['live', 'joining', 'live']);
  });

  it('is cut off again when the connection is lost before that answer', async () => {
    await reconnected();
    await reconnected();
    expect(standing()).toMatchObject({ state: 'joining' });
    broker.answers(true);
    await is('live');
    expect(told.map(({ state }) => state)).toEqual(['live', 'joining', 'live']);
  });

  it('is left when the broker refuses the subscription this time', async () => {
    await reconnected();
    const subject = broker.lines.findLast((line) => line.startsWith('SUB '))?.split(' ')[1];
    broker.say(`-ERR 'Permissions Violation for Subscription to "${subject}"'`);
    broker.answers(true);
    await is('left');
    expect(told.map(({ state }) => state)).toEqual(['live', 'joining', 'left']);
  });
});
