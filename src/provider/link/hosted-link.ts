/** A provider link over the real world: `ws` and HTTP, one address for both. */
import { Plane3Error } from '../../domain/errors/catalogue.ts';
import { DEFAULT_PROVIDER, isName } from '../../domain/provider/names.ts';
import { HttpTable, httpDirectory } from './http.ts';
import { type LinkOptions, type ProviderLink, startLink } from './link.ts';
import type { TokenSource } from './ports.ts';
import { madeTokens, readTokens, type TokenStore } from './tokens.ts';
import { wsDialer } from './ws-dialer.ts';

/** Where the token comes from. */
export type TokenFrom =
  | { readonly kind: 'read'; readonly read: () => string | undefined }
  | { readonly kind: 'made'; readonly workspaceKey: string; readonly store: TokenStore };

export interface HostedLinkOptions
  extends Pick<LinkOptions, 'node' | 'agents' | 'numbers' | 'deliveries' | 'journal' | 'onHealth' | 'inspect'> {
  readonly base: URL;
  readonly tokens: TokenFrom;
}

/**
 * Reads the address of a provider plane: `ws://…` and `http://…` name the same.
 * @throws Plane3Error `link.address`; what carries a secret is not repeated.
 */
export function parseBase(input: string): URL {
  const url = URL.parse(input);
  const isPlain = url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!isPlain || !['/', '/v1/node/ws'].includes(url.pathname) || !/^(ws|http)s?:$/.test(url.protocol))
    throw new Plane3Error('link.address', { input: input.split(/[?#]|\/\/[^/]*@/)[0] ?? '' });
  const base = new URL('/', url);
  // A WebSocket scheme becomes its HTTP twin; the URL standard lets a special scheme change into another special one.
  base.protocol = url.protocol.replace('ws', 'http');
  return base;
}

/** @throws Plane3Error `link.name` naming what is no name of the wire. */
export function checkNames(names: Readonly<Record<string, string>>): void {
  for (const [what, input] of Object.entries(names)) {
    if (!isName(input) || (what === 'provider' && input === DEFAULT_PROVIDER))
      throw new Plane3Error('link.name', { what, input: input.slice(0, 200) });
  }
}

export function startHostedLink({ base, tokens, ...options }: HostedLinkOptions): ProviderLink {
  const table = new HttpTable({ base, timeoutMs: options.numbers.httpMs });
  const source =
    tokens.kind === 'read'
      ? readTokens(tokens.read)
      : madeTokens({ table, origin: base.origin, node: options.node, ...tokens });
  let last = '';
  const remembered: TokenSource = {
    async read(of) {
      const answer = await source.read(of);
      if (answer.kind === 'token') last = answer.token;
      return answer;
    },
  };
  return startLink({
    ...options,
    dialer: wsDialer({ base }),
    tokens: remembered,
    directory: httpDirectory({ table, nodeName: options.node.nodeName, token: () => last }),
  });
}
