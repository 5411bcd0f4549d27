import { setTimeout as pause } from 'node:timers/promises';

const ASK_AGAIN_MS = 10;

/**
 * Waits until the condition gives something that is neither undefined, null nor false, and returns it.
 * @param condition Asked again and again; what it throws counts as "not yet" and is told when the time is up.
 * @param diagnostics What to say when the time is up: everything that helps to see why.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  diagnostics: string | (() => unknown),
  timeoutMs = 30_000,
): Promise<Exclude<T, undefined | null | false>> {
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value !== undefined && value !== null && value !== false) {
        return value as Exclude<T, undefined | null | false>;
      }
      last = value;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) {
      const said = typeof diagnostics === 'string' ? diagnostics : await diagnostics();
      throw new Error(
        `not within ${timeoutMs} ms: ${typeof said === 'string' ? said : JSON.stringify(said, undefined, 2)} (last: ${String(last)})`,
      );
    }
    await pause(ASK_AGAIN_MS);
  }
}
