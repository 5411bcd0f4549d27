import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RailRequest, Stoppable } from '../../src/services/ports.ts';
import { until } from '../support/until.ts';
import { type Ground, json, text } from './ground.ts';

/** The rails. */
export function railsContract(on: () => Ground): void {
  describe('rails', () => {
    let ground: Ground;
    let serving: Stoppable | undefined;
    beforeAll(() => {
      ground = on();
    });
    afterEach(() => serving?.stop());
    const serve = async (answer: (request: RailRequest) => void) => {
      let bound = false;
      const { rails } = await ground.ports();
      serving = rails.serve({
        bound: () => {
          bound = true;
        },
        request: answer,
        lost: () => {},
      });
      await until(() => bound, 'the rails');
      return serving;
    };
    const echo = (request: RailRequest) =>
      request.reply('echo', {
        ok: true,
        data: { rail: request.rail, principal: request.principal, body: request.body },
      });
    const ask = (body: Uint8Array = json({ op: 'echo' })) =>
      ground.request({ rail: 'delivery', principal: 'local.ann', body });

    it.each(['delivery', 'delivery-admin'] as const)(
      'answer a request on %s with who asked, by the subject',
      async (rail) => {
        await serve(echo);
        expect(await ground.request({ rail, principal: 'local.ann', body: json({ op: 'echo' }) })).toEqual({
          ok: true,
          data: { rail, principal: 'local.ann', body: { op: 'echo' } },
        });
      },
    );

    it('hand on a body that is no JSON as none', async () => {
      const bodies: unknown[] = [];
      await serve((request) => {
        bodies.push(request.body);
        echo(request);
      });
      await ask(text('{'));
      await ask(text(''));
      expect(bodies).toEqual([undefined, undefined]);
    });

    it('drop a request whose reply subject lies outside its own subtree (K3)', async () => {
      let heard = 0;
      await serve((request) => {
        heard++;
        echo(request);
      });
      const before = ground.journal.told('rail.dropped').length;
      const steered = `cotal.${ground.space}.ctl.delivery.local.bob.reply.1`;
      expect(
        await ground.request({ rail: 'delivery', principal: 'local.ann', body: json({}), reply: steered }),
      ).toBeUndefined();
      await until(
        () => ground.journal.told('rail.dropped').length === before + 1,
        () => ground.journal.events,
      );
      expect(heard).toBe(0);
    });

    it('replace a reply that is too large by a refusal that gives its size (K2)', async () => {
      const limit = (await ground.ports()).maxPayload();
      await serve((request) => request.reply('echo', { ok: true, data: 'x'.repeat(limit) }));
      expect(await ask()).toMatchObject({ ok: false, error: { code: 'rail.too-large', bytes: limit + 21, limit } });
    });

    it('answer nobody after a stop: whoever asks then finds no responder', async () => {
      const stopping = await serve(echo);
      await stopping.stop();
      expect(await ask()).toBeUndefined();
    });

    it('answer nothing once the gate is shut, also to a request in hand (K1)', async () => {
      let shut: string | undefined;
      const { rails } = await ground.ports({ gate: () => shut });
      let bound = false;
      serving = rails.serve({
        bound: () => {
          bound = true;
        },
        request: (request) => {
          shut = 'in doubt';
          echo(request);
        },
        lost: () => {},
      });
      await until(() => bound, 'the rails');
      expect(await ask()).toBeUndefined();
    });
  });
}
