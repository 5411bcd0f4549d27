/** What the worker is given. Every bound of `src/domain/provider/limits.ts` may be there too, as a variable of its name. */
export interface Env {
  readonly DB: D1Database;
  readonly NODES: DurableObjectNamespace;
  readonly [variable: `HOSTED_${string}`]: string | undefined;
}

/** The object of a node; there is exactly one. */
export const objectName = (workspace: string, node: string): string => `${workspace}:${node}`;

/** Paths of the object, which only this worker reaches. */
export const CONNECT_URL = 'https://node/connect';
export const SEND_URL = 'https://node/send';
export const WORKSPACE_HEADER = 'x-plane3-workspace';
export const NODE_HEADER = 'x-plane3-node';
