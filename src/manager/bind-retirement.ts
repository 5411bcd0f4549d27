/** Retirement over the rows and the durables of a space. Every step may be done again: it goes on where the last one stood. */
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { z } from 'zod';
import { frozenGate, type Gate, gateKey, gateSchema, headKey, headSchema } from '../domain/auth-rows.ts';
import { AGENT_FAMILY } from '../domain/eviction.ts';
import { readJson } from '../domain/message.ts';
import { type Member, memberKey, readMember } from '../domain/names.ts';
import { aclRowSchema, laneMarkSchema, memberRowSchema } from '../domain/rows.ts';
import { deliveryConsumer, readMemberRowKey, streams } from '../domain/subjects.ts';
import {
  type Belongings,
  type LifecycleFact,
  type MarkFact,
  type RemoveFact,
  type Retiring,
  retirementMachine,
  type SettleFact,
  type TombFact,
} from '../machines/retirement.machine.ts';
import { ask } from '../services/bind-effects.ts';
import { CONSUMER_NOT_FOUND, parseDriverError, STREAM_NOT_FOUND } from '../services/nats/driver-errors.ts';
import { isLeaderless } from '../services/nats/leaderless.ts';
import { eachOf, type Trouble, troubleOf } from './auth-rows.ts';
import { bindFamily, forgetCursor } from './bind-family.ts';
import type { ManagerPorts } from './ports.ts';

export type RetirementPorts = ManagerPorts & { connection(): NatsConnection };

/** Rows that are removed at a time. */
const AT_ONCE = 16;
const isTrouble = (of: { type: string }): of is Trouble =>
  of.type === 'store.unanswered' || of.type === 'store.refused';

