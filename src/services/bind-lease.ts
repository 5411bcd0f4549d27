/** The lease machine over the lease row: who we are, what is written, and what the fence is told. */
import { type Claimant, isOurs } from '../domain/lease.ts';
import type { Numbers } from '../domain/numbers.ts';
import type { LeaseRow } from '../domain/rows.ts';
import {
  type ClaimFact,
  type InquiryFact,
  leaseMachine,
  type ReleaseFact,
  type RenewFact,
  type WatchFact,
} from '../machines/lease.machine.ts';
import { ask, listen } from './bind-effects.ts';
import type { Fence } from './fence.ts';
import type { Clock, LeaseRows } from './ports.ts';

export interface LeaseServices {
  /** The row as the resident connection of the moment reaches it. */
  rows(): LeaseRows;
  readonly fence: Fence;
  readonly clock: Clock;
  /** `releaseMs`: how long a stop waits for the row to be given back. */
  readonly numbers: Pick<Numbers, 'leaseTtlMs' | 'leaseRenewMs' | 'standbyProbeMs'> & { readonly releaseMs: number };
  /** What the row carries so that the holder's answers can be proved. */
  proof(): Pick<LeaseRow, 'proofKey' | 'proofAttestation'>;
}

const UNREADABLE = '(an unreadable row)';

export function bindLease({ rows, fence, clock, numbers, proof }: LeaseServices) {
  let acquiredAt = 0;
  const rowOf = (us: Claimant, ready: boolean): LeaseRow => {
    const now = clock.now().wallMs;
    acquiredAt ||= now;
    return { holder: us.holder, incarnation: us.incarnation, since: acquiredAt, acquiredAt, ready, ...proof() };
  };
  /** Who the row says it is; a row that cannot be read is somebody's. */
  const look = async (
    us: Claimant,
  ): Promise<InquiryFact | { type: 'write.denied'; subject: string; operation: string }> => {
    const read = await rows().read();
    switch (read.kind) {
      case 'absent':
        return { type: 'row.absent' };
      case 'silent':
        return { type: 'inquiry.unanswered' };
      case 'denied':
        return { type: 'write.denied', subject: read.subject, operation: read.operation };
      case 'unreadable':
        return { type: 'row.held', holder: UNREADABLE, expiresInMs: Math.max(0, numbers.leaseTtlMs - read.ageMs) };
      case 'row':
        return isOurs(read.row, us)
          ? { type: 'row.ours', revision: read.revision }
          : {
              type: 'row.held',
              holder: read.row.holder,
              incarnation: read.row.incarnation,
              expiresInMs: Math.max(0, numbers.leaseTtlMs - read.ageMs),
            };
    }
  };
  const write = async (us: Claimant, revision: number, ready: boolean) => {
    const sentAt = clock.now();
    const outcome = await rows().write({ row: rowOf(us, ready), revision });
    if (outcome.kind === 'stored') fence.renewed(sentAt);
    return outcome;
  };

  return leaseMachine.provide({
    actors: {
      claimLease: ask<ClaimFact, Claimant>(async (us) => {
        const outcome = await write(us, 0, false);
        if (outcome.kind === 'stored') return { type: 'row.stored', revision: outcome.revision };
        if (outcome.kind === 'denied')
          return { type: 'write.denied', subject: outcome.subject, operation: outcome.operation };
        if (outcome.kind === 'silent') return { type: 'write.unanswered' };
        const seen = await look(us);
        if (seen.type === 'row.held' || seen.type === 'write.denied') return seen;
        return seen.type === 'row.ours'
          ? { type: 'row.stored', revision: seen.revision }
          : { type: 'write.unanswered' };
      }),
      renewLease: ask<RenewFact, Claimant & { revision: number; ready: boolean }>(
        async ({ revision, ready, ...us }) => {
          const outcome = await write(us, revision, ready);
          switch (outcome.kind) {
            case 'stored':
              return { type: 'row.stored', revision: outcome.revision };
            case 'conflict':
              return { type: 'write.conflicted' };
            case 'denied':
              return { type: 'write.denied', subject: outcome.subject, operation: outcome.operation };
            case 'silent':
              return { type: 'write.unanswered' };
          }
        },
      ),
      inquireLease: ask<InquiryFact, Claimant>(async (us) => {
        const seen = await look(us);
        return seen.type === 'write.denied' ? { type: 'inquiry.unanswered' } : seen;
      }),
      releaseLease: ask<ReleaseFact, Claimant & { revision: number }>(async ({ revision }) => {
        const outcome = await rows().remove({ revision });
        if (outcome.kind === 'removed') return { type: 'row.released' };
        return outcome.kind === 'conflict' ? { type: 'write.conflicted' } : { type: 'write.unanswered' };
      }),
      watchLease: listen<WatchFact, Claimant & { revision: number }>((tell, us) =>
        rows().watch({
          bound: () => tell({ type: 'watch.bound' }),
          row: ({ row, revision }) => {
            if (row === undefined || !isOurs(row, us)) tell({ type: 'row.foreign', revision });
          },
          gone: ({ revision }) => tell({ type: 'row.gone', revision }),
          lost: (why) => tell({ type: 'watch.lost', why }),
        }),
      ),
    },
    delays: { renewEvery: numbers.leaseRenewMs, standbyProbe: numbers.standbyProbeMs, releaseGrace: numbers.releaseMs },
  });
}
