import type { AnyEventObject } from 'xstate';
import { type Anatomy, eventName, pathOf } from './anatomy.ts';
import type { AnySamples, Labelled } from './samples.ts';

/**
 * The sample events of a machine in the form in which they are fired: every one in every state, late and stale ones
 * included. Errors and timers are made from the chart itself, so that none can be forgotten.
 */
export interface Shot {
  /** Unique among the shots of a machine; the name of the edge in tables. */
  readonly label: string;
  readonly event: AnyEventObject;
  /** How it comes about: a child ends, a timer elapses, or it is simply sent. */
  readonly by: 'event' | 'answer' | 'failure' | 'timer';
  /** The child that ends. */
  readonly child?: string;
}

const isLabelled = (sample: unknown): sample is Labelled<AnyEventObject> =>
  typeof sample === 'object' && sample !== null && 'label' in sample && 'event' in sample && !('type' in sample);

/** `{"a":1,"b":"x"}` → `a: 1, b: x`. */
export function brief(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(brief).join(', ')}]`;
  if (value instanceof Error) return value.message;
  if (typeof value !== 'object' || value === null) return String(value);
  if (Object.keys(value).length === 0) return '{}';
  const parts = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .map(
      ([key, field]) => `${key}: ${typeof field === 'object' && field !== null ? `{${brief(field)}}` : brief(field)}`,
    );
  return parts.join(', ').replaceAll('{[', '[').replaceAll(']}', ']');
}

/** An event as a person writes it: `row.held {holder: b, expiresInMs: 9000}`. */
export function briefEvent({ type, ...payload }: AnyEventObject): string {
  const text = brief(payload);
  return text === '{}' || text === '' ? type : `${type} {${text}}`;
}

export function shotsOf(anatomy: Anatomy, samples: AnySamples): Shot[] {
  const children = new Set([
    ...anatomy.invokes.map(({ id }) => id),
    ...Object.keys(samples.answers),
    ...(samples.spawned ?? []),
  ]);
  const shots: Shot[] = [
    ...samples.events.map((sample): Shot => {
      const { label, event } = isLabelled(sample) ? sample : { label: briefEvent(sample), event: sample };
      return { label, event, by: 'event' };
    }),
    ...Object.entries(samples.answers).flatMap(([child, answers]) =>
      answers.map((answer): Shot => {
        const { label, event: output } = isLabelled(answer) ? answer : { label: answerLabel(answer), event: answer };
        const event = { type: `xstate.done.actor.${child}`, output, actorId: child };
        return { label: `${child}: ${label}`, event, by: 'answer', child };
      }),
    ),
    ...[...children].map((child): Shot => {
      const event = { type: `xstate.error.actor.${child}`, error: surprise(), actorId: child };
      return { label: `${child} fails`, event, by: 'failure', child };
    }),
    ...anatomy.timers.map(({ event, node }): Shot => {
      return { label: `${eventName(event)} in ${pathOf(node)}`, event: { type: event }, by: 'timer' };
    }),
  ];
  const seen = new Set<string>();
  for (const { label } of shots) {
    if (seen.has(label)) throw new Error(`two samples have the name "${label}"`);
    seen.add(label);
  }
  return shots;
}

const answerLabel = (answer: unknown): string =>
  answer === undefined
    ? 'ends'
    : typeof answer === 'object' && answer !== null && 'type' in answer
      ? briefEvent(answer as AnyEventObject)
      : brief(answer);

/** Without its stack, which is another one on every machine. */
function surprise(): Error {
  const error = new Error('a surprise');
  delete error.stack;
  return error;
}
