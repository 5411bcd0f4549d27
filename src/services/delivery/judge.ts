/** Reads the rows that a decision needs, now, and judges by them (R3). Nothing here is remembered. */
import { type Disposition, disposition, isMention, type MembershipState } from '../../domain/disposition.ts';
import { type Member, readMember } from '../../domain/names.ts';
import type { AclState } from '../../domain/rows.ts';
import type { HeldCopy, Rows, Silent } from '../ports.ts';

interface Judged {
  readonly channel: string;
  readonly seq: number;
  readonly generation: number;
}

export interface Judge {
  readonly kind: 'judge';
  readonly acl: AclState;
  disposition(of: Judged): Disposition;
}

/** `of`: what is going to be judged; the rows that it needs are read after this call. */
export async function openJudge(rows: Rows, member: Member, of: readonly Judged[]): Promise<Judge | Silent> {
  const channels = [...new Set(of.filter((each) => !isMention(each)).map((each) => each.channel))];
  const [acl, ...memberships] = await Promise.all([
    rows.acl({ member }),
    ...channels.map((channel) => rows.membership({ channel, member })),
  ]);
  if (acl.kind === 'silent') return acl;
  const states = new Map<string, MembershipState>();
  for (const [i, read] of memberships.entries()) {
    if (read.kind === 'silent') return read;
    states.set(channels[i] ?? '', read.kind === 'unreadable' ? { kind: 'unknown' } : read);
  }
  return {
    kind: 'judge',
    acl: acl.acl,
    disposition: (each) => disposition(each, acl.acl, states.get(each.channel) ?? { kind: 'absent' }),
  };
}

/** What a handed-off copy is judged by. */
export const asJudged = (copy: HeldCopy): Judged => ({
  channel: copy.channel,
  seq: copy.post,
  generation: copy.generation,
});

/** The member that a lane was started for. Lanes are started for parsed names only. */
export function memberOf(key: string): Member {
  const member = readMember(key);
  if (member === undefined) throw new Error(`"${key}" is not a member`);
  return member;
}
