/**
 * The format of a recording: JSON lines, the first one the head, then one for each step of each machine, in the order in which
 * they were taken. It has no bodies, no tokens and nothing that is not a shown field (`domain/shown`).
 */
import { z } from 'zod';

const eventSchema = z.looseObject({ type: z.string() });
export const headSchema = z.object({
  v: z.literal(1),
  process: z.string(),
  space: z.string(),
  /** Milliseconds since the epoch. */
  at: z.number(),
});
export const stepSchema = z.object({
  /** Which actor: unique in the recording. */
  actor: z.string(),
  /** With its first step: name in the catalogue, and id under its parent. The event is `xstate.init` with the input. */
  machine: z.string().optional(),
  id: z.string().optional(),
  at: z.number(),
  on: eventSchema,
  /** Paths of the leaves that were active afterwards. */
  to: z.array(z.string()),
  /** Children that were started. */
  asked: z.array(z.string()).optional(),
  /** Types of the events that others were told. */
  said: z.array(z.string()).optional(),
});
export type RecordingHead = z.infer<typeof headSchema>;
export type RecordedStep = z.infer<typeof stepSchema>;
