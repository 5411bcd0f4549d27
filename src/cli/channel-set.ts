/** `cotal channel set`: writes the row, and answers when the writer routes by it. */
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { readJson, shaped } from '../domain/message.ts';
import { parseChannel } from '../domain/names.ts';
import { CHANNEL_DEFAULTS, channelRowSchema, type DeliveryClass } from '../domain/rows.ts';
import { buckets } from '../domain/subjects.ts';
import { readRow, writeRow } from '../services/nats/rows.ts';
import { askAdmin, whyNot } from './admin-rail.ts';
import { oneOf } from './flags.ts';
import { type Define, examples } from './frame.ts';
import { type Opened, withRights } from './open-mesh.ts';

interface Options {
  readonly class: DeliveryClass;
  readonly description?: string;
}

/** Writes that another one may come before. */
const ATTEMPTS = 5;

export const define: Define = (command, frame) => {
  command
    .argument('<channel>', `a concrete channel, or ${CHANNEL_DEFAULTS} for all without a row of their own`, (text) =>
      text === CHANNEL_DEFAULTS ? text : parseChannel(text),
    )
    .requiredOption('--class <class>', 'durable or live', oneOf('--class', ['durable', 'live']))
    .option('--description <text>', 'what it is for')
    .action(
      frame.action<[channel: string, options: Options]>(async (call, channel, options) => {
        const { out } = call;
        const place = call.place();
        const { space } = place;
        const revision = await withRights(place, 'provisioner', (opened) => setRow(opened, space, channel, options));
        const answer = await withRights(place, 'manager', (opened) =>
          out.waiting('waiting for the writer', askAdmin({ ...opened, space }, 'channelSeen', { channel, revision })),
        );
        const seen = answer.kind === 'answered';
        const reason = seen ? {} : { reason: whyNot(answer) };
        out.answer(
          { channel, class: options.class, revision, seen, ...reason },
          seen
            ? `${out.paint('green', '✓')} ${channel} is ${options.class}`
            : `${out.paint('yellow', '!')} ${channel} is set to ${options.class}; it takes effect when the daemon is back (${reason.reason})`,
        );
        return 0;
      }),
    );
  examples(
    command,
    'cotal channel set team.general --class durable',
    `cotal channel set ${CHANNEL_DEFAULTS} --class live`,
  );
};

/** Writes the class into the row, whose other fields are kept; answers with the row's revision. */
async function setRow({ connection }: Opened, space: string, channel: string, options: Options): Promise<number> {
  const bucket = buckets(space).channels;
  const fail = (reason: object): never => {
    throw new Plane3Error('channel.set', { channel, reason: JSON.stringify(reason) });
  };
  for (let attempt = 1; ; attempt++) {
    const read = await readRow({ connection, bucket, key: channel });
    if (read.kind === 'failed') return fail(read.failure);
    const before = read.kind === 'found' ? shaped(channelRowSchema, readJson(read.data)) : {};
    if (before === undefined) return fail({ kind: 'unreadable', what: 'the row that is there' });
    const { class: deliveryClass, description } = options;
    const value = { ...before, deliveryClass, ...(description === undefined ? {} : { description }) };
    const written = await writeRow({ connection, bucket, key: channel, value, expect: read.revision });
    if (written.kind === 'stored') return written.revision;
    if (written.kind !== 'conflict' || attempt === ATTEMPTS) return fail(written);
  }
}
