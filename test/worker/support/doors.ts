/** The doors of the worker under test, over HTTP: D1, and the object of a node. */
import type { Row, Storage } from '../../../src/provider/storage/port.ts';
import type { At, Stage } from './stage.ts';

type Doors = Pick<Stage, 'sql' | 'send' | 'objectDump' | 'park' | 'parked' | 'release' | 'silence' | 'trouble'> & {
  readonly door: (at: At, verb: string, value?: string, init?: RequestInit) => Promise<Response>;
  /** The raw `/send` of an object, with whatever body. */
  readonly rawSend: (at: At, body: unknown) => Promise<Response>;
  /** D1 as the worker reaches it. */
  readonly storage: Storage;
};

export function doorsOf(url: URL): Doors {
  const door: Doors['door'] = ({ workspace, node }, verb, value = '', init = {}) => {
    const path = ['test', workspace, node, verb].map(encodeURIComponent).join('/');
    return fetch(new URL(`/${path}?value=${encodeURIComponent(value)}`, url), init);
  };
  const rawSend: Doors['rawSend'] = (at, body) => door(at, 'send', '', { method: 'POST', body: JSON.stringify(body) });
  /** Through the worker's own D1 storage, with its errors. */
  const ask = async <T>(body: object): Promise<T> => {
    const response = await fetch(new URL('/test/sql', url), { method: 'POST', body: JSON.stringify(body) });
    const { rows, error } = (await response.json()) as { rows: T; error?: { code: string; message: string } };
    if (error !== undefined) throw Object.assign(new Error(error.message), { code: error.code });
    return rows;
  };
  return {
    door,
    rawSend,
    sql: (...statements) => ask<readonly (readonly Row[])[]>({ statements }),
    storage: {
      batch: (statements) => ask({ statements }),
      query: (statement) => ask({ statements: [statement], alone: true }),
    },
    send: async (request) => ((await (await rawSend(request, request)).json()) as { results: [] }).results,
    objectDump: async (at) => (await (await door(at, 'dump')).json()) as Awaited<ReturnType<Stage['objectDump']>>,
    async park(at, step) {
      await door(at, 'park', step);
    },
    parked: async (at) => (await (await door(at, 'parked')).json()) as undefined,
    async release(at) {
      await door(at, 'release');
    },
    async silence(at, connection) {
      await door(at, 'silence', connection);
    },
    async trouble(at, trouble) {
      await door(at, 'trouble', JSON.stringify(trouble));
    },
  };
}
