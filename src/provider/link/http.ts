/** The HTTP table as a link uses it: one call each, with a bound; nothing is tried again here. */
import { z } from 'zod';
import type { Directory } from './ports.ts';

const envelope = z.union([
  z.looseObject({ ok: z.literal(true), data: z.unknown() }),
  z.looseObject({ ok: z.literal(false), error: z.looseObject({ code: z.string().max(128) }) }),
]);

export type HttpAnswer =
  | { readonly kind: 'data'; readonly data: unknown }
  | { readonly kind: 'refused'; readonly status: number; readonly code: string }
  /** Nobody answered, or somebody who could not: it may be tried again. */
  | { readonly kind: 'unavailable'; readonly code: string };

export interface HttpCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly token: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export class HttpTable {
  readonly #base: URL;
  readonly #timeoutMs: number;

  constructor({ base, timeoutMs }: { base: URL; timeoutMs: number }) {
    this.#base = base;
    this.#timeoutMs = timeoutMs;
  }

  async call({ method, path, token, body, headers = {}, signal }: HttpCall): Promise<HttpAnswer> {
    try {
      const response = await fetch(new URL(path, this.#base), {
        method,
        // A token never follows an answer to another place.
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(this.#timeoutMs)]),
        headers: {
          authorization: `Bearer ${token}`,
          ...headers,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return judge(response.status, await response.text());
    } catch (error) {
      return { kind: 'unavailable', code: reasonOf(error) };
    }
  }
}

function judge(status: number, text: string): HttpAnswer {
  if (status >= 500 || status === 429) return { kind: 'unavailable', code: `http_${status}` };
  const read = envelope.safeParse(jsonOf(text)).data;
  if (read === undefined) return { kind: 'unavailable', code: `http_${status}_unreadable` };
  return read.ok ? { kind: 'data', data: read.data } : { kind: 'refused', status, code: read.error.code };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  const { cause, name } = error as { cause?: { code?: unknown }; name?: unknown };
  if (typeof cause?.code === 'string') return cause.code;
  return name === 'TimeoutError' ? 'timeout' : 'unreachable';
}

const agent = z.looseObject({
  id: z.string(),
  location_type: z.string(),
  location_node_id: z.string().nullable(),
  provider_name: z.string(),
});
const binding = z.looseObject({ agent_id: z.string(), provider: z.string() });

/** `token`: the one that the socket of this attempt was dialled with. */
export function httpDirectory(of: { table: HttpTable; nodeName: string; token: () => string }): Directory {
  const { table, nodeName } = of;
  return {
    async find({ name, signal }) {
      const path = `/v1/agents/${encodeURIComponent(name)}`;
      const answer = await table.call({ method: 'GET', path, token: of.token(), signal });
      if (answer.kind === 'unavailable') return answer;
      if (answer.kind === 'refused')
        return answer.status === 404 ? { kind: 'absent' } : { kind: 'unavailable', code: answer.code };
      const read = agent.safeParse(answer.data).data;
      if (read === undefined) return { kind: 'unavailable', code: 'unreadable' };
      const { id: agentId, location_type: type, location_node_id: node, provider_name: provider } = read;
      return { kind: 'found', agentId, node, provider, isLocated: type === 'via_node' };
    },
    async bind({ name, signal }) {
      const path = `/v1/nodes/${encodeURIComponent(nodeName)}/agents`;
      const body = { agent_name: name };
      const answer = await table.call({ method: 'POST', path, token: of.token(), body, signal });
      if (answer.kind === 'unavailable') return answer;
      if (answer.kind === 'refused') return { kind: 'refused', code: answer.code };
      const read = binding.safeParse(answer.data).data;
      return read === undefined
        ? { kind: 'unavailable', code: 'unreadable' }
        : { kind: 'bound', agentId: read.agent_id, provider: read.provider };
    },
  };
}
