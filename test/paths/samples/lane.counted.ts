import type { ContextFrom } from 'xstate';
import type { laneMachine } from '../../../src/machines/lane.machine.ts';
import type { Step } from '../../support/paths/seen.ts';

type Context = ContextFrom<typeof laneMachine>;
type Counters = Partial<Omit<Context, keyof Input>>;
type Input = Pick<Context, 'member' | 'window' | 'removalBatch' | 'retries' | 'backOffMs' | 'backOffLimitMs'>;

/**
 * What the counters of a lane must be after a step, by the fact alone: written down once more, and apart from the machine,
 * so that a slip in one of them shows.
 */
export const counted = (step: Step<Context>): Counters => ({ ...ofWork(step), ...ofTrouble(step) });

/** Failures, and meetings without a row, in a row. */
function ofTrouble({ before, fact, from, heard }: Step<Context>): Counters {
  const { failures, unknowns } = before.context;
  const isSilence = from !== undefined && heard('broker.silent', 'effect.failed');
  if (isSilence || heard('store.refused'))
    return { failures: before.is('Retired') ? failures : failures + 1, unknowns };
  if (heard('lifecycle.retired')) return { failures: 0 };
  if (heard('lifecycle.unknown')) return { failures, unknowns: unknowns + 1 };
  if (heard('place.recovered')) return { failures: 0, unknowns: 0 };
  if (heard('batch.authorized', 'batch.empty')) return { failures, unknowns: 0 };
  return fact.type === 'removal.failed' ? {} : { unknowns };
}

function ofWork({ before, after, fact, heard }: Step<Context>): Counters {
  const { waiting, outstanding, settled, reviews, nudges } = before.context;
  // A place that is asked for anew begins from nothing.
  if (after.is('Recovering') && !before.is('Recovering')) {
    const met = heard('copies.withdrawn') ? fact.met : 0;
    const asked = heard('review.asked', 'row.changed') ? 1 : 0;
    return { waiting: 0, outstanding: 0, settled: 0, reviews: Math.max(0, reviews - met) + asked };
  }
  if (after.is('Retired.Removing') && !before.is('Retired.Removing'))
    return { waiting: 0, outstanding: 0, settled: 0, reviews: 0 };
  if (heard('entries.arrived')) return { waiting: waiting + 1, outstanding, settled, reviews, nudges: nudges + 1 };
  if (heard('review.asked', 'row.changed'))
    return { waiting, outstanding, settled, reviews: reviews + 1, nudges: nudges + 1 };
  if (heard('copies.confirmed')) {
    const left = Math.max(0, outstanding - fact.count);
    return { waiting, outstanding: left, settled: settled + fact.count, reviews, nudges: nudges + 1 };
  }
  if (heard('place.recovered')) {
    return {
      waiting: waiting + fact.waiting,
      outstanding: fact.outstanding,
      settled: settled + fact.settled,
      reviews,
      nudges,
    };
  }
  if (heard('batch.authorized', 'batch.empty')) {
    const left = Math.max(0, waiting - fact.met);
    return { waiting: left, outstanding, settled: settled + (fact.refuse ?? 0), reviews, nudges };
  }
  if (heard('copies.stored')) {
    const more = outstanding + fact.count - fact.confirmed;
    return { waiting, outstanding: more, settled: settled + fact.confirmed, reviews, nudges };
  }
  if (before.is('Removing') && heard('entries.removed')) {
    return { waiting, outstanding, settled: Math.max(0, settled - fact.met), reviews, nudges };
  }
  if (heard('copies.withdrawn')) {
    return {
      waiting,
      outstanding: Math.max(0, outstanding - fact.copies),
      settled: settled + fact.settled,
      reviews: Math.max(0, reviews - fact.met),
      nudges,
    };
  }
  return { nudges };
}
