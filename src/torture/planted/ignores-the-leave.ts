/** A daemon that answers a leave and does nothing of it: the generation stays open, and nothing is taken back. */
import { MembershipWork } from '../../services/delivery/membership-work.ts';

MembershipWork.prototype.close = async (_key, generation) =>
  ({ type: 'row.written', generation, joinCursor: 0 }) as const;
MembershipWork.prototype.withdraw = async () => ({ type: 'member.withdrawn', dropped: 0 }) as const;
