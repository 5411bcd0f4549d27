import { isChannel, type Member, memberKey, readMember } from './names.ts';

/**
 * Subjects, streams, buckets and consumers of one space (`cotal.<space>.…`). Every builder expects validated names;
 * every reader answers undefined for a subject that is not of the family, because the subject is not the whole truth
 * (a JetStream reply can be steered onto any subject that a stream listens to).
 */

export const chatSubject = (space: string, principal: string, channel: string): string =>
  `cotal.${space}.chat.${principal}.${channel}`;
export const chatOfChannel = (space: string, pattern: string): string => `cotal.${space}.chat.*.*.${pattern}`;
export const entrySubject = (space: string, member: Member, channel: string): string =>
  `cotal.${space}.dinbox.${memberKey(member)}.${channel}`;
export const entriesOf = (space: string, member: Member): string => `cotal.${space}.dinbox.${memberKey(member)}.>`;
/** Everybody's. */
export const everybodys = (space: string, family: 'dinbox' | 'dlv'): string => `cotal.${space}.${family}.>`;
export const copySubject = (space: string, member: Member, channel: string): string =>
  `cotal.${space}.dlv.${memberKey(member)}.${channel}`;
export const copiesOf = (space: string, member: Member): string => `cotal.${space}.dlv.${memberKey(member)}.>`;

/** What takes a sequence of DLV and is removed again (`services/nats/chain.ts`); no member's. */
export const barrierSubject = (space: string): string => `cotal.${space}.dlv.=barrier`;

export const RAILS = ['delivery', 'delivery-admin'] as const;
export type RailName = (typeof RAILS)[number];
export const railSubject = (space: string, rail: RailName, principal: string): string =>
  `cotal.${space}.ctl.${rail}.${principal}`;
/** What a daemon subscribes to, in a queue group of the rail's name. */
export const railSubjects = (space: string, rail: RailName): string => `cotal.${space}.ctl.${rail}.*.*`;
/** The rail of the manager; `*.*` for everybody who asks it. **Ours**. */
export const managerSubject = (space: string, principal: string): string => `cotal.${space}.ctl.manager.${principal}`;
/** A reply goes only under the request's own subtree. */
export const replyPrefix = (requestSubject: string): string => `${requestSubject}.reply.`;
export const isReplyOf = (requestSubject: string, reply: string | undefined): reply is string =>
  reply?.startsWith(replyPrefix(requestSubject)) === true && reply.length > replyPrefix(requestSubject).length;
export const livenessSubject = (space: string, principal: string): string =>
  `cotal.${space}.live.delivery.${principal}`;

/** The principal that a rail or liveness request subject names. */
export function readRequester(subject: string): string | undefined {
  const tokens = subject.split('.');
  return tokens.length === 6 ? `${tokens[4]}.${tokens[5]}` : undefined;
}

/** Sender and channel of a post's subject. */
export function readChatSubject(space: string, subject: string): { principal: string; channel: string } | undefined {
  const rest = after(subject, `cotal.${space}.chat.`);
  if (rest === undefined) return undefined;
  const [owner, actor, ...segments] = rest.split('.');
  const channel = segments.join('.');
  if (owner === undefined || actor === undefined || !isChannel(channel)) return undefined;
  return { principal: `${owner}.${actor}`, channel };
}

/** Member and channel of an entry's or a handed-off copy's subject. */
export function readMemberSubject(
  space: string,
  family: 'dinbox' | 'dlv',
  subject: string,
): { member: Member; channel: string } | undefined {
  const rest = after(subject, `cotal.${space}.${family}.`);
  if (rest === undefined) return undefined;
  const [owner, actor, uid, ...segments] = rest.split('.');
  const member = readMember(`${owner}.${actor}.${uid}`);
  const channel = segments.join('.');
  return member !== undefined && isChannel(channel) ? { member, channel } : undefined;
}

const after = (subject: string, head: string): string | undefined =>
  subject.startsWith(head) ? subject.slice(head.length) : undefined;

export const streams = (space: string) => ({
  chat: `CHAT_${space}`,
  inbox: `INBOX_${space}`,
  dlv: `DLV_${space}`,
  timerRequests: `EPT_REQ_${space}`,
  timers: `EPT_${space}`,
});

export const buckets = (space: string) => ({
  presence: `cotal_presence_${space}`,
  channels: `cotal_channels_${space}`,
  members: `cotal_members_${space}`,
  acl: `cotal_acl_${space}`,
  lanes: `cotal_lanes_${space}`,
  delivery: `cotal_delivery_${space}`,
  manager: `cotal_manager_${space}`,
  auth: `cotal_auth_${space}`,
});

export const bucketStream = (bucket: string): string => `KV_${bucket}`;
export const keySubject = (bucket: string, key: string): string => `$KV.${bucket}.${key}`;

export const FANOUT_CONSUMER = 'fanout';
export const timerConsumer = (space: string): string => `timerw_${space}`;
/** The member's own durable on DLV. */
export const deliveryConsumer = (member: Member): string => `dlv_${member.owner}-${member.actor}-${member.uid}`;

/** The member whose durable this is, or undefined for a name of another family. */
export function readDeliveryConsumer(name: string): Member | undefined {
  const match = /^dlv_([A-Za-z0-9_]+)-([A-Za-z0-9_]+)-([a-z0-9]{26})$/.exec(name);
  return match === null ? undefined : readMember(`${match[1]}.${match[2]}.${match[3]}`);
}

/** Key of a member row: `<channel>/<owner>.<actor>.<uid>`. */
export const memberRowKey = (channel: string, member: Member): string => `${channel}/${memberKey(member)}`;

export function readMemberRowKey(key: string): { channel: string; member: Member } | undefined {
  const slash = key.indexOf('/');
  const member = readMember(key.slice(slash + 1));
  const channel = key.slice(0, slash);
  return slash > 0 && member !== undefined && isChannel(channel) ? { channel, member } : undefined;
}

export const LEASE_KEY = 'lease.0';