export function bindRetirement(ports: RetirementPorts) {
  const { rows, numbers, space } = ports;
  const headOf = (principal: string, signal: AbortSignal) =>
    rows.read({ key: headKey(principal), schema: headSchema, signal });
  return retirementMachine.provide({
    actors: {
      family: bindFamily(ports),
      lookAtLifecycle: ask<LifecycleFact, { principal: string }>(async ({ principal }, signal) => {
        const read = await headOf(principal, signal);
        if (isTrouble(read)) return read;
        if (read.type === 'absent') return { type: 'lifecycle.absent' };
        if (read.type === 'unreadable') return { type: 'lifecycle.unreadable' };
        const { row: head, revision } = read;
        const uid = head.lifecycleUid;
        if (head.state === 'retired') return { type: 'lifecycle.retired', uid };
        return head.state === 'active'
          ? { type: 'lifecycle.active', uid, revision }
          : { type: 'lifecycle.retiring', uid, revision, opId: head.op.opId };
      }),

      markRetiring: ask<MarkFact, Retiring>(async (of, signal) => {
        const head = await headOf(of.principal, signal);
        if (isTrouble(head)) return head;
        if (head.type !== 'found' || head.revision !== of.revision) return { type: 'lifecycle.raced' };
        let { revision } = head;
        if (head.row.state === 'active') {
          const value = { ...head.row, state: 'retiring', op: { opId: of.opId } };
          const written = await rows.write({ key: headKey(of.principal), value, expect: revision, signal });
          if (written.type === 'conflict') return { type: 'lifecycle.raced' };
          if (written.type !== 'written') return written;
          revision = written.revision;
        }
        const gate = await rows.read({ key: gateKey(of.uid), schema: gateSchema, signal });
        if (isTrouble(gate)) return gate;
        if (gate.type === 'unreadable') return { type: 'store.refused', reason: `${gateKey(of.uid)} cannot be read` };
        const op = { opId: of.opId, kind: 'retirement' as const };
        if (gate.type === 'found' && gate.row.state !== 'open') {
          const isOurs = gate.row.op.kind === 'retirement' && gate.row.op.opId === of.opId;
          return isOurs
            ? { type: 'lifecycle.marked', freezeToken: String(gate.revision), revision }
            : { type: 'lifecycle.raced' };
        }
        const before = gate.type === 'found' ? gate.row : { generation: 0 };
        const value = frozenGate(before, { principal: of.by, op });
        const frozen = await rows.write({ key: gateKey(of.uid), value, expect: gate.revision, signal });
        if (frozen.type === 'conflict') return { type: 'lifecycle.raced' };
        if (frozen.type !== 'written') return frozen;
        return { type: 'lifecycle.marked', freezeToken: String(frozen.revision), revision };
      }),

      removeBelongings: ask<RemoveFact, Retiring>(async (of, signal) => {
        const member = memberOf(of);
        if (member === undefined) return { type: 'store.refused', reason: `${of.principal} is no principal` };
        const recorded = await recordFrontiers(ports, of, signal);
        if (isTrouble(recorded)) return recorded;
        const durables = await removeDurable(ports, member, signal);
        if (typeof durables !== 'number') return durables;
        const removed = await removeRows(ports, member, signal);
        if (isTrouble(removed)) return removed;
        const { memberships, marks } = removed;
        return { type: 'belongings.removed', revision: recorded.revision, durables, memberships, marks };
      }),

      writeTombstone: ask<TombFact, Retiring>(async (of, signal) => {
        const member = memberOf(of);
        if (member === undefined) return { type: 'store.refused', reason: `${of.principal} is no principal` };
        const key = memberKey(member);
        const read = await rows.read({ bucket: 'acl', key, schema: aclRowSchema, signal });
        if (isTrouble(read)) return read;
        if (read.type === 'found' && read.row.retired === true) return { type: 'tombstone.written' };
        const revision = (read.type === 'found' ? read.row.revision : 0) + 1;
        const value = { retired: true, retiredAt: ports.clock.now().wallMs, revision };
        const written = await rows.write({ bucket: 'acl', key, value, expect: read.revision, signal });
        if (written.type === 'conflict') return { type: 'store.unanswered' };
        return written.type === 'written' ? { type: 'tombstone.written' } : written;
      }),

      settleRetirement: ask<SettleFact, Retiring>(async (of, signal) => {
        const gate = await rows.read({ key: gateKey(of.uid), schema: gateSchema, signal });
        if (isTrouble(gate)) return gate;
        if (gate.type === 'found' && gate.row.state === 'frozen') {
          const value: Gate = { ...gate.row, state: 'retired' };
          const written = await rows.write({ key: gateKey(of.uid), value, expect: gate.revision, signal });
          if (written.type === 'conflict') return { type: 'lifecycle.raced' };
          if (written.type !== 'written') return written;
        }
        const forgotten = await forgetCursor(
          ports,
          { endpoint: AGENT_FAMILY, instance: of.uid, opId: of.opId },
          signal,
        );
        if (isTrouble(forgotten)) return forgotten;
        const head = await headOf(of.principal, signal);
        if (isTrouble(head)) return head;
        if (head.type !== 'found' || head.row.lifecycleUid !== of.uid) return { type: 'lifecycle.raced' };
        if (head.row.state === 'retired') return { type: 'lifecycle.settled' };
        const value = { ...head.row, state: 'retired' };
        const written = await rows.write({ key: headKey(of.principal), value, expect: of.revision, signal });
        if (written.type === 'conflict') return { type: 'lifecycle.raced' };
        return written.type === 'written' ? { type: 'lifecycle.settled' } : written;
      }),
    },
    delays: { askAgain: numbers.askAgainMs },
  });

  /** How far each stream had come, on the head: written once. */
  async function recordFrontiers(_: RetirementPorts, of: Retiring, signal: AbortSignal) {
    const head = await headOf(of.principal, signal);
    if (isTrouble(head)) return head;
    // Another attempt was faster, and the name was given again: what is seen anew says so.
    if (head.type === 'found' && head.row.lifecycleUid !== of.uid) return { type: 'store.unanswered' } as const;
    if (head.type !== 'found' || head.row.state !== 'retiring') {
      return { type: 'store.refused', reason: 'the head is not retiring any more' } as const;
    }
    if ('frontiers' in head.row.op) return { type: 'recorded', revision: head.revision } as const;
    const frontiers: Record<string, number> = {};
    for (const name of [streams(space).chat, streams(space).inbox, streams(space).dlv]) {
      const last = await frontierOf(ports.connection(), name);
      if (typeof last !== 'number') return last;
      frontiers[name] = last;
    }
    const value = { ...head.row, op: { ...head.row.op, frontiers } };
    const written = await rows.write({ key: headKey(of.principal), value, expect: head.revision, signal });
    if (written.type === 'written') return { type: 'recorded', revision: written.revision } as const;
    return written.type === 'conflict' ? ({ type: 'store.unanswered' } as const) : written;
  }
}

