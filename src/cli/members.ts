/** `cotal members`: two sets that are not one. Durable by the registry, live by the broker. */
import { parseChannel } from '../domain/names.ts';
import { inboxPrefix } from '../domain/permissions.ts';
import { durableMembers, subscribedTo } from '../manager/members.ts';
import { readSubscribers } from '../services/nats/subscribers.ts';
import { type Define, examples } from './frame.ts';
import { withRights } from './open-mesh.ts';

export const define: Define = (command, frame) => {
  command.argument('<channel>', 'a concrete channel', parseChannel).action(
    frame.action<[channel: string]>(async (call, channel) => {
      const { out } = call;
      const place = call.place();
      const { space } = place;
      const subscribers = await withRights(place, 'observer', ({ connection, keys, credential }) =>
        readSubscribers({
          connection,
          inboxPrefix: inboxPrefix(credential.publicKey),
          account: keys.space.account.publicKey,
        }),
      );
      const { members, present } = await withRights(place, 'manager', async ({ connection }) => ({
        members: await durableMembers({ connection, space, channel }),
        present:
          subscribers.kind === 'read'
            ? await subscribedTo({ connection, space, channel, subscribers: subscribers.subscribers })
            : undefined,
      }));
      const known = new Set(members.map(({ principal }) => principal));
      const inState = (state: string) =>
        members.filter((each) => each.state === state).map(({ principal }) => principal);
      const [durable, pending] = [inState('active'), inState('pending')];
      const live = present?.principals.filter((principal) => !known.has(principal)) ?? null;
      const away =
        present === undefined ? null : durable.filter((principal) => !present.principals.includes(principal));
      const unnamed = present?.unnamed ?? 0;
      const reason = subscribers.kind === 'incomplete' ? { reason: subscribers.why } : {};
      out.answer(
        { channel, durable, live, pending, away, ...(unnamed === 0 ? {} : { unnamed }), ...reason },
        [
          `${out.paint('bold', channel)}`,
          `  durable  ${said(durable)}${away !== null && away.length > 0 ? out.paint('dim', `  (away: ${away.join(', ')})`) : ''}`,
          `  live     ${live === null ? `unknown: ${reason.reason}` : said(live)}${unnamed === 0 ? '' : `, and ${unnamed} that no ledger names`}`,
          ...(pending.length === 0 ? [] : [`  pending  ${said(pending)}`]),
        ].join('\n'),
      );
      return live === null ? 1 : 0;
    }),
  );
  examples(command, 'cotal members team.general', 'cotal members team.general --json');
};

const said = (principals: readonly string[]): string => (principals.length === 0 ? 'nobody' : principals.join(', '));
