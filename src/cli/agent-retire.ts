/**
 * `cotal agent retire`: the end of a lifecycle. Its name may come back, as another lifecycle: its credential is taken away by
 * whoever did the work, for when that is heard of here the file may be the successor's.
 */
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { askManager } from './ask-manager.ts';
import { type Define, examples } from './frame.ts';
import { principalNamed } from './open-mesh.ts';

export const define: Define = (command, frame) => {
  command.argument('<name>', 'name of the agent, or its principal (owner.actor)').action(
    frame.action<[name: string]>(async (call, name) => {
      const place = call.place();
      const principal = principalNamed(name);
      const outcome = (await call.out.waiting(`retiring ${principal}`, askManager(place, 'retire', { principal }))) as {
        end: string;
        reason: string;
        durables: number;
        memberships: number;
        marks: number;
        uid: string;
      };
      const { end, reason, durables, memberships, marks, uid } = outcome;
      if (end === 'unknown') throw new Plane3Error('agent.unknown', { principal, state: 'never added' });
      if (end !== 'retired' && end !== 'already') throw new Plane3Error('agent.not-retired', { principal, reason });
      call.out.answer(
        {
          name,
          principal,
          lifecycleUid: uid,
          state: 'retired',
          already: end === 'already',
          durables,
          memberships,
          marks,
        },
        end === 'already'
          ? `${principal} is retired already`
          : `${call.out.paint('green', '✓')} ${call.out.paint('bold', principal)} is retired: ${memberships} memberships and its durable were removed`,
      );
      return 0;
    }),
  );
  examples(command, 'cotal agent retire alice');
};
