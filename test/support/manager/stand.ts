/** A manager's hands on a test mesh: its ports, and a rail whose daemon is the test itself. */
import type { NatsConnection } from '@nats-io/nats-core';
import { ProcessProof } from '../../../src/admin-ops.ts';
import { endpointLedgerKey } from '../../../src/domain/auth-rows.ts';
import { type ManagerNumbers, managerNumbers } from '../../../src/domain/manager-numbers.ts';
import { buckets, LEASE_KEY, railSubjects } from '../../../src/domain/subjects.ts';
import { ManagerRows, type Written } from '../../../src/manager/auth-rows.ts';
import { type EmbeddedPorts, managerPorts } from '../../../src/manager/embed.ts';
import { revoker } from '../../../src/manager/revoker.ts';
import type { Credential } from '../../../src/services/credential.ts';
import { fsStore } from '../../../src/services/local/fs-store.ts';
import { credsPath, openCreds } from '../../../src/services/local/mint.ts';
import { readGuardedRow, writeRow } from '../../../src/services/nats/rows.ts';
import type { Mesh } from '../mesh.ts';

export const FAST: Partial<ManagerNumbers> = {
  railWaitMs: 30_000,
  railFirstGapMs: 20,
  railGapLimitMs: 100,
  askAgainMs: 20,
};

export interface Stand {
  readonly ports: EmbeddedPorts;
  readonly connection: NatsConnection;
  readonly credential: Credential;
  /** A row of the auth bucket as JSON. */
  row(key: string): Promise<Record<string, unknown> | undefined>;
  put(key: string, value: object): Promise<void>;
}

export async function standOf(
  mesh: Mesh,
  of: { principal?: string; numbers?: Partial<ManagerNumbers>; url?: string } = {},
): Promise<Stand> {
  const { principal = 'local.executor', url } = of;
  const credential = await mesh.credsFor('manager', { principal, lifeS: null });
  const connection = await mesh.connect(credential);
  const dial = { url: url ?? mesh.url, timeoutMs: 5_000 };
  const ports = managerPorts({
    space: mesh.space,
    principal,
    connection: () => connection,
    dial: () => ({ ...dial, name: 'manager', credential }),
    revoke: revoker({
      root: mesh.root,
      space: mesh.space,
      operator: mesh.operator,
      dial: { url: mesh.url },
      nowMs: () => Date.now(),
    }),
    numbers: { ...managerNumbers, ...FAST, ...of.numbers },
  });
  const bucket = buckets(mesh.space).auth;
  return {
    ports,
    connection,
    credential,
    row: async (key) => {
      const read = await readGuardedRow({ connection, bucket, key });
      return read.kind === 'found' ? JSON.parse(Buffer.from(read.data).toString()) : undefined;
    },
    put: async (key, value) => {
      const written = await writeRow({ connection, bucket, key, value });
      if (written.kind !== 'stored') throw new Error(JSON.stringify(written));
    },
  };
}

export interface Asked {
  readonly op: string;
  readonly from: { id: string };
  readonly args: { principals: string[]; principal: string; challenge: string };
}

/** Answers the rail for managers in a daemon's place. Undefined: silence. A string is sent as it is. */
export async function fakeDaemon(
  mesh: Mesh,
  reply: (asked: Asked, nth: number) => object | string | undefined | Promise<object | string | undefined>,
): Promise<{ asked: Asked[]; stop(): Promise<void> }> {
  const connection = await mesh.connect('delivery');
  const asked: Asked[] = [];
  connection.subscribe(railSubjects(mesh.space, 'delivery-admin'), {
    callback: (_, message) => {
      const request = message.json<Asked>();
      asked.push(request);
      void (async () => {
        const answer = await reply(request, asked.length);
        if (answer !== undefined) message.respond(typeof answer === 'string' ? answer : JSON.stringify(answer));
      })();
    },
  });
  await connection.flush();
  return { asked, stop: () => connection.close() };
}

/** A daemon in all but its work: it holds the lease row, and proves that it re-reads the files of the root. */
export async function fakeHolder(
  mesh: Mesh,
  reply: (asked: Asked, nth: number) => object | string | undefined | Promise<object | string | undefined>,
  row: object = {},
): Promise<{ asked: Asked[]; stop(): Promise<void> }> {
  const { root, space } = mesh;
  const credential = openCreds(credsPath(root, space, 'delivery'));
  if (credential === undefined) throw new Error('the mesh has no delivery credential');
  const holder = { holder: 'local.delivery', incarnation: 'fake' };
  const proof = new ProcessProof({ space, ...holder });
  const at = Date.now();
  const value = { ...holder, since: at, acquiredAt: at, ready: true, ...proof.row(credential), ...row };
  const connection = await mesh.connect('delivery');
  const written = await writeRow({ connection, bucket: buckets(space).delivery, key: LEASE_KEY, value });
  if (written.kind !== 'stored') throw new Error(JSON.stringify(written));
  const store = fsStore({ root, space });
  return fakeDaemon(mesh, (asked, nth) =>
    asked.op === 'reloadStoreIdentity'
      ? { ok: true, data: proof.answer(store, asked.args.challenge) }
      : reply(asked, nth),
  );
}

export const gone = (principal: string) => ({
  principal,
  kicked: 0,
  remaining: 0,
  verifiedGone: true,
  scanComplete: true,
});
/** A daemon that proves everybody gone who is asked for. */
export const provesAll = ({ op, args }: Asked): object => {
  if (op === 'evictPrincipals') return { ok: true, data: { results: args.principals.map(gone) } };
  if (op === 'principalLiveness') return { ok: true, data: { liveness: 'gone' } };
  return { ok: false, error: { code: 'rail.unknown-op', message: `${op} is not known` } };
};

/** Ledger rows of a family, written with few round trips. */
export async function giveHolders(
  stand: Stand,
  family: { endpoint: string; instance: string },
  names: readonly string[],
) {
  for (let from = 0; from < names.length; from += 100) {
    await Promise.all(
      names.slice(from, from + 100).map((name) =>
        stand.put(endpointLedgerKey(family.endpoint, family.instance, `U${name.replace('.', '')}`), {
          credentialId: `U${name}`,
          holderPrincipal: name,
          lifecycleUid: 'a'.repeat(26),
          state: 'revoked',
          exp: null,
          sourceChain: [],
        }),
      ),
    );
  }
}

/** Rows whose writes go wrong as the test says: lost before they arrive, or landed with their answer lost. */
export class TroubledRows extends ManagerRows {
  readonly #trouble: (key: string) => 'lost' | 'unanswered' | undefined;

  constructor(
    of: ConstructorParameters<typeof ManagerRows>[0],
    trouble: (key: string) => 'lost' | 'unanswered' | undefined,
  ) {
    super(of);
    this.#trouble = trouble;
  }

  override async write(of: Parameters<ManagerRows['write']>[0]): Promise<Written> {
    const trouble = this.#trouble(of.key);
    if (trouble === 'lost') return { type: 'store.unanswered' };
    const written = await super.write(of);
    return trouble === 'unanswered' ? { type: 'store.unanswered' } : written;
  }
}
