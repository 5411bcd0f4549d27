/** The rows of the space's buckets in memory. */
import { readJson, shaped } from '../../domain/message.ts';
import { type Member, memberKey, readMember } from '../../domain/names.ts';
import { aclIn, floorRowSchema, isMarker, laneMarkSchema, memberRowSchema, readAcl } from '../../domain/rows.ts';
import { buckets, keySubject, memberRowKey } from '../../domain/subjects.ts';
import type { Rows } from '../ports.ts';
import type { MemoryStream } from './stream.ts';
import type { Wire } from './wire.ts';

const FLOOR_KEY = '=fanout';
const encoder = new TextEncoder();

export const encodeRow = (row: object): Uint8Array => encoder.encode(JSON.stringify(row));

export function memoryRows(wire: Wire): Rows {
  const { acl, members, lanes, space } = wire.broker;
  const bucket = buckets(space);
  const lastOf = (stream: MemoryStream, name: string, key: string) => stream.last(keySubject(name, key));
  const aclOf = (member: Member) => {
    const kept = lastOf(acl, bucket.acl, memberKey(member));
    return kept === undefined ? { acl: readAcl(undefined), revision: 0 } : { acl: aclIn(kept), revision: kept.seq };
  };
  const put = (verb: string, key: string, data: Uint8Array, headers: Record<string, string> = {}) =>
    wire.ask(verb, () => {
      lanes.publish({ subject: keySubject(bucket.lanes, key), data, headers });
      return { kind: 'stored' as const };
    });
  return {
    acl: ({ member }) => wire.look('rows.acl', () => ({ kind: 'read', ...aclOf(member) })),

    lifecycles: ({ principal }) =>
      wire.look('rows.lifecycles', () => {
        const head = keySubject(bucket.acl, '');
        const found = [...acl.subjects(`${head}${principal}.*`).keys()].flatMap((subject) => {
          const member = readMember(subject.slice(head.length));
          if (member === undefined) return [];
          const { acl: state } = aclOf(member);
          return state.kind === 'grant' ? [{ member, acl: state }] : [];
        });
        return { kind: 'read', members: found };
      }),

    membership: ({ channel, member }) =>
      wire.look('rows.membership', () => {
        const kept = lastOf(members, bucket.members, memberRowKey(channel, member));
        if (kept === undefined) return { kind: 'absent', revision: 0 };
        if (isMarker(kept.header)) return { kind: 'absent', revision: kept.seq };
        const row = shaped(memberRowSchema, readJson(kept.data));
        return row === undefined
          ? { kind: 'unreadable', revision: kept.seq }
          : { kind: 'row', row, revision: kept.seq };
      }),

    async writeMembership({ channel, member, row, revision }) {
      const subject = keySubject(bucket.members, memberRowKey(channel, member));
      const outcome = await wire.ask('rows.writeMembership', () =>
        members.publish({ subject, data: encodeRow(row), expectLastSubjectSeq: revision }),
      );
      if (outcome.kind === 'refused') return { kind: 'silent', why: outcome.code };
      if (outcome.kind === 'stored' || outcome.kind === 'duplicate') return { kind: 'stored', revision: outcome.seq };
      return outcome;
    },

    mark: ({ member }) =>
      wire.look('rows.mark', () => {
        const kept = lastOf(lanes, bucket.lanes, memberKey(member));
        if (kept === undefined || isMarker(kept.header)) return { kind: 'read', mark: { handedTo: 0 }, storedAt: 0 };
        const mark = shaped(laneMarkSchema, readJson(kept.data)) ?? { handedTo: 0 };
        return { kind: 'read', mark, storedAt: kept.storedAt };
      }),
    writeMark: ({ member, mark }) => put('rows.writeMark', memberKey(member), encodeRow(mark)),
    async removeMark({ member }) {
      const outcome = await put('rows.removeMark', memberKey(member), new Uint8Array(), { 'KV-Operation': 'DEL' });
      if (outcome.kind === 'stored') return { kind: 'removed' };
      return outcome.kind === 'refused' ? { kind: 'silent', why: outcome.code } : outcome;
    },

    floor: () =>
      wire.look('rows.floor', () => {
        const kept = lastOf(lanes, bucket.lanes, FLOOR_KEY);
        return { kind: 'read', row: kept === undefined ? undefined : shaped(floorRowSchema, readJson(kept.data)) };
      }),
    writeFloor: (row) => put('rows.writeFloor', FLOOR_KEY, encodeRow(row)),
  };
}
