/** The four planted faults: each turns the named acceptance lines red, over both servers. The lines are green without them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Line, type LineName, lines, scene } from './suite/acceptance.ts';
import { divided, roomy } from './support/bounds.ts';
import type { FaultName } from './support/faults.ts';
import { openInProcess } from './support/in-process-stage.ts';
import type { Stage } from './support/stage.ts';
import { openWorkerd } from './support/workerd-stage.ts';

const convictedBy: Record<FaultName, readonly LineName[]> = {
  'alarm-refreshes-from-open': ['a half-open incumbent that nobody challenges is reaped and offline within its bound'],
  'unbound-falls-back-to-default': [
    'frames of an unbound socket are refused and change nothing',
    'no agent can be stamped default from a rejected socket',
  ],
  'readiness-hooks-missing': [
    'no deliver before the cursor-bearing reply and the readiness transition',
    'a frame to an unready identity is not reported delivered',
  ],
  'send-true-on-stale-socket': ['a frame to a stale socket is not reported delivered'],
};

/** Short ones where the line waits for them. */
const boundsOf: Record<FaultName, Readonly<Record<string, string>>> = {
  'alarm-refreshes-from-open': divided,
  'unbound-falls-back-to-default': roomy,
  'readiness-hooks-missing': roomy,
  'send-true-on-stale-socket': roomy,
};

for (const [kind, open] of [
  ['workerd', openWorkerd],
  ['in-process', openInProcess],
] as const)
  for (const fault of Object.keys(convictedBy) as FaultName[])
    describe(`the planted fault ${fault} on ${kind}`, () => {
      let stage: Stage;
      beforeAll(async () => {
        stage = await open({ fault, bounds: boundsOf[fault] });
      });
      afterAll(() => stage?.close());

      it.each(convictedBy[fault])('is convicted by: %s', async (name) => {
        const made = await scene(stage, 'fresh');
        const line: Line = lines[name];
        const outcome = await line(made).then(
          () => 'green',
          (error: unknown) => error,
        );
        await made.site.leave();
        // By the line's own assertion, or by its own bound of time; not by something that broke on the way.
        expect(String(outcome)).toMatch(/^(AssertionError: expected|Error: not within 10400 ms)/);
      });
    });
