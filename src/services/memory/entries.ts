/** The pending entries in memory. */
import { MEMBER_HEADER, WRITER_HEADER } from '../../domain/entry.ts';
import { heldEntry } from '../../domain/held.ts';
import { covers, memberKey } from '../../domain/names.ts';
import { entriesOf, entrySubject } from '../../domain/subjects.ts';
import type { Entries, EntryToStore } from '../ports.ts';
import {
  counts,
  type MemberStore,
  pageOfAll,
  purge,
  removeForeign,
  removeSeqs,
  storeAll,
  tooLarge,
} from './member-store.ts';
import type { ToKeep } from './stream.ts';
import type { Wire } from './wire.ts';

export function memoryEntries({ wire, incarnation }: { wire: Wire; incarnation: string }): Entries {
  const { inbox, space } = wire.broker;
  const store: MemberStore = { wire, stream: inbox, port: 'entries', family: 'dinbox' };
  const outgoing = ({ member, channel, data, id }: EntryToStore): ToKeep => ({
    subject: entrySubject(space, member, channel),
    data,
    headers: { [WRITER_HEADER]: incarnation, [MEMBER_HEADER]: memberKey(member) },
    ...(id === undefined ? {} : { msgId: id }),
  });
  return {
    storeAll: ({ entries }) => storeAll(store, entries.map(outgoing)),
    async storeEach({ entries }) {
      const outcome = await wire.ask('entries.storeEach', () => {
        const known: number[] = [];
        const refused: { index: number; code: string }[] = [];
        for (const [index, message] of entries.map(outgoing).entries()) {
          const large = tooLarge(store, message);
          if (large !== undefined) refused.push({ index, code: large.code });
          else if (inbox.publish(message).kind === 'duplicate') known.push(index);
        }
        return { kind: 'stored' as const, known, refused };
      });
      // Where the broker takes none of them, it is not one entry's fault.
      return outcome.kind === 'refused' ? { kind: 'silent', why: `refused: ${outcome.code}` } : outcome;
    },
    page: ({ member, after, limit }) =>
      wire.look('entries.page', () => {
        const { kept, pending } = inbox.page({ filter: entriesOf(space, member), after, limit });
        return { kind: 'read', entries: kept.map((each) => heldEntry(space, member, each)), more: pending > 0 };
      }),
    at: ({ member, seqs }) =>
      wire.look('entries.at', () => {
        const kept = seqs.flatMap((seq) => inbox.get(seq) ?? []);
        if (kept.some(({ subject }) => !covers(entriesOf(space, member), subject))) return { kind: 'given-anew' };
        const entries = kept.map((each) => heldEntry(space, member, each));
        return { kind: 'read', entries, readTo: seqs.at(-1) ?? 0 };
      }),
    pageOfAll: (of) => pageOfAll(store, of, (member, each) => heldEntry(space, member, each)),
    remove: ({ seqs }) => removeSeqs(store, seqs),
    purge: (of) => purge(store, of),
    counts: (of) => counts(store, of),
    removeForeign: (of) => removeForeign(store, of),
  };
}
