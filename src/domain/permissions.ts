/**
 * The rights of each credential profile: everything it may publish to and subscribe to. What is not listed is denied.
 *
 * The table is design's; where a right cannot be written as narrowly as it is meant, because a subject permission has no
 * wildcard inside a token, `docs/decisions/permissions.md` says what was chosen and why. The permission test asks a
 * real server for every line of it, allowed and denied.
 */
import type { Member } from './names.ts';
import type { Profile } from './profiles.ts';
import {
  bucketStream,
  buckets,
  deliveryConsumer,
  FANOUT_CONSUMER,
  keySubject,
  LEASE_KEY,
  livenessSubject,
  managerSubject,
  RAILS,
  railSubject,
  railSubjects,
  streams,
  timerConsumer,
} from './subjects.ts';
import { timerSubjects } from './timers.ts';

export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** Prefix of a connection's reply inboxes, keyed by its user nkey; subjects below it are `<prefix>.<anything>`. */
export const inboxPrefix = (connectionId: string): string => `_INBOX_${connectionId}`;

/** The rights of a credential whose user nkey is `connectionId`. */
export function permissionsOf(profile: Profile, connectionId: string): Permissions {
  const { publish, subscribe } = rightsOf(profile);
  return { publish, subscribe: [`${inboxPrefix(connectionId)}.>`, ...subscribe] };
}

function rightsOf(profile: Profile): Permissions {
  switch (profile.profile) {
    case 'delivery':
      return delivery(profile.space);
    case 'agent':
      return agent(profile.space, profile.member, profile.read, profile.post);
    case 'manager':
      return manager(profile.space, profile.principal);
    case 'serve':
      return {
        publish: [`${managerSubject(profile.space, '*.*')}.reply.>`],
        subscribe: [managerSubject(profile.space, '*.*')],
      };
    case 'operator':
      return operator(profile.space, profile.principal);
    case 'session': {
      const liveness = livenessSubject(profile.space, profile.principal);
      return { publish: [liveness], subscribe: [`${liveness}.reply.>`] };
    }
    case 'provisioner':
      return provisioner(profile.space);
    case 'scheduler':
      return scheduler(profile.space);
    case 'observer':
      return { publish: [`$SYS.REQ.ACCOUNT.${profile.account}.CONNZ`], subscribe: [] };
    case 'evictor':
      return { publish: ['$SYS.REQ.SERVER.*.KICK'], subscribe: [] };
    case 'claims':
      return { publish: ['$SYS.REQ.CLAIMS.UPDATE'], subscribe: [] };
    case 'health':
      return { publish: ['$SYS.REQ.SERVER.PING.HEALTHZ'], subscribe: [] };
  }
}

const API = '$JS.API';
const streamInfo = (stream: string) => `${API}.STREAM.INFO.${stream}`;
/** Direct get, by sequence or batch (first form) and of one subject's last message (second form). */
const directGet = (stream: string) => [`${API}.DIRECT.GET.${stream}`, `${API}.DIRECT.GET.${stream}.>`];
/** The same by the stream's leader, which has what a replica may not have yet (docs/decisions/replicated-reads.md). */
const read = (stream: string) => [...directGet(stream), `${API}.STREAM.MSG.GET.${stream}`];
const consumer = (verb: string, stream: string, name: string) => `${API}.CONSUMER.${verb}.${stream}.${name}`;
/**
 * Create, look at, delete a consumer. Creation carries the consumer's filter in its subject when there is exactly one;
 * `filter` is that one, or absent for a consumer without.
 */
const keepConsumer = (stream: string, name: string, filter?: string) => [
  consumer('CREATE', stream, filter === undefined ? name : `${name}.${filter}`),
  consumer('INFO', stream, name),
  consumer('DELETE', stream, name),
];
const pull = (stream: string, name: string) => [consumer('MSG.NEXT', stream, name), `$JS.ACK.${stream}.${name}.>`];
/** Everything that watching a bucket and listing its keys takes: an ordered consumer of its own, with flow control. */
const watch = (bucket: string) => {
  const stream = bucketStream(bucket);
  return [streamInfo(stream), ...keepConsumer(stream, '*', keySubject(bucket, '>')), `$JS.FC.${stream}.>`];
};

