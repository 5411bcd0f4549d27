/** Registers the acceptance lines for a stage, in every variant. */
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { Stage } from '../support/stage.ts';
import { type Line, lines, scene, variantNames } from './acceptance.ts';

export function acceptanceOver(name: string, open: () => Promise<Stage>): void {
  for (const variant of variantNames)
    describe(`${name}, ${variant}`, () => {
      let stage: Stage;
      beforeAll(async () => {
        stage = await open();
      });
      afterAll(() => stage?.close());
      for (const [title, line] of Object.entries<Line>(lines))
        it(title, async () => {
          const made = await scene(stage, variant);
          try {
            await line(made);
          } finally {
            await made.site.leave();
          }
        });
    });
}
