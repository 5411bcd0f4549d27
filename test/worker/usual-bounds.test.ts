/** The one run with the usual bounds, undivided: a half-open incumbent on workerd, challenged by guidance alone. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { retried } from './suite/acceptance.ts';
import { Site } from './support/site.ts';
import type { Stage } from './support/stage.ts';
import { openWorkerd } from './support/workerd-stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openWorkerd({ bounds: {} });
});
afterAll(() => stage?.close());

/** Half a minute of it is waiting, on a machine that may be busy with other things. */
const WITHIN_MS = 240_000;

it(
  'a half-open incumbent is superseded after 35 seconds of silence, and told so to the millisecond before',
  async () => {
    const site = await Site.make(stage);
    try {
      const { peer: old, proxy } = await site.openThroughProxy();
      await old.ask(site.registerFrame({ instance: 'before' }));
      // The server counts from the arrival of this, which lies between here and the freeze.
      const askedAt = performance.now();
      const ann = await site.agent(old, 'Ann');
      proxy.hold('toBroker', 'toClient');
      const frozenAt = performance.now();
      const challenger = await site.open();
      const conflict = await challenger.ask(site.registerFrame({ instance: 'after' }));
      expect(conflict).toMatchObject({ code: 'provider_instance_conflict' });
      expect(conflict.retry_after_ms).toBeGreaterThan(25_000);
      expect(conflict.retry_after_ms).toBeLessThanOrEqual(35_000);
      const { peer, conflicts } = await retried(site, 'after');
      const acceptedAt = performance.now();
      expect(acceptedAt - askedAt).toBeGreaterThanOrEqual(34_990);
      expect(acceptedAt - frozenAt).toBeLessThan(45_000);
      expect(conflicts).toBeLessThanOrEqual(3);
      await site.inventory(peer, [{ id: ann, name: 'Ann' }]);
      expect(await site.post('hello')).toMatchObject([{ agent: 'Ann', state: 'delivered' }]);
    } finally {
      await site.leave();
    }
  },
  WITHIN_MS,
);
