/** The machines of a serving period over the period's work. Nothing is decided here. */

import { memberKey } from '../domain/names.ts';
import type { Numbers } from '../domain/numbers.ts';
import {
  type AuditFact,
  fanoutMachine,
  type OpenFact,
  type PostFact,
  type StoreFact as RoundFact,
  type RouteFact,
  type SettleFact,
} from '../machines/fanout.machine.ts';
import { type HandedFact, inventoryMachine, type RoundFact as RoundReadFact } from '../machines/inventory.machine.ts';
import type {
  AuthorizeFact,
  MarkFact,
  RecoverFact,
  RemoveFact,
  RetiredFact,
  ReviewFact,
  RowFact,
  Silence,
  StoreFact,
  VerdictFact,
} from '../machines/lane.facts.ts';
import { laneMachine } from '../machines/lane.machine.ts';
import {
  type CatchUpFact,
  membershipMachine,
  type ReadFact,
  type WithdrawFact,
  type WriteFact,
} from '../machines/membership.machine.ts';
import { type RailsEvent, railsMachine } from '../machines/rails.machine.ts';
import { type ConfirmationFact, readerMachine, type SurveyFact } from '../machines/reader.machine.ts';
import { type PendingFact, registryMachine } from '../machines/registry.machine.ts';
import { ask, listen } from './bind-effects.ts';
import type { ServingPeriod } from './delivery/period.ts';
import type { Journal } from './ports.ts';
import type { Tally } from './tally.ts';

export interface DeliveryServices {
  /** The period that serves now. Machines of it are only started while there is one. */
  period(): ServingPeriod;
  readonly journal: Journal;
  readonly tally: Tally;
  readonly numbers: Numbers;
}

type Who = { member: string };
type Row = { key: string };
type Silent = { type: 'broker.silent' };

export function bindLane({ period, journal, numbers }: DeliveryServices) {
  return laneMachine.provide({
    actors: {
      recoverPlace: ask<RecoverFact | RowFact | Silence, Who>(({ member }) => period().lanes.recover(member)),
      authorizeBatch: ask<AuthorizeFact | VerdictFact | RowFact | Silence, Who & { waiting: number }>(
        ({ member, waiting }) => period().lanes.authorize(member, waiting),
      ),
      handOff: ask<StoreFact | Silence, Who>(({ member }) => period().lanes.handOff(member)),
      markHandedOff: ask<MarkFact | Silence, Who>(({ member }) => period().lanes.markHandedOff(member)),
      removeSettled: ask<RemoveFact | Silence, Who & { settled: number }>(({ member, settled }) =>
        period().withdrawals.removeSettled(member, settled),
      ),
      removeEverything: ask<RemoveFact | Silence, Who>(({ member }) => period().withdrawals.removeEverything(member)),
      reviewCopies: ask<ReviewFact | RetiredFact | Silence, Who & { reviews: number }>(({ member, reviews }) =>
        period().withdrawals.review(member, reviews),
      ),
      markGivenUp: ask<MarkFact | Silence, Who & { attempts: number }>(({ member, attempts }) =>
        period().lanes.markGivenUp(member, attempts),
      ),
    },
    actions: {
      tellGivenUp: (_, facts) => journal.tell('lane.given-up', facts),
      tellRemovalGivenUp: (_, facts) => journal.tell('lane.removal-given-up', facts),
      refuseReviews: (_, { member }) => period().refuseReviews(member),
      tellRefusedStore: (_, facts) => journal.tell('lane.refused-store', facts),
    },
    delays: {
      laneRest: numbers.laneRestMs,
      unknownRetry: numbers.giveUpSpacingMs,
      removalRetry: numbers.giveUpSpacingMs,
      removalDelay: numbers.removalDelayMs,
    },
  });
}

export function bindInventory({ period, journal }: DeliveryServices) {
  return inventoryMachine.provide({
    actors: {
      readRound: ask<RoundReadFact, { members: readonly string[] }>(({ members }, signal) =>
        period().inventory.read(members, signal),
      ),
      handOut: ask<HandedFact, undefined>((_, signal) => period().inventory.handOut(signal)),
    },
    actions: { tellFailed: (_, facts) => journal.tell('daemon.fault', { stack: facts.message, ...facts }) },
  });
}

export function bindReader(services: DeliveryServices) {
  const { period, tally, journal, numbers } = services;
  return readerMachine.provide({
    actors: {
      lane: bindLane(services),
      inventory: bindInventory(services),
      survey: ask<SurveyFact, { all: boolean }>((of) => period().survey.make(of)),
      hearConfirmations: listen<ConfirmationFact, undefined>((tell) => {
        const serving = period();
        let came = new Map<string, number>();
        const flush = () => {
          const members = [...came].map(([member, count]) => ({ member, count }));
          came = new Map();
          tell({ type: 'confirmations.came', members });
        };
        return serving.ports.copies.hearSettled({
          bound: () => tell({ type: 'confirmations.bound' }),
          lost: (why) => tell({ type: 'confirmations.lost', why }),
          settled: ({ member, seq, how }) => {
            const key = memberKey(member);
            const isKnown = serving.lanes.settled({ key, copySeq: seq, how });
            tally.add('copies.settled', how);
            // What comes in one turn of the loop is told together.
            if (came.size === 0) setImmediate(flush);
            came.set(key, (came.get(key) ?? 0) + (isKnown ? 1 : 0));
          },
        });
      }),
    },
    actions: {
      forgetLane: (_, { member, end }) => {
        const serving = period();
        if (end === 'rested') serving.desks.rest(member);
        else serving.desks.drop(member);
        // Whoever was given up is not met again for the same figures; anybody else is, if something is left.
        if (end !== 'given-up') serving.survey.forget(member);
      },
      tellFailed: (_, facts) => journal.tell('daemon.fault', { stack: facts.message, ...facts }),
      tellLost: (_, facts) => journal.tell('confirmations.lost', facts),
    },
    delays: { surveyEvery: numbers.surveyMs },
  });
}

