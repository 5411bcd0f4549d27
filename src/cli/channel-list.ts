/** `cotal channel list`: every channel that has a row or posts, with the class that holds for it. */
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { readJson, shaped } from '../domain/message.ts';
import { CHANNEL_DEFAULTS, type ChannelRow, channelRowSchema, effectiveClass } from '../domain/rows.ts';
import { buckets, readChatSubject, streams } from '../domain/subjects.ts';
import { wordsOfFailure } from '../services/nats/driver-errors.ts';
import { listKeys, listSubjects, readRow } from '../services/nats/rows.ts';
import { type Define, examples } from './frame.ts';
import { type Opened, withRights } from './open-mesh.ts';

export const define: Define = (command, frame) => {
  command.action(
    frame.action(async (call) => {
      const { out } = call;
      const place = call.place();
      const { space } = place;
      const [rows, posts] = await Promise.all([
        withRights(place, 'provisioner', (opened) => rowsOf(opened, space)),
        withRights(place, 'manager', (opened) => postsOf(opened, space)),
      ]);
      const defaults = rows.get(CHANNEL_DEFAULTS);
      const names = [...new Set([...rows.keys(), ...posts.keys()])].filter((name) => name !== CHANNEL_DEFAULTS).sort();
      for (const channel of [CHANNEL_DEFAULTS, ...names]) {
        const row = rows.get(channel);
        const deliveryClass = effectiveClass(row, defaults);
        const description = row?.description === undefined ? {} : { description: row.description };
        const count = channel === CHANNEL_DEFAULTS ? {} : { posts: posts.get(channel) ?? 0 };
        out.answer(
          { channel, class: deliveryClass, own: row?.deliveryClass !== undefined, ...count, ...description },
          `${out.paint('bold', channel)}  ${deliveryClass}${row?.deliveryClass === undefined ? out.paint('dim', ' (by default)') : ''}${count.posts === undefined ? '' : `  ${count.posts} ${count.posts === 1 ? 'post' : 'posts'} kept`}${row?.description === undefined ? '' : `  ${row.description}`}`,
        );
      }
      return 0;
    }),
  );
  examples(command, 'cotal channel list');
};

const fail = (what: string, failure: { kind: string }): never => {
  throw new Plane3Error('channel.list', { what, reason: wordsOfFailure(failure) });
};

async function rowsOf({ connection }: Opened, space: string): Promise<Map<string, ChannelRow>> {
  const bucket = buckets(space).channels;
  const listed = await listKeys({ connection, bucket, filter: '>' });
  if (listed.kind === 'failed') return fail('the channel rows', listed.failure);
  const rows = new Map<string, ChannelRow>();
  await Promise.all(
    listed.keys.map(async (key) => {
      const read = await readRow({ connection, bucket, key });
      if (read.kind === 'failed') return fail(key, read.failure);
      const row = read.kind === 'found' ? shaped(channelRowSchema, readJson(read.data)) : undefined;
      if (row !== undefined) rows.set(key, row);
    }),
  );
  return rows;
}

/** Posts kept, by channel; what lies on a foreign subject is none. */
async function postsOf({ connection }: Opened, space: string): Promise<Map<string, number>> {
  const filter = `cotal.${space}.chat.>`;
  const listed = await listSubjects({ connection, stream: streams(space).chat, filter });
  if (listed.kind === 'failed') return fail('the posts', listed.failure);
  const posts = new Map<string, number>();
  for (const [subject, count] of listed.subjects) {
    const place = readChatSubject(space, subject);
    if (place !== undefined) posts.set(place.channel, (posts.get(place.channel) ?? 0) + count);
  }
  return posts;
}
