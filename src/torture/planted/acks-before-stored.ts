/** A writer that acknowledges a post when it gets it, and stores the copies a moment later. */
import { setTimeout as pause } from 'node:timers/promises';
import { ServingPeriod } from '../../services/delivery/period.ts';

const LATER_MS = 1_500;

const open = ServingPeriod.prototype.open;
ServingPeriod.prototype.open = function (this: ServingPeriod) {
  const { posts, entries } = this.ports;
  const pull = posts.pull.bind(posts);
  posts.pull = (listener) =>
    pull({
      ...listener,
      post: (post) => {
        posts.settle({ posts: [post] });
        listener.post(post);
      },
    });
  const storeAll = entries.storeAll.bind(entries);
  entries.storeAll = async (of) => {
    await pause(LATER_MS);
    return storeAll(of);
  };
  return open.call(this);
};
