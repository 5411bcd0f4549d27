import { readerMachine } from '../../../src/machines/reader.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';
import { promises } from './reader.promises.ts';

const lane = { window: 4, retries: 2, backOffMs: 10, backOffLimitMs: 100 };
const smallest = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .sort()
    .map(([member, count]) => `${member} ${Math.min(count, 2)}`);

export const samples = samplesOf(readerMachine, {
  inputs: {
    narrow: { laneLimit: 1, placingLimit: 1, lane },
    placing: { laneLimit: 2, placingLimit: 1, lane },
    wide: { laneLimit: 2, placingLimit: 2, lane },
  },
  events: [
    { type: 'members.owed', members: ['a'] },
    { type: 'members.owed', members: ['a', 'b'] },
    { type: 'rows.changed', members: ['b'] },
    { type: 'review.asked', member: 'a' },
    { type: 'review.asked', member: 'b' },
    { type: 'confirmations.bound' },
    { type: 'confirmations.came', members: [{ member: 'a', count: 2 }] },
    { type: 'confirmations.lost', why: 'the connection closed' },
    { type: 'lane.placed', member: 'a' },
    { type: 'lane.placed', member: 'b' },
    { type: 'lane.quiet', member: 'a', end: 'rested', nudges: 0 },
    { type: 'lane.quiet', member: 'a', end: 'retired', nudges: 1 },
    { type: 'lane.quiet', member: 'b', end: 'given-up', nudges: 0 },
  ],
  answers: {
    survey: [
      { type: 'survey.made', members: [] },
      { type: 'survey.made', members: ['a', 'b'] },
      { type: 'broker.silent' },
    ],
  },
  spawned: ['lane.a', 'lane.b'],
  clamp: ({ lanes, waiting, placing, failures, laneLimit, placingLimit }) => ({
    lanes: smallest(lanes),
    waiting: Object.entries(waiting).map(([member, count]) => `${member} ${Math.min(count, 2)}`),
    placing: Object.keys(placing).sort(),
    failures: Math.min(failures, 1),
    limits: `${laneLimit}/${placingLimit}`,
  }),
  happy: ['Listening.Binding', 'Listening.Surveying', 'Listening.Reading', 'Listening.Comparing', 'Listening.Reading'],
  limit: 400_000,
  promises,
});
