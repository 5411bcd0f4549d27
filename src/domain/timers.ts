/**
 * Checkpoint timers: what a workflow asks for on `….schedule`, what is armed for it on `….armed`, and what the broker fires
 * on `….fire`. The four tokens of the subject name one timer; a generation is one arming of it.
 */
import { z } from 'zod';
import { readJson, shaped } from './message.ts';

export interface TimerName {
  readonly endpoint: string;
  readonly instance: string;
  readonly epoch: string;
  readonly timerId: string;
}
export const TIMER_VERBS = ['schedule', 'armed', 'fire'] as const;
export type TimerVerb = (typeof TIMER_VERBS)[number];

/** One token of a timer's subject. */
export const isTimerToken = (text: string): boolean => /^[A-Za-z0-9_-]{1,128}$/.test(text);

export const timerSubject = (space: string, name: TimerName, verb: TimerVerb): string =>
  `cotal.${space}.ept.${name.endpoint}.${name.instance}.${name.epoch}.${name.timerId}.${verb}`;
export const timerSubjects = (space: string, verb: TimerVerb | '*'): string => `cotal.${space}.ept.*.*.*.*.${verb}`;

export function readTimerSubject(space: string, subject: string): { name: TimerName; verb: TimerVerb } | undefined {
  const head = `cotal.${space}.ept.`;
  if (!subject.startsWith(head)) return undefined;
  const [endpoint = '', instance = '', epoch = '', timerId = '', word, ...rest] = subject.slice(head.length).split('.');
  const verb = TIMER_VERBS.find((each) => each === word);
  if (verb === undefined || rest.length > 0 || ![endpoint, instance, epoch, timerId].every(isTimerToken)) {
    return undefined;
  }
  return { name: { endpoint, instance, epoch, timerId }, verb };
}

/**
 * Latest deadline, milliseconds: 2255. The broker counts nanoseconds in 64 bits, so that a schedule beyond 2262 is one of
 * the past to it, and fires at once.
 */
export const LATEST_DEADLINE_MS = 9_000_000_000_000;

/** Body of a request, of what is armed for it and of what fires: the broker hands it on as it is. */
export const timerSchema = z.object({
  v: z.literal(1),
  timerId: z.string(),
  generation: z.int().min(1),
  /** Milliseconds since the epoch; one that has passed fires at once. */
  deadline: z.int().min(0).max(LATEST_DEADLINE_MS),
});
export type Timer = z.infer<typeof timerSchema>;

export const readTimer = (data: Uint8Array): Timer | undefined => shaped(timerSchema, readJson(data));
export const timerBody = (timer: Timer): Uint8Array => new TextEncoder().encode(JSON.stringify(timer));

/** Headers by which a requester would tell the broker what to do with its request. */
const isForbidden = (header: string): boolean => /^nats-(schedule|rollup)/i.test(header);

export type Judged =
  | { readonly kind: 'valid'; readonly name: TimerName; readonly timer: Timer }
  | { readonly kind: 'refused'; readonly reason: string };

/** Whether a request may be armed (T2). */
export function judgeTimer(asked: {
  space: string;
  subject: string;
  headers: readonly string[];
  data: Uint8Array;
}): Judged {
  const { space, subject, headers, data } = asked;
  const read = readTimerSubject(space, subject);
  if (read?.verb !== 'schedule') return { kind: 'refused', reason: 'its subject names no timer' };
  const forbidden = headers.find(isForbidden);
  if (forbidden !== undefined) return { kind: 'refused', reason: `it carries the header ${forbidden}` };
  const parsed = timerSchema.safeParse(readJson(data));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return {
      kind: 'refused',
      reason: `its body is no timer: ${issue?.path.join('.') || 'it'} ${issue?.message ?? ''}`,
    };
  }
  if (parsed.data.timerId !== read.name.timerId) {
    return { kind: 'refused', reason: `its body names the timer "${parsed.data.timerId}"` };
  }
  return { kind: 'valid', name: read.name, timer: parsed.data };
}

/** What the store has of a timer. `armed` without a timer: something that cannot be read as one. */
export interface Standing {
  readonly armed: { readonly seq: number; readonly timer: Timer | undefined } | undefined;
  readonly fired: Timer | undefined;
}
export type TimerPlan =
  /** `expect`: the sequence that `….armed` must still have. */
  | { readonly kind: 'arm'; readonly expect: number }
  | { readonly kind: 'settled'; readonly why: 'armed' | 'fired' | 'superseded' }
  | { readonly kind: 'refused'; readonly reason: string };

/** What a request comes to: each generation is armed once, and none that a newer one has replaced, or that has fired. */
export function planTimer(timer: Timer, { armed, fired }: Standing): TimerPlan {
  if (fired !== undefined && fired.generation >= timer.generation) return { kind: 'settled', why: 'fired' };
  const standing = armed?.timer;
  if (standing !== undefined && standing.generation > timer.generation) return { kind: 'settled', why: 'superseded' };
  if (standing !== undefined && standing.generation === timer.generation) {
    return standing.deadline === timer.deadline
      ? { kind: 'settled', why: 'armed' }
      : {
          kind: 'refused',
          reason: `generation ${timer.generation} is armed for ${new Date(standing.deadline).toISOString()} already`,
        };
  }
  return { kind: 'arm', expect: armed?.seq ?? 0 };
}

/** The broker's own words for it: to the millisecond, so that nothing fires early. */
export const scheduleOf = ({ deadline }: Timer): string => `@at ${new Date(deadline).toISOString()}`;