export function bindFanout({ period, journal, tally }: DeliveryServices) {
  return fanoutMachine.provide({
    actors: {
      openPosts: ask<OpenFact, undefined>(async () => {
        const opened = await period().fanout.open();
        if (opened.kind === 'opened') return { type: 'posts.opened', position: period().fanout.position };
        if (opened.kind === 'silent') return { type: 'broker.silent' };
        return { type: 'posts.refused', code: opened.kind === 'refused' ? opened.code : opened.kind };
      }),
      hearPosts: listen<PostFact, undefined>((tell) =>
        period().fanout.hear({
          waiting: (count) => tell({ type: 'posts.waiting', count }),
          skipped: (range) => tell({ type: 'posts.skipped', ...range }),
          lost: (why) => tell({ type: 'posts.lost', why }),
        }),
      ),
      auditPosts: ask<AuditFact, undefined>(async () =>
        (await period().fanout.look()).kind === 'looked' ? { type: 'posts.audited' } : { type: 'broker.silent' },
      ),
      routeRound: ask<RouteFact, { waiting: number }>(async ({ waiting }) => {
        const routed = await period().fanout.route();
        if (routed === undefined) return { type: 'round.empty', met: waiting };
        return 'kind' in routed ? { type: 'broker.silent' } : { type: 'round.routed', ...routed };
      }),
      storeRound: ask<RoundFact, undefined>(async () => asRound(await period().fanout.storeRound())),
      storeEach: ask<RoundFact, undefined>(async () => asRound(await period().fanout.storeEach())),
      settleRound: ask<SettleFact, undefined>(() => period().fanout.settle()),
    },
    actions: {
      tellSkipped: (_, { from, to }) => {
        tally.add('posts.skipped', '', to - from + 1);
        void period().fanout.discarded({ from, to });
        void period()
          .ports.posts.fullSubjects()
          .then((read) => {
            const subjects = read.kind === 'read' ? read.subjects.slice(0, 20).join(' ') || 'none now' : 'unknown';
            journal.tell('posts.skipped', { from, to, subjects });
          });
      },
      tellHolding: (_, facts) => journal.tell('fanout.holding', facts),
      tellReopening: (_, facts) => journal.tell('fanout.reopening', facts),
    },
  });
}

function asRound(outcome: { kind: string; code?: string }): RoundFact {
  switch (outcome.kind) {
    case 'stored':
      return { type: 'copies.stored' };
    case 'duplicate':
      return { type: 'copies.duplicated' };
    case 'silent':
      return { type: 'broker.silent' };
    default:
      return { type: 'store.refused', code: outcome.code ?? outcome.kind };
  }
}

export function bindRegistry({ period, journal }: DeliveryServices) {
  const membership = membershipMachine.provide({
    actors: {
      readRow: ask<ReadFact | Silent, Row>(({ key }) => period().memberships.read(key)),
      openRow: ask<WriteFact | Silent, Row & { generation: number }>(({ key, generation }) =>
        period().memberships.open(key, generation),
      ),
      catchUp: ask<CatchUpFact | Silent, Row & { generation: number; joinCursor: number }>(({ key, joinCursor }) =>
        period().memberships.catchUp(key, joinCursor),
      ),
      activateRow: ask<WriteFact | Silent, Row & { generation: number }>(({ key, generation }) =>
        period().memberships.activate(key, generation),
      ),
      closeRow: ask<WriteFact | Silent, Row & { generation: number }>(({ key, generation }) =>
        period().memberships.close(key, generation),
      ),
      withdraw: ask<WithdrawFact | Silent, Row & { generation: number }>(({ key, generation }) =>
        period().memberships.withdraw(key, generation),
      ),
    },
    actions: { tellLostToRetention: (_, facts) => journal.tell('membership.lost-to-retention', facts) },
  });
  return registryMachine.provide({
    actors: { membership, listPending: ask<PendingFact, undefined>(async () => period().memberships.pending()) },
    actions: {
      answer: (_, { ticket, answer }) => period().tickets.settle(ticket, answer),
      tellFailed: (_, facts) => journal.tell('daemon.fault', { stack: facts.message, ...facts }),
    },
  });
}

export function bindRails({ period }: DeliveryServices) {
  return railsMachine.provide({
    actors: {
      serveRails: listen<RailsEvent, undefined>((tell) =>
        period().serveRails({
          bound: () => tell({ type: 'rails.bound' }),
          lost: (why) => tell({ type: 'rails.lost', why }),
        }),
      ),
    },
  });
}