function delivery(space: string): Permissions {
  const stream = streams(space);
  const bucket = buckets(space);
  const reads = [bucket.members, bucket.acl, bucket.lanes, bucket.channels, bucket.delivery];
  return {
    publish: [
      ...Object.values(stream).map(streamInfo),
      ...keepConsumer(stream.chat, FANOUT_CONSUMER),
      ...pull(stream.chat, FANOUT_CONSUMER),
      ...keepConsumer(stream.timerRequests, timerConsumer(space)),
      ...pull(stream.timerRequests, timerConsumer(space)),
      ...reads.flatMap(watch),
      ...[stream.chat, stream.inbox, stream.dlv, stream.timers, ...reads.map(bucketStream)].flatMap(read),
      ...[stream.inbox, stream.dlv].flatMap((name) => [
        `${API}.STREAM.PURGE.${name}`,
        `${API}.STREAM.MSG.DELETE.${name}`,
      ]),
      consumer('INFO', stream.dlv, '*'),
      `cotal.${space}.dinbox.>`,
      `cotal.${space}.dlv.>`,
      `cotal.${space}.ept.*.*.*.*.armed`,
      keySubject(bucket.members, '>'),
      keySubject(bucket.lanes, '>'),
      keySubject(bucket.delivery, 'lease.*'),
      ...RAILS.map((rail) => `${railSubjects(space, rail)}.reply.>`),
      `${livenessSubject(space, '*.*')}.reply.>`,
    ],
    subscribe: [
      ...RAILS.map((rail) => railSubjects(space, rail)),
      livenessSubject(space, '*.*'),
      `$JS.EVENT.METRIC.CONSUMER.ACK.${stream.dlv}.>`,
      `$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.${stream.dlv}.>`,
    ],
  };
}

function agent(space: string, member: Member, read: readonly string[], post: readonly string[]): Permissions {
  const stream = streams(space);
  const bucket = buckets(space);
  const principal = `${member.owner}.${member.actor}`;
  const rail = railSubject(space, 'delivery', principal);
  const lastOf = (name: string, key: string) => `${API}.DIRECT.GET.${bucketStream(name)}.${keySubject(name, key)}`;
  return {
    publish: [
      ...post.map((pattern) => `cotal.${space}.chat.${principal}.${pattern}`),
      rail,
      keySubject(bucket.presence, principal),
      consumer('INFO', stream.dlv, deliveryConsumer(member)),
      ...pull(stream.dlv, deliveryConsumer(member)),
      lastOf(bucket.delivery, LEASE_KEY),
      lastOf(bucket.channels, '>'),
      streamInfo(stream.chat),
    ],
    subscribe: [...read.map((pattern) => `cotal.${space}.chat.*.*.${pattern}`), `${rail}.reply.>`],
  };
}

function manager(space: string, principal: string): Permissions {
  const stream = streams(space);
  const bucket = buckets(space);
  const owned = [bucket.auth, bucket.acl, bucket.members, bucket.manager, bucket.lanes];
  const readable = owned.filter((name) => name !== bucket.auth).map(bucketStream);
  const requests = [railSubject(space, 'delivery-admin', principal), livenessSubject(space, principal)];
  return {
    publish: [
      ...requests,
      ...owned.flatMap(watch),
      ...owned.map((name) => keySubject(name, '>')),
      ...readable.flatMap(directGet),
      `${API}.STREAM.MSG.GET.${bucketStream(bucket.auth)}`,
      `${API}.DIRECT.GET.${bucketStream(bucket.delivery)}.${keySubject(bucket.delivery, LEASE_KEY)}`,
      ...[stream.chat, stream.inbox, stream.dlv].map(streamInfo),
      ...keepConsumer(stream.dlv, '*', `cotal.${space}.dlv.>`),
    ],
    subscribe: requests.map((subject) => `${subject}.reply.>`),
  };
}

function operator(space: string, principal: string): Permissions {
  const rail = managerSubject(space, principal);
  const bucket = buckets(space).manager;
  return {
    publish: [rail, `${API}.DIRECT.GET.${bucketStream(bucket)}.${keySubject(bucket, LEASE_KEY)}`],
    subscribe: [`${rail}.reply.>`],
  };
}

function provisioner(space: string): Permissions {
  const stream = streams(space);
  const bucket = buckets(space);
  return {
    publish: [
      ...[...Object.values(stream), ...Object.values(bucket).map(bucketStream)].flatMap((name) => [
        `${API}.STREAM.CREATE.${name}`,
        streamInfo(name),
      ]),
      ...[
        [stream.chat, FANOUT_CONSUMER],
        [stream.timerRequests, timerConsumer(space)],
      ].flatMap(([name = '', durable = '']) => [consumer('CREATE', name, durable), consumer('INFO', name, durable)]),
      ...watch(bucket.channels),
      ...directGet(bucketStream(bucket.channels)),
      keySubject(bucket.channels, '>'),
    ],
    subscribe: [],
  };
}

/** Asks for timers, and looks at what became of them. */
function scheduler(space: string): Permissions {
  const stream = streams(space);
  return {
    publish: [
      timerSubjects(space, 'schedule'),
      ...read(stream.timers),
      ...[stream.timers, stream.timerRequests].map(streamInfo),
    ],
    subscribe: [],
  };
}

/** True when the allow list covers a concrete subject (or a subscription that is no wider than one of its lines). */
export const allows = (list: readonly string[], subject: string): boolean =>
  list.some((line) => subjectCovers(line, subject));

function subjectCovers(line: string, subject: string): boolean {
  const want = line.split('.');
  const have = subject.split('.');
  for (let i = 0; i < want.length; i++) {
    if (want[i] === '>') return have.length > i;
    if (have[i] === undefined || have[i] === '>') return false;
    if (want[i] !== '*' && want[i] !== have[i]) return false;
  }
  return want.length === have.length;
}
