/** What a launched process says of its own end, to its launcher alone: one JSON line on descriptor 3. */
import { writeSync } from 'node:fs';
import { z } from 'zod';

export const END_DESCRIPTOR = 3;

export const endSchema = z.object({ end: z.string(), message: z.string() });

export function reportEnd(end: z.infer<typeof endSchema>): void {
  try {
    writeSync(END_DESCRIPTOR, `${JSON.stringify({ end: end.end, message: end.message })}\n`);
  } catch {
    // Its launcher is gone, or it has none: the log has the reason too.
  }
}
