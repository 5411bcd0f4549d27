/** What a leave waits for before the lane takes everything back, and what it does not wait for (M7). */
import { expect, it } from 'vitest';
import type { Member } from '../../src/domain/names.ts';
import { RoutingIndex } from '../../src/domain/routing.ts';
import { MembershipWork } from '../../src/services/delivery/membership-work.ts';

const member: Member = { owner: 'local', actor: 'bob', uid: 'b'.repeat(26) };
const CHANNEL = 'team.general';
const never = (): never => {
  throw new Error('nobody asks for this');
};

/** A member that left at 9, and a writer that was given the posts up to `position`. Answers what was asked for, in order. */
async function withdrawn(position: number): Promise<{ answer: unknown; order: string[] }> {
  const index = new RoutingIndex();
  const row = {
    ...{ channel: CHANNEL, owner: 'local.bob', lifecycleUid: member.uid, state: 'left' as const },
    ...{ joinCursor: 3, leaveCursor: 9, generation: 1, writerIdentity: 'w', updatedAt: 1 },
  };
  index.applyMember(CHANNEL, member, row, 1);
  const order: string[] = [];
  const work = new MembershipWork({
    rows: new Proxy({} as never, { get: never }),
    posts: new Proxy({} as never, { get: never }),
    copier: new Proxy({} as never, { get: never }),
    clock: new Proxy({} as never, { get: never }),
    index,
    fanout: {
      position,
      entriesFor: never,
      settledTo: async (seq) => {
        await Promise.resolve();
        order.push(`settled to ${seq}`);
      },
    },
    writerIdentity: 'w',
    batchSize: 10,
    review: async ({ generation }) => {
      order.push(`review of generation ${generation}`);
      return { withdrawn: 1, removed: 2 };
    },
    owe: never,
  });
  return { answer: await work.withdraw(`${CHANNEL}/local.bob.${member.uid}`, 1), order };
}

it('posts that the writer was given are settled first, so that the leave counts their copies', async () => {
  expect(await withdrawn(9)).toEqual({
    answer: { type: 'member.withdrawn', dropped: 2 },
    order: ['settled to 9', 'review of generation 1'],
  });
});

it('a post that the writer was not given yet holds no leave up: it may never come', async () => {
  expect(await withdrawn(8)).toEqual({
    answer: { type: 'member.withdrawn', dropped: 2 },
    order: ['review of generation 1'],
  });
});
