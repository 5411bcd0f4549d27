/** The one run with the usual bounds, undivided: a half-open incumbent on workerd, challenged by guidance alone. */
import { expect, it } from 'vitest';
import { retried } from './suite/acceptance.ts';
import { Site } from './support/site.ts';
import { openWorkerd } from './support/workerd-stage.ts';

it('a half-open incumbent is superseded after 35 seconds of silence, and told so to the millisecond before', async () => {
  const stage = await openWorkerd({ bounds: {} });
  const site = await Site.make(stage);
  try {
    const { peer: old, proxy } = await site.openThroughProxy();
    await old.ask(site.registerFrame({ instance: 'before' }));
    const ann = await site.agent(old, 'Ann');
    proxy.freeze();
    const frozenAt = performance.now();
    const challenger = await site.open();
    const conflict = await challenger.ask(site.registerFrame({ instance: 'after' }));
    expect(conflict).toMatchObject({ code: 'provider_instance_conflict' });
    expect(conflict.retry_after_ms).toBeGreaterThan(25_000);
    expect(conflict.retry_after_ms).toBeLessThanOrEqual(35_000);
    const { peer, conflicts } = await retried(site, 'after');
    const waited = performance.now() - frozenAt;
    expect(waited).toBeGreaterThan(34_000);
    expect(waited).toBeLessThan(45_000);
    expect(conflicts).toBeLessThanOrEqual(3);
    await site.inventory(peer, [{ id: ann, name: 'Ann' }]);
    expect(await site.post('hello')).toMatchObject([{ agent: 'Ann', state: 'delivered' }]);
  } finally {
    await site.leave();
    await stage.close();
  }
});
