/**
 * What is behind `--http`, for whoever watches over processes: no token, and nothing in it that needs one.
 *
 *   /metrics   for Prometheus
 *   /healthz   200 while the root of the process runs, 503 when it has ended
 *   /readyz    200 while the process does what it is there for, else 503; the body says where its machines stand
 */
import type { Metrics } from './metrics.ts';
import { leavesOf } from './ring.ts';
import type { Answer, Site } from './site.ts';
import type { Tap } from './tap.ts';

/** Machines of which there may be many: they are counted by `/metrics`, and not listed. */
const MOST_LISTED = 32;

export function healthSite({ metrics, tap }: { metrics: Metrics; tap: Tap }): Site {
  const standing = (): Record<string, string> => {
    const machines = [...tap.live()].filter(({ machine }) => machine !== undefined).slice(0, MOST_LISTED);
    return Object.fromEntries(
      machines.map(({ session, machine = '' }) => [machine, leavesOf(tap.snapshotOf(session)?.value).join(' ∥ ')]),
    );
  };
  const verdict = (name: string, ok: boolean): Answer => ({
    status: ok ? 200 : 503,
    type: 'application/json',
    body: `${JSON.stringify({ [name]: ok, machines: standing() })}\n`,
  });
  return {
    answer: async (path) => {
      const { exhibit } = metrics;
      switch (path) {
        case '/metrics':
          return { status: 200, type: metrics.type, body: await metrics.text() };
        case '/healthz':
          return verdict('healthy', exhibit?.alive() === true);
        case '/readyz':
          return verdict('ready', exhibit?.ready() === true);
        default:
          return undefined;
      }
    },
  };
}
