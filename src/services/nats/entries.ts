/** The pending entries on INBOX. */
import { MEMBER_HEADER, WRITER_HEADER } from '../../domain/entry.ts';
import { heldByAll, heldEntry, type StoredMessage } from '../../domain/held.ts';
import { covers, type Member, memberKey } from '../../domain/names.ts';
import {
  barrierSubject,
  entriesOf,
  entrySubject,
  everybodys,
  readMemberSubject,
  streams,
} from '../../domain/subjects.ts';
import type { Counts, Entries, EntryToStore, PageOfAll, Silent } from '../ports.ts';
import type { Outgoing } from './batch.ts';
import { type GatedBroker, notStored } from './gated-broker.ts';
import { StreamStore } from './stream-store.ts';

export function natsEntries({
  broker,
  space,
  incarnation,
}: {
  broker: GatedBroker;
  space: string;
  incarnation: string;
}): Entries {
  const store = new StreamStore(broker, streams(space).inbox);
  const outgoing = ({ key, channel, data, id }: EntryToStore): Outgoing => ({
    subject: `cotal.${space}.dinbox.${key}.${channel}`,
    data,
    headers: { [WRITER_HEADER]: incarnation, [MEMBER_HEADER]: key },
    ...(id === undefined ? {} : { msgId: id }),
  });
  return {
    async storeAll({ entries }) {
      const outcome = await broker.batch(entries.map(outgoing));
      return outcome.kind === 'stored' || outcome.kind === 'duplicate' || outcome.kind === 'silent'
        ? outcome
        : notStored(outcome);
    },
    async storeEach({ entries }) {
      const outcomes = await broker.each(entries.map(outgoing));
      if (!Array.isArray(outcomes)) return outcomes;
      const known: number[] = [];
      const refused: { index: number; code: string }[] = [];
      for (const [index, outcome] of outcomes.entries()) {
        if (outcome.kind === 'duplicate') known.push(index);
        if (outcome.kind === 'stored' || outcome.kind === 'duplicate') continue;
        const why = notStored(outcome);
        if (why.kind !== 'refused') return why;
        // What does not speak of the message itself (a full disk, no quorum) is no entry's fault: it stays owed.
        if (!ENTRY_FAULTS.includes(why.code)) return { kind: 'silent', why: `refused: ${why.code}` };
        refused.push({ index, code: why.code });
      }
      return { kind: 'stored', known, refused };
    },
    async page({ member, after, limit }) {
      const page = await store.page({ filter: entriesOf(space, member), after, limit });
      return page.kind === 'read'
        ? {
            kind: 'read',
            entries: page.messages.map((message) => heldEntry(space, member, message)),
            more: page.pending > 0,
          }
        : page;
    },
    async at({ member, seqs }) {
      const read = await store.at({ filter: entriesOf(space, member), seqs });
      if (read.kind !== 'read') return read;
      const { messages, readTo } = read;
      if (messages.some(({ subject }) => !covers(entriesOf(space, member), subject))) return { kind: 'given-anew' };
      return { kind: 'read', entries: messages.map((message) => heldEntry(space, member, message)), readTo };
    },
    async pageOfAll(of) {
      return pageOfAll(store, everybodys(space, 'dinbox'), of, (member, message) => heldEntry(space, member, message));
    },
    remove: ({ seqs }) => store.remove(seqs),
    purge: ({ member, channel, upTo }) =>
      store.purge({
        filter: channel === undefined ? entriesOf(space, member) : entrySubject(space, member, channel),
        upTo,
      }),
    counts: ({ member }) => countsOf(store, space, 'dinbox', member),
    removeForeign: ({ subjects, upTo }) => removeSubjects(store, subjects, upTo),
  };
}

/** A page of everybody's messages. */
export async function pageOfAll<T>(
  store: StreamStore,
  filter: string,
  { after, limit }: { after: number; limit: number },
  held: (member: Member, message: StoredMessage) => T,
): Promise<PageOfAll<T> | Silent> {
  const page = await store.page({ filter, after, limit });
  if (page.kind === 'silent') return page;
  const { messages, pending } = page;
  return { kind: 'read', held: heldByAll(messages, held), upTo: messages.at(-1)?.seq ?? after, more: pending > 0 };
}

/** Codes that speak of the message itself: it is too large, or its headers are. Only such an entry is dropped. */
const ENTRY_FAULTS: readonly string[] = ['10054', '10097'];

/** Messages by member, from the stream's list of subjects. */
export async function countsOf(
  store: StreamStore,
  space: string,
  family: 'dinbox' | 'dlv',
  member: Member | undefined,
): Promise<Counts | Silent> {
  const filter = member === undefined ? everybodys(space, family) : `cotal.${space}.${family}.${memberKey(member)}.>`;
  const read = await store.subjects(filter);
  if (read.kind !== 'read') return read.kind === 'silent' ? read : { kind: 'silent', why: read.kind };
  const counts = new Map<string, number>();
  const foreign: string[] = [];
  for (const [subject, count] of read.subjects) {
    const place = readMemberSubject(space, family, subject);
    if (place === undefined) {
      if (subject !== barrierSubject(space)) foreign.push(subject);
      continue;
    }
    const key = memberKey(place.member);
    counts.set(key, (counts.get(key) ?? 0) + count);
  }
  return { kind: 'read', counts, foreign, lastSeq: read.lastSeq };
}

export async function removeSubjects(store: StreamStore, subjects: readonly string[], upTo: number) {
  for (const filter of subjects) {
    const outcome = await store.purge({ filter, upTo });
    if (outcome.kind !== 'removed') return outcome;
  }
  return { kind: 'removed' } as const;
}