const memberOf = ({ principal, uid }: Retiring): Member | undefined => readMember(`${principal}.${uid}`);

const infoSchema = z.object({ state: z.object({ last_seq: z.number() }) });

async function frontierOf(connection: NatsConnection, stream: string): Promise<number | Trouble> {
  try {
    const reply = await connection.request(`$JS.API.STREAM.INFO.${stream}`, '', { timeout: 5_000 });
    const json = readJson(reply.data);
    if (isLeaderless(json)) return { type: 'store.unanswered' };
    const info = infoSchema.safeParse(json);
    return info.success
      ? info.data.state.last_seq
      : { type: 'store.refused', reason: `the frontier of ${stream} cannot be told` };
  } catch (error) {
    return troubleOf(parseDriverError(error));
  }
}

async function removeDurable(ports: RetirementPorts, member: Member, signal: AbortSignal): Promise<number | Trouble> {
  if (signal.aborted) return { type: 'store.unanswered' };
  try {
    const manager = await jetstreamManager(ports.connection(), { checkAPI: false });
    await manager.consumers.delete(streams(ports.space).dlv, deliveryConsumer(member));
    return 1;
  } catch (error) {
    const failure = parseDriverError(error);
    const isGone = failure.kind === 'refused' && [CONSUMER_NOT_FOUND, STREAM_NOT_FOUND].includes(failure.code);
    return isGone ? 0 : troubleOf(failure);
  }
}

/** The member rows of exactly this lifecycle, and its lane mark. */
async function removeRows(
  ports: RetirementPorts,
  member: Member,
  signal: AbortSignal,
): Promise<({ type: 'rows' } & Omit<Belongings, 'durables'>) | Trouble> {
  const { rows } = ports;
  const listed = await rows.keys({ bucket: 'members', filter: '>', signal });
  if (listed.type !== 'listed') return listed;
  const own = memberKey(member);
  const keys = listed.keys.filter((key) => {
    const place = readMemberRowKey(key);
    return place !== undefined && memberKey(place.member) === own;
  });
  let memberships = 0;
  const remove = async (bucket: 'members' | 'lanes', key: string): Promise<boolean | Trouble> => {
    const schema = bucket === 'members' ? memberRowSchema : laneMarkSchema;
    const read = await rows.read<unknown>({ bucket, key, schema, signal });
    if (isTrouble(read)) return read;
    if (read.type === 'absent') return false;
    const removed = await rows.remove({ bucket, key, signal });
    if (removed.type === 'conflict') return { type: 'store.unanswered' };
    return removed.type === 'removed' ? true : removed;
  };
  const trouble = await eachOf(keys, AT_ONCE, async (key) => {
    const removed = await remove('members', key);
    if (removed === true) memberships += 1;
    return typeof removed === 'boolean' ? undefined : removed;
  });
  if (trouble !== undefined) return trouble;
  const mark = await remove('lanes', own);
  return typeof mark === 'boolean' ? { type: 'rows', memberships, marks: mark ? 1 : 0 } : mark;
}
