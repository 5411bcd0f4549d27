/** What a state leaves behind when it is left: nothing. On XState itself, bound the way that every machine of ours is. */
import { describe, expect, it } from 'vitest';
import { createActor, setup } from 'xstate';
import { catalogue } from '../../src/machines/catalogue.ts';
import { ask, listen } from '../../src/services/bind-effects.ts';
import { explore } from '../support/paths/explore.ts';
import { samplesFor } from '../support/paths/proved.ts';
import { until } from '../support/until.ts';

type News = { type: 'news.heard' } | { type: 'asked.again' };

describe('a state that is left', () => {
  it('takes its listener with it when the effect beside it fails: nothing is heard any more (PTH-08)', async () => {
    let tell: (fact: News) => void = () => {};
    let stopped = 0;
    const machine = setup({
      types: { events: {} as News },
      actors: {
        register: ask<News, undefined>(() => Promise.reject(new Error('refused'))),
        socket: listen<News, undefined>((heard) => {
          tell = heard;
          return {
            stop: async () => {
              stopped += 1;
            },
          };
        }),
      },
    }).createMachine({
      initial: 'Registering',
      states: {
        Registering: {
          invoke: [
            { id: 'socket', src: 'socket' },
            { id: 'register', src: 'register', onError: 'Refused' },
          ],
        },
        Refused: { on: { 'news.heard': 'Wrong' } },
        Wrong: {},
      },
    });
    const actor = createActor(machine).start();
    await until(() => actor.getSnapshot().value === 'Refused', 'it is not refused');
    expect(stopped).toBe(1);
    tell({ type: 'news.heard' });
    expect(actor.getSnapshot().value).toBe('Refused');
    actor.stop();
  });

  it('has its child cleaned up before the next one has its system id, when it is entered anew in one step (PTH-07)', () => {
    const order: string[] = [];
    let count = 0;
    const machine = setup({
      types: { events: {} as News },
      actors: {
        connection: listen<News, undefined>(() => {
          const mine = ++count;
          order.push(`open ${mine}`);
          return {
            stop: async () => {
              order.push(`close ${mine}`);
            },
          };
        }),
      },
    }).createMachine({
      initial: 'Connected',
      states: {
        Connected: {
          invoke: { id: 'connection', systemId: 'connection', src: 'connection' },
          on: { 'asked.again': { target: 'Connected', reenter: true } },
        },
      },
    });
    const actor = createActor(machine).start();
    const first = actor.system.get('connection');
    actor.send({ type: 'asked.again' });
    expect(order).toEqual(['open 1', 'close 1', 'open 2']);
    expect(actor.getSnapshot().status).toBe('active');
    expect(actor.system.get('connection')).toBeDefined();
    expect(actor.system.get('connection')).not.toBe(first);
    actor.stop();
    expect(order.at(-1)).toBe('close 2');
  });
});

describe('a walk over a machine', () => {
  it('fires the events that its samples give, with what is in them, and invents none (PTH-04)', async () => {
    const entry = catalogue.find(({ name }) => name === 'brokerWatch');
    const samples = entry === undefined ? undefined : await samplesFor(entry);
    if (entry === undefined || samples === undefined) throw new Error('brokerWatch has no samples');
    const { edges, shots } = explore(entry.machine, samples);
    const given = new Set(shots.map(({ event }) => event));
    expect(edges.length).toBeGreaterThan(0);
    for (const { shot } of edges) expect(given.has(shot.event), shot.label).toBe(true);
  });
});
