import type { ContextFrom } from 'xstate';
import { registryMachine } from '../../../src/machines/registry.machine.ts';
import { named, samplesOf } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type RegistryStep = Step<ContextFrom<typeof registryMachine>>;

const rowOf = ({ after }: RegistryStep, key: string) => after.context.rows[key];
const knownRow = ({ before }: RegistryStep, key: string) => before.context.rows?.[key];
/** What was sent to the actor of a row. */
const sentTo = (step: RegistryStep, key: string) =>
  step.effects.flatMap((effect) =>
    effect.kind === 'send' && effect.to.startsWith(`membership.${key}.`) ? [effect.event] : [],
  );
const startedFor = (step: RegistryStep, key: string) =>
  step.effects.filter((effect) => effect.kind === 'start' && effect.id.startsWith(`membership.${key}.`)).length;

const join = (key: string) =>
  named(`${key} asks to join`, { type: 'membership.asked', key, ask: { kind: 'join', ticket: `t-${key}` } } as const);
const quiet = (key: string, asks: number) => ({ type: 'membership.quiet', key, asks }) as const;

export const samples = samplesOf(registryMachine, {
  inputs: { only: undefined },
  events: [
    join('a'),
    join('b'),
    quiet('a', 1),
    quiet('a', 2),
    quiet('b', 1),
    { type: 'request.answered', ticket: 't-a', answer: { durable: true, generation: 1, joinCursor: 7 } },
  ],
  answers: {
    listPending: [
      { type: 'rows.pending', keys: [] },
      { type: 'rows.pending', keys: ['a', 'b'] },
      { type: 'broker.silent' },
    ],
  },
  spawned: ['membership.a.0', 'membership.b.0', 'membership.b.1'],
  clampChild: (id) => id.split('.').slice(0, -1).join('.'),
  clamp: ({ rows, failures }) => ({
    rows: Object.fromEntries(
      Object.entries(rows)
        .sort()
        .map(([key, { sent }]) => [key, Math.min(sent, 3)]),
    ),
    failed: failures > 0,
  }),
  bounded: { Registering: 'whoever asks next, or the daemon, which stops it' },
  happy: ['Resuming', 'Registering'],
  promises: [
    {
      clause: 'M4',
      says: 'at the start the rows left pending are asked for, and each is completed by an actor of its own',
      when: (step) => step.heard('rows.pending'),
      holds: (step) => {
        const keys: string[] = step.fact.keys;
        const resumed = keys.every((key) => sentTo(step, key).some(({ ask }) => ask.kind === 'resume'));
        return (resumed && step.after.is('Registering')) || 'a row stays pending';
      },
    },
    {
      clause: 'M4',
      says: 'the beginning, and the end of every pause, asks for the pending rows',
      when: (step) => !step.before.begun || step.elapsed === 'backOff',
      holds: (step) =>
        (step.after.is('Resuming') && step.started('listPending') !== undefined) || 'they are not asked for',
    },
    {
      clause: 'M4',
      says: 'a broker that is silent, or a question that fails, is asked again after a pause that grows',
      when: (step) =>
        step.before.is('Resuming') &&
        (step.heard('broker.silent') || (step.from === 'listPending' && step.heard('effect.failed'))),
      holds: ({ before, after, armed }) =>
        (after.is('BackingOff') && armed('backOff') && after.context.failures === before.context.failures + 1) ||
        'the rows stay pending',
    },
    {
      clause: 'M6',
      says: 'requests for one row are met by one actor, in their order, at any time',
      when: (step) => step.heard('membership.asked'),
      holds: (step) => {
        const { key, ask } = step.fact;
        const known = knownRow(step, key);
        const sent = sentTo(step, key);
        if (startedFor(step, key) !== (known === undefined ? 1 : 0)) return 'two actors, or none';
        const toOne = sent.length === 1 && sent[0]?.ask === ask;
        return (toOne && rowOf(step, key)?.sent === (known?.sent ?? 0) + 1) || 'it is not handed on, or not counted';
      },
    },
    {
      clause: 'M6',
      says: 'an actor is let go when it has met every request that was sent to it, and not before',
      when: (step) => step.heard('membership.quiet') && knownRow(step, step.fact.key) !== undefined,
      holds: (step) => {
        const { key, asks } = step.fact;
        const known = knownRow(step, key);
        const isMet = known?.sent === asks;
        const isGone = rowOf(step, key) === undefined && (known === undefined || step.stopped(known.id));
        return (
          (isMet ? isGone : rowOf(step, key)?.sent === known?.sent && step.ignored) ||
          'it is let go too early or too late'
        );
      },
    },
    {
      clause: 'M6',
      says: 'an actor that failed is forgotten, and nobody else is touched',
      when: (step) => step.from?.startsWith('membership.') === true && step.heard('effect.failed'),
      holds: ({ before, after, from }) => {
        const ids = (rows: Context['rows']) => Object.values(rows).map(({ id }) => id);
        const kept = ids(before.context.rows).filter((id) => id !== from);
        const same = JSON.stringify(ids(after.context.rows)) === JSON.stringify(kept);
        return (same && JSON.stringify(after.value) === JSON.stringify(before.value)) || 'others are touched';
      },
    },
    {
      clause: 'K4',
      says: 'an answer reaches whoever asked',
      when: (step) => step.heard('request.answered'),
      holds: ({ effects, fact }) =>
        effects.some((effect) => effect.kind === 'act' && effect.action === 'answer' && effect.params === fact) ||
        'it is not handed on',
    },
  ],
});

type Context = ContextFrom<typeof registryMachine>;
