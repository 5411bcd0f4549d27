/** `cotal timer list`: what is armed, what has fired, and how many requests nobody has taken yet. */
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { inboxPrefix } from '../domain/permissions.ts';
import { Timers } from '../services/nats/timers.ts';
import { type Define, examples } from './frame.ts';
import { withRights } from './open-mesh.ts';

export const define: Define = (command, frame) => {
  command.action(
    frame.action(async (call) => {
      const { out } = call;
      const place = call.place();
      const listed = await withRights(place, 'scheduler', ({ connection, credential }) =>
        new Timers({ connection, inboxPrefix: inboxPrefix(credential.publicKey), space: place.space }).list(),
      );
      if (listed.kind !== 'read') throw new Plane3Error('timer.list', { reason: JSON.stringify(listed) });
      for (const { name, state, timer } of listed.timers) {
        const { endpoint, instance, epoch, timerId } = name;
        const at = timer === undefined ? 'unreadable' : new Date(timer.deadline).toISOString();
        out.answer(
          { ...name, state, generation: timer?.generation ?? null, deadline: timer?.deadline ?? null },
          `${out.paint('bold', timerId)}  ${state}  ${at}  ${out.paint('dim', `${endpoint}.${instance}.${epoch}, generation ${timer?.generation ?? '?'}`)}`,
        );
      }
      out.answer(
        { timers: listed.timers.length, waiting: listed.waiting },
        `${listed.timers.length} timers, ${listed.waiting} requests wait for the writer`,
      );
      return 0;
    }),
  );
  examples(command, 'cotal timer list', 'cotal timer list --json');
};
