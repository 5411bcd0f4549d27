/** The posts of a run, and how what surfaced is matched with them. */
import { type HistoryRecord, type RecordOf, recordsOf } from '../history.ts';

export type Post = RecordOf<'post'>;
type Named = { readonly channel: string; readonly from: string; readonly id: string; readonly seq: number | null };

/** What a post is known by: sender, channel and id; one without an id by its sequence. */
export const keyOf = ({ channel, from, id, seq }: Named): string =>
  id === '' ? `#${seq}` : JSON.stringify([from, channel, id]);

export class Posts {
  readonly all: readonly Post[];
  readonly #byKey = new Map<string, Post[]>();

  constructor(history: readonly HistoryRecord[]) {
    this.all = recordsOf(history, 'post').sort((a, b) => a.seq - b.seq);
    for (const post of this.all) {
      const key = keyOf(post);
      this.#byKey.set(key, [...(this.#byKey.get(key) ?? []), post]);
    }
  }

  /** Posts that one that surfaced may be: several where a sender used an id again. */
  like(named: Named): readonly Post[] {
    return this.#byKey.get(keyOf(named)) ?? [];
  }
}
