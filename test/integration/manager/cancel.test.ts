/** Work of the manager that is cancelled before each of its requests to the store: nothing is sent any more. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { z } from 'zod';
import { endpointGateKey, endpointLedgerKey } from '../../../src/domain/auth-rows.ts';
import { ManagerRows, type ReadAs } from '../../../src/manager/auth-rows.ts';
import { familyRows } from '../../../src/manager/bind-family.ts';
import {
  attach,
  type Cancellable,
  type EmbeddedPorts,
  register,
  repairGate,
  retire,
  waitForRail,
} from '../../../src/manager/embed.ts';
import { fakeDaemon, provesAll, type Stand, standOf } from '../../support/manager/stand.ts';
import { type Mesh, startMesh } from '../../support/mesh.ts';
import { until } from '../../support/until.ts';

let mesh: Mesh;
let stand: Stand;
beforeEach(async () => {
  mesh = await startMesh();
  stand = await standOf(mesh);
});
afterEach(async () => {
  await stand.ports.close();
  await mesh.dispose();
});

type Of<Verb extends 'write' | 'remove' | 'keys'> = Parameters<ManagerRows[Verb]>[0];

/** Rows whose n-th request finds its work cancelled. What is asked after that without the signal is an effect after it. */
class CancellingRows extends ManagerRows {
  #left: number;
  readonly #stop: AbortController;
  readonly strays: string[] = [];

  constructor(of: { nth: number; stop: AbortController }) {
    super({ space: mesh.space, connection: () => stand.connection });
    this.#left = of.nth;
    this.#stop = of.stop;
  }

  /** Somebody cancels in a turn of his own, between two steps of the work. */
  async #meet(what: string, signal: AbortSignal | undefined): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (--this.#left === 0) this.#stop.abort(new Error('somebody pressed Ctrl-C'));
    if (this.#stop.signal.aborted && signal?.aborted !== true) this.strays.push(what);
  }
  override async read<T>(of: {
    bucket?: 'auth';
    key: string;
    schema: z.ZodType<T>;
    signal?: AbortSignal;
  }): Promise<ReadAs<T>> {
    await this.#meet(`read ${of.key}`, of.signal);
    return super.read(of);
  }
  override async write(of: Of<'write'>): ReturnType<ManagerRows['write']> {
    await this.#meet(`write ${of.key}`, of.signal);
    return super.write(of);
  }
  override async remove(of: Of<'remove'>): ReturnType<ManagerRows['remove']> {
    await this.#meet(`remove ${of.key}`, of.signal);
    return super.remove(of);
  }
  override async keys(of: Of<'keys'>): ReturnType<ManagerRows['keys']> {
    await this.#meet(`keys ${of.filter}`, of.signal);
    return super.keys(of);
  }
}

type Work = (ports: EmbeddedPorts, cancel: Cancellable) => Promise<object>;
const giveHolder = (instance: string) =>
  stand.put(endpointLedgerKey('manager', instance, 'Uh'), {
    credentialId: 'Uh',
    holderPrincipal: 'local.h',
    lifecycleUid: 'a'.repeat(26),
    state: 'active',
    exp: null,
    sourceChain: [],
  });

it.each<[string, (nth: number) => Promise<Work>]>([
  [
    'a registration',
    async (nth) => {
      const of = { endpoint: 'manager', instance: `i${nth}` };
      await giveHolder(of.instance);
      return (ports, cancel) => register(ports, { ...of, incarnation: 'one' }, cancel);
    },
  ],
  [
    'a repair',
    async (nth) => {
      const of = { endpoint: 'manager', instance: `i${nth}` };
      await giveHolder(of.instance);
      const op = { opId: 'op9', kind: 'registration' };
      await stand.put(endpointGateKey('manager', of.instance), {
        state: 'frozen',
        generation: 1,
        principal: 'local.dead',
        op,
      });
      return (ports, cancel) => repairGate(ports, of, cancel);
    },
  ],
  [
    'a retirement',
    async (nth) => {
      await mesh.addAgent({ name: `a${nth}` });
      return (ports, cancel) => retire(ports, { principal: `local.a${nth}` }, cancel);
    },
  ],
])('%s rejects with the reason, wherever it is cancelled, and nothing is sent after', async (_, prepare) => {
  const daemon = await fakeDaemon(mesh, provesAll);
  let [sent, revoked, wanted] = [0, 0, 0];
  const ends: string[] = [];
  while (ends.at(-1) !== 'done') {
    const nth = ends.length + 1;
    const work = await prepare(nth);
    const stop = new AbortController();
    const rows = new CancellingRows({ nth, stop });
    const before = daemon.asked.length + revoked;
    let at: number | undefined;
    stop.signal.addEventListener('abort', () => {
      at = daemon.asked.length + revoked;
    });
    const revoke = async () => {
      revoked++;
      return { type: 'revoked' } as const;
    };
    const ended = await work({ ...stand.ports, rows, revoke }, { signal: stop.signal }).then(
      () => 'done',
      ({ message }: Error) => message,
    );
    expect(rows.strays, `request ${nth}`).toEqual([]);
    wanted += (at ?? daemon.asked.length + revoked) - before;
    ends.push(ended);
    await new Promise((resolve) => setImmediate(resolve));
    sent = daemon.asked.length;
  }
  // What was sent before has arrived when this has.
  await waitForRail(stand.ports, { waitMs: 30_000 });
  expect(daemon.asked.length + revoked).toBe(wanted + 1);
  expect(sent).toBeGreaterThan(0);
  expect(ends.length).toBeGreaterThan(8);
  expect(new Set(ends)).toEqual(new Set(['somebody pressed Ctrl-C', 'done']));
});

it('an attach that is cancelled while its credential is made ends the holder that it became', async () => {
  await fakeDaemon(mesh, provesAll);
  const family = { endpoint: 'manager', instance: 'i1' };
  await stand.put(endpointGateKey('manager', 'i1'), { state: 'open', generation: 1, processEpoch: 1 });
  const stop = new AbortController();
  let revoked = 0;
  const attaching = attach(
    {
      ...stand.ports,
      family,
      lifecycleUid: 'a'.repeat(26),
      issue: async ({ principal }) => {
        stop.abort(new Error('somebody pressed Ctrl-C'));
        return mesh.credsFor('session', { principal });
      },
      revoke: async () => {
        revoked++;
        return { type: 'revoked' };
      },
    },
    { session: 'a' },
    { signal: stop.signal },
  );
  await expect(attaching).rejects.toThrow('somebody pressed Ctrl-C');
  const holders = async () => {
    const found = await familyRows(stand.ports, family);
    return found.type === 'rows' ? found.rows.size : found;
  };
  await until(async () => revoked > 0 && (await holders()) === 0, holders);
});
