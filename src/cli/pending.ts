/** `cotal pending`: what is owed to whom, without content. Where no daemon answers it is unknown, which is not none. */
import { Plane3Error } from '../domain/errors/catalogue.ts';
import type { ArgsOf, DataOf } from '../domain/rail.ts';
import { askAdmin, whyNot } from './admin-rail.ts';
import { type Define, examples } from './frame.ts';
import { type Opened, principalNamed, withRights } from './open-mesh.ts';
import type { Output } from './output.ts';

type Owed = DataOf<'owed'>['members'][number];

export const define: Define = (command, frame) => {
  command.argument('[name]', 'one agent; everybody to whom something is owed, unless told').action(
    frame.action<[name: string | undefined]>(async (call, name) => {
      const { out } = call;
      const place = call.place();
      const principal = name === undefined ? undefined : principalNamed(name);
      const read = await withRights(place, 'manager', (opened) => readOwed(opened, place.space, principal));
      if (read.kind === 'unknown') {
        const { reason } = read;
        const unknown = { pending: null, handedOff: null, oldestAgeMs: null, givenUp: null, reason };
        out.answer(
          { member: principal ?? null, ...unknown },
          `${out.paint('yellow', '!')} what is owed${principal === undefined ? '' : ` to ${principal}`} is unknown: ${reason}`,
        );
        return 1;
      }
      for (const { member, ...owed } of read.members) {
        const uid = member.slice(member.lastIndexOf('.') + 1);
        const owner = member.slice(0, member.lastIndexOf('.'));
        out.answer({ member: owner, lifecycleUid: uid, ...owed }, textOf(out, owner, owed));
      }
      if (read.members.length === 0) out.text('nothing is owed to anybody');
      return 0;
    }),
  );
  examples(command, 'cotal pending', 'cotal pending bob --json');
};

type Read = { kind: 'read'; members: Owed[] } | { kind: 'unknown'; reason: string };

async function readOwed({ connection, credential }: Opened, space: string, principal?: string): Promise<Read> {
  const members: Owed[] = [];
  for (;;) {
    const after = members.at(-1)?.member;
    const args: ArgsOf<'owed'> = {
      ...(principal === undefined ? {} : { principal }),
      ...(after === undefined ? {} : { after }),
    };
    const answer = await askAdmin({ connection, credential, space }, 'owed', args);
    if (answer.kind === 'refused') {
      throw new Plane3Error('rail.refused', { op: 'owed', reason: answer.message, code: answer.code });
    }
    if (answer.kind !== 'answered') return { kind: 'unknown', reason: whyNot(answer) };
    members.push(...answer.data.members);
    if (!answer.data.more || answer.data.members.length === 0) return { kind: 'read', members };
  }
}

function textOf(out: Output, member: string, owed: Omit<Owed, 'member'>): string {
  const { pending, handedOff, oldestAgeMs, givenUp, shortfall } = owed;
  const age = oldestAgeMs === null ? '' : `, the oldest for ${Math.round(oldestAgeMs / 1000)} s`;
  const given = givenUp === 0 ? '' : `; ${givenUp} given up, kept until its ACL row is there`;
  const short = shortfall === undefined ? '' : `; ${shortfall.count} not copied, its quota was full`;
  return `${out.paint('bold', member)}  ${pending} owed, ${handedOff} of them handed off${age}${given}${short}`;
}
