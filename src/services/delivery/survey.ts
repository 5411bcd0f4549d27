/**
 * Who needs a lane: asked of both stores in two requests, whatever the backlog (R1, R8), and of some of the members' durables,
 * in turn, whether they leave copies behind.
 */
import type { Copies, Entries, Journal } from '../ports.ts';
import type { Tally } from '../tally.ts';
import { Suspicions } from './passed-over.ts';

export interface SurveyPorts {
  readonly entries: Entries;
  readonly copies: Copies;
  readonly journal: Journal;
  readonly tally: Tally;
  readonly window: number;
  /** What a resting lane remembers is not to be relied on: the store says otherwise. */
  readonly doubt: (member: string) => void;
  /** Fewer members than this read by themselves. */
  readonly inventoryFrom: number;
  /** Whether the member has a lane. */
  readonly isLiving: (member: string) => boolean;
  /** The member's durable left copies behind: its lane has to look at them. */
  readonly passedOver: (member: string) => void;
}

export class Survey {
  readonly #ports: SurveyPorts;
  readonly #suspicions: Suspicions;
  /** Members for whom the last survey saw something to do. */
  #behind: ReadonlySet<string> = new Set();
  /** What a member's figures were when it was last sent to its lane. */
  #sent = new Map<string, string>();

  constructor(ports: SurveyPorts) {
    this.#ports = ports;
    this.#suspicions = new Suspicions(ports.copies);
  }

  /**
   * `all`: everybody who is owed something or holds a copy; those for whom an inventory is to read are counted (a member's
   * messages as two windows at the most, for of an entry and its copy only one is kept), not named. Otherwise those for
   * whom there is something to do (not every entry has its copy, or the other way round), and was at the last survey, too:
   * what is on its way right now is on its way to their lanes. Nobody is named twice for the same figures. A member whose
   * window is full waits for its own confirmations: there is nothing to do for it, however much is pending. Who is owed least
   * comes first: a place is found in a time that grows with what is owed, and who was away for long must not keep those
   * waiting who are there.
   */
  async make({ all }: { all: boolean }) {
    const { entries, copies, window, doubt } = this.#ports;
    const [owed, held] = await Promise.all([entries.counts({}), copies.counts({})]);
    if (owed.kind === 'silent' || held.kind === 'silent') return { type: 'broker.silent' } as const;
    await this.#removeForeign('INBOX', entries, owed);
    await this.#removeForeign('DLV', copies, held);
    const named: { key: string; owed: number; messages: number }[] = [];
    const behind = new Set<string>();
    const sent = new Map<string, string>();
    for (const key of new Set([...owed.counts.keys(), ...held.counts.keys()])) {
      const [entriesNow, copiesNow] = [owed.counts.get(key) ?? 0, held.counts.get(key) ?? 0];
      const figure = `${entriesNow}/${copiesNow}`;
      const isFull = copiesNow >= window && entriesNow > copiesNow;
      const isBehind = entriesNow !== copiesNow && !isFull;
      if (isBehind) behind.add(key);
      const isKnown = this.#sent.get(key) === figure;
      const isNamed = all || (isBehind && this.#behind.has(key) && !isKnown);
      if (isNamed)
        named.push({ key, owed: entriesNow, messages: Math.min(Math.max(entriesNow, copiesNow), 2 * window) });
      if (isNamed || isKnown) sent.set(key, figure);
    }
    named.sort((a, b) => a.owed - b.owed);
    for (const { key } of named) doubt(key);
    this.#behind = behind;
    this.#sent = sent;
    if (all) return this.#forAll(named);
    for (const key of await this.#suspicions.confirm(held.counts)) this.#ports.passedOver(key);
    return { type: 'survey.made', members: named.map(({ key }) => key) } as const;
  }

  /** Members without a lane are only counted where they are many: what lies there is read once for all of them. */
  #forAll(named: readonly { key: string; messages: number }[]) {
    const { inventoryFrom, isLiving } = this.#ports;
    const counted = named.filter(({ key }) => !isLiving(key)).map(({ key, messages }) => ({ key, messages }));
    if (counted.length < inventoryFrom) return { type: 'survey.made', members: named.map(({ key }) => key) } as const;
    return { type: 'survey.counted', members: named.map(({ key }) => key).filter(isLiving), counted } as const;
  }

  /** The member's lane is gone: the next survey sends it again if there is something to do, whatever its figures were. */
  forget(member: string): void {
    this.#sent.delete(member);
  }

  /** Subjects that name no member: somebody steered something there. */
  async #removeForeign(
    name: string,
    store: Entries | Copies,
    seen: { foreign: readonly string[]; lastSeq: number },
  ): Promise<void> {
    if (seen.foreign.length === 0) return;
    const { tally, journal } = this.#ports;
    const why = 'foreign-subject';
    if (tally.get('entries.foreign', why) === 0) journal.tell('entry.foreign', { store: name, why });
    tally.add('entries.foreign', why, seen.foreign.length);
    await store.removeForeign({ subjects: seen.foreign, upTo: seen.lastSeq });
  }
}
