/** Registers the acceptance lines for a stage, in every variant. */
import { afterAll, beforeAll, describe, it } from 'vitest';
import { divided, roomy } from '../support/bounds.ts';
import type { Stage, StageOptions } from '../support/stage.ts';
import { bounded, type LineName, lines, scene, variantNames } from './acceptance.ts';

const roomyLines = (Object.keys(lines) as LineName[]).filter((title) => !bounded.includes(title));

/** A line has short bounds only where it waits for them, so that a busy machine makes no healthy peer look silent. */
const kinds = [
  // No line waits for this one, and some wait with a socket that has not registered yet.
  { kind: 'short bounds', bounds: { ...divided, HOSTED_UNBOUND_MS: roomy.HOSTED_UNBOUND_MS }, titles: bounded },
  { kind: 'roomy bounds', bounds: roomy, titles: roomyLines },
];

export function acceptanceOver(name: string, open: (options: StageOptions) => Promise<Stage>): void {
  for (const { kind, bounds, titles } of kinds)
    describe(kind, () => {
      let stage: Stage;
      beforeAll(async () => {
        stage = await open({ bounds });
      });
      afterAll(() => stage?.close());
      for (const variant of variantNames)
        describe(`${name}, ${variant}`, () => {
          for (const title of titles)
            it(title, async () => {
              const made = await scene(stage, variant);
              try {
                await lines[title](made);
              } finally {
                await made.site.leave();
              }
            });
        });
    });
}
