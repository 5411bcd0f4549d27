/** A delivery daemon inside the test's own process, on a mesh of the test. */

import { createDaemon, type DeliveryDaemon, type Ended } from '../../src/main.ts';
import type { Handlers } from '../../src/services/delivery/rail-work.ts';
import type { Journal } from '../../src/services/ports.ts';
import type { Mesh } from './mesh.ts';
import { until } from './until.ts';

export interface ServingDaemon {
  readonly daemon: DeliveryDaemon;
  /** Every event that it told, in order. */
  readonly told: { event: string; facts: Record<string, unknown> }[];
  readonly ended: Promise<Ended>;
  /** Resolves when its lease row says ready. */
  ready(): Promise<void>;
  /** Asks it to stop and waits until it has. */
  stop(): Promise<Ended>;
}

/** A journal that keeps what it is told. */
export function keepingJournal(): { journal: Journal; told: ServingDaemon['told'] } {
  const told: ServingDaemon['told'] = [];
  return { told, journal: { tell: (event, ...[facts]) => void told.push({ event, facts: { ...facts } }) } };
}

/** `env`: the daemon's settings (`COTAL_DELIVERY_…`), nothing of the test's own environment. */
export function startDaemon(
  mesh: Mesh,
  more: { env?: Record<string, string>; handlers?: Handlers; standby?: boolean } = {},
): ServingDaemon {
  const { journal, told } = keepingJournal();
  const { env = {}, ...options } = more;
  const daemon = createDaemon({
    space: mesh.space,
    root: mesh.root,
    server: mesh.url,
    journal,
    signals: false,
    env,
    ...options,
  });
  const ended = daemon.run();
  return {
    daemon,
    told,
    ended,
    ready: async () => {
      await until(
        () => daemon.actor.system.get('daemon')?.getSnapshot().hasTag('started') === true,
        () => ({ told, status: daemon.actor.getSnapshot().status }),
      );
    },
    stop: () => {
      daemon.stop('the test is over');
      return ended;
    },
  };
}
