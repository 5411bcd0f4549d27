/** Every machine's context was looked through before anybody looks at it: what is shown, and what is hidden and why. */
import { describe, expect, it } from 'vitest';
import { initialTransition } from 'xstate';
import { shownFields } from '../../src/domain/shown/fields.ts';
import { contextReviews } from '../../src/domain/shown/machines.ts';
import { catalogue } from '../../src/machines/catalogue.ts';
import { samplesFor } from '../support/paths/proved.ts';

const isHidden = (field: string): boolean => (shownFields[field] ?? 'hidden') === 'hidden';

describe('the review of what is shown of each machine', () => {
  it.each(catalogue)('has a decision for every field of the context of $name, and for no other', async (entry) => {
    const review = contextReviews[entry.name];
    expect(review, `src/domain/shown/machines.ts says nothing of "${entry.name}"`).toBeDefined();
    if (review === undefined) return;
    const samples = await samplesFor(entry);
    const contexts = Object.values(samples?.inputs ?? {}).map(
      (input) => initialTransition(entry.machine, input)[0].context as object,
    );
    expect(contexts.length).toBeGreaterThan(0);
    const fields = [...new Set(contexts.flatMap((context) => Object.keys(context)))];
    const hidden = Object.keys(review.hidden ?? {});
    expect([...review.shown, ...hidden].sort()).toEqual(fields.sort());
    expect(review.shown.filter(isHidden), 'said to be shown, and hidden in fields.ts').toEqual([]);
    expect(
      hidden.filter((field) => !isHidden(field)),
      'said to be hidden, and shown in fields.ts',
    ).toEqual([]);
  });

  it('is about machines of the catalogue alone', () => {
    expect(Object.keys(contextReviews).sort()).toEqual(catalogue.map(({ name }) => name).sort());
  });
});
