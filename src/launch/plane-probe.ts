/** A look at the plane from outside of the daemon, over a connection that is opened when it is needed. */
import type { NatsConnection } from '@nats-io/nats-core';
import { lookAtManager, lookAtPlane } from '../services/nats/serving-probe.ts';
import type { PlaneProbe } from './children.ts';
import type { Mesh } from './mesh.ts';

/** Whose requests these are on the liveness subject. */
const PRINCIPAL = 'local.launcher';

export function planeProbe(of: { mesh: Mesh; space: string; timeoutMs: number }): PlaneProbe {
  const { mesh, space } = of;
  let open: { connection: NatsConnection; publicKey: string; until: number } | undefined;
  const close = async (): Promise<void> => {
    const last = open;
    open = undefined;
    await last?.connection.close().catch(() => {});
  };
  return {
    look: async () => {
      try {
        if (open !== undefined && (open.connection.isClosed() || Date.now() > open.until)) await close();
        open ??= { ...(await mesh.connectAs('manager', PRINCIPAL)), until: Date.now() + KEPT_MS };
        const { connection, publicKey } = open;
        const timeoutMs = Math.min(of.timeoutMs, ASK_MS);
        return await lookAtPlane({ connection, publicKey, space, principal: PRINCIPAL, timeoutMs });
      } catch {
        await close();
        return undefined;
      }
    },
    manager: async () => {
      try {
        if (open !== undefined && (open.connection.isClosed() || Date.now() > open.until)) await close();
        open ??= { ...(await mesh.connectAs('manager', PRINCIPAL)), until: Date.now() + KEPT_MS };
        const { connection, publicKey } = open;
        return await lookAtManager({ connection, publicKey, space, timeoutMs: Math.min(of.timeoutMs, ASK_MS) });
      } catch {
        await close();
        return undefined;
      }
    },
    close,
  };
}

/** Well below the life of its credential. */
const KEPT_MS = 60_000;
/** One look takes no longer. */
const ASK_MS = 1_000;
