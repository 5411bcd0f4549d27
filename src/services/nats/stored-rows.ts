/** The rows that the daemon judges by and writes: read by direct get when asked, never from a cache. */
import { readJson, shaped } from '../../domain/message.ts';
import { type Member, memberKey, readMember } from '../../domain/names.ts';
import {
  type AclState,
  aclIn,
  floorRowSchema,
  isMarker,
  laneMarkSchema,
  memberRowSchema,
  readAcl,
} from '../../domain/rows.ts';
import { bucketStream, buckets, keySubject, memberRowKey } from '../../domain/subjects.ts';
import type { Denied, Refused, Rows, Silent } from '../ports.ts';
import { type GatedBroker, silence } from './gated-broker.ts';
import { Press } from './press.ts';
import { StreamStore } from './stream-store.ts';

/** Key in the lanes bucket under which the writer keeps its floor. */
const FLOOR_KEY = '=fanout';
const encoder = new TextEncoder();

export function natsRows({ broker, space }: { broker: GatedBroker; space: string }): Rows {
  const bucket = buckets(space);
  const store = (name: string) => new StreamStore(broker, bucketStream(name));
  const acls = store(bucket.acl);
  const members = store(bucket.members);
  const lanes = store(bucket.lanes);
  const lanePress = new Press(broker);
  const laneKey = (key: string) => keySubject(bucket.lanes, key);

  const readRow = async (from: StreamStore, subject: string) => {
    const found = await from.last(subject);
    if (found.kind === 'found')
      return { kind: 'row', marker: isMarker(found.message.header), message: found.message } as const;
    return found.kind === 'absent' ? found : silence(found);
  };
  const aclOf = async (member: Member): Promise<{ kind: 'read'; acl: AclState; revision: number } | Silent> => {
    const read = await readRow(acls, keySubject(bucket.acl, memberKey(member)));
    if (read.kind === 'silent') return read;
    if (read.kind === 'absent') return { kind: 'read', acl: readAcl(undefined), revision: 0 };
    return { kind: 'read', acl: aclIn(read.message), revision: read.message.seq };
  };
  const write = async (key: string, row: object): Promise<{ kind: 'stored' } | Refused | Denied | Silent> => {
    const outcome = await lanePress.store([{ subject: laneKey(key), data: encoder.encode(JSON.stringify(row)) }]);
    if (outcome.kind === 'stored') return { kind: 'stored' };
    return outcome.kind === 'duplicate' ? { kind: 'stored' } : outcome;
  };

  return {
    acl: ({ member }) => aclOf(member),

    async lifecycles({ principal }) {
      const head = keySubject(bucket.acl, '');
      const listed = await acls.subjects(`${head}${principal}.*`);
      if (listed.kind !== 'read') return silence(listed);
      const found: { member: Member; acl: AclState }[] = [];
      for (const subject of listed.subjects.keys()) {
        const member = readMember(subject.slice(head.length));
        if (member === undefined) continue;
        const read = await aclOf(member);
        if (read.kind === 'silent') return read;
        if (read.acl.kind === 'grant') found.push({ member, acl: read.acl });
      }
      return { kind: 'read', members: found };
    },

    async membership({ channel, member }) {
      const read = await readRow(members, keySubject(bucket.members, memberRowKey(channel, member)));
      if (read.kind === 'silent') return read;
      if (read.kind === 'absent') return { kind: 'absent', revision: 0 };
      if (read.marker) return { kind: 'absent', revision: read.message.seq };
      const row = shaped(memberRowSchema, readJson(read.message.data));
      return row === undefined
        ? { kind: 'unreadable', revision: read.message.seq }
        : { kind: 'row', row, revision: read.message.seq };
    },

    async writeMembership({ channel, member, row, revision }) {
      return broker.guarded({
        subject: keySubject(bucket.members, memberRowKey(channel, member)),
        data: encoder.encode(JSON.stringify(row)),
        expectLastSubjectSeq: revision,
      });
    },

    async mark({ member }) {
      const read = await readRow(lanes, laneKey(memberKey(member)));
      if (read.kind === 'silent') return read;
      if (read.kind === 'absent' || read.marker) return { kind: 'read', mark: { handedTo: 0 }, storedAt: 0 };
      const mark = shaped(laneMarkSchema, readJson(read.message.data));
      return { kind: 'read', mark: mark ?? { handedTo: 0 }, storedAt: read.message.storedAt };
    },
    writeMark: ({ member, mark }) => write(memberKey(member), mark),
    async removeMark({ member }) {
      const marker = {
        subject: laneKey(memberKey(member)),
        data: new Uint8Array(),
        headers: { 'KV-Operation': 'DEL' },
      };
      const outcome = await lanePress.store([marker]);
      if (outcome.kind === 'denied' || outcome.kind === 'silent') return outcome;
      return outcome.kind === 'stored' ? { kind: 'removed' } : { kind: 'silent', why: outcome.kind };
    },

    async floor() {
      const read = await readRow(lanes, laneKey(FLOOR_KEY));
      if (read.kind === 'silent') return read;
      const row = read.kind === 'row' && !read.marker ? shaped(floorRowSchema, readJson(read.message.data)) : undefined;
      return { kind: 'read', row };
    },
    writeFloor: (row) => write(FLOOR_KEY, row),
  };
}
