/** The worker that `wrangler deploy` takes. */
import { serveEdge } from './edge.ts';
import type { Env } from './env.ts';

export { NodeDO } from './node-do.ts';

export default {
  fetch: (request, env) => serveEdge(request, env),
} satisfies ExportedHandler<Env>;
