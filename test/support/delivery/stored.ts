/** A daemon over a secret store of the test's own, whose credential can be changed under it. */
import { createDaemon, type DeliveryDaemon, type Ended } from '../../../src/main.ts';
import { type Credential, credsText } from '../../../src/services/credential.ts';
import type { Clock, SecretStore } from '../../../src/services/ports.ts';
import type { Mesh } from '../mesh.ts';
import { until } from '../until.ts';
import { TestJournal } from './daemon.ts';

export interface Stored {
  readonly daemon: DeliveryDaemon;
  readonly journal: TestJournal;
  readonly ended: Promise<Ended>;
  /** Changes what the store has. */
  keep(credential: Credential | string | undefined): void;
  /** The store does not answer for the credential any more, until `unhang`. */
  hang(): void;
  unhang(): void;
  serving(): Promise<void>;
  /** Serving, and the lease watch is bound. */
  started(): Promise<void>;
  state(): string;
  stop(): Promise<Ended>;
}

export async function startStored(
  mesh: Mesh,
  of: {
    credential: Credential | string;
    server?: string;
    env?: Record<string, string>;
    clock?: Clock;
    standby?: boolean;
  },
): Promise<Stored> {
  const [observer, evictor] = await Promise.all([mesh.credsFor('observer'), mesh.credsFor('evictor')]);
  const textOf = (credential: Credential | string) =>
    typeof credential === 'string' ? credential : credsText(credential);
  let delivery: string | undefined = textOf(of.credential);
  let hangs = false;
  const store: SecretStore = {
    identity: () => ({ kind: 'injected', coordinate: 'test' }),
    read: async (name) => {
      if (name !== 'delivery') return credsText(name === 'observer' ? observer : evictor);
      if (hangs) await new Promise(() => {});
      return delivery;
    },
  };
  const journal = new TestJournal();
  const daemon = createDaemon({
    space: mesh.space,
    server: of.server ?? mesh.url,
    store,
    journal,
    env: of.env ?? {},
    signals: false,
    ...(of.clock === undefined ? {} : { clock: of.clock }),
    ...(of.standby === undefined ? {} : { standby: of.standby }),
  });
  const ended = daemon.run();
  const machine = (name: string) => daemon.actor.system.get(name)?.getSnapshot();
  const state = () =>
    JSON.stringify({
      system: daemon.actor.getSnapshot().value,
      daemon: machine('daemon')?.value,
      credential: machine('credential')?.value,
      told: journal.told.slice(-8),
    });
  return {
    daemon,
    journal,
    ended,
    keep: (credential) => {
      delivery = credential === undefined ? undefined : textOf(credential);
    },
    hang: () => {
      hangs = true;
    },
    unhang: () => {
      hangs = false;
    },
    serving: async () => void (await until(() => daemon.actor.getSnapshot().hasTag('serving'), state)),
    started: async () => void (await until(() => machine('daemon')?.hasTag('started'), state)),
    state,
    stop: () => {
      daemon.stop('SIGTERM');
      return ended;
    },
  };
}
