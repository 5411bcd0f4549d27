/**
 * Which servers of a cluster a scan has to hear from before anything follows from what it has not seen. Nobody lists them, so
 * two sources are put together, and neither may make every scan incomplete for ever:
 *
 *   - The addresses that the broker tells a connection: one a server, and one that has left is no longer among them. They
 *     cannot be counted where a server listens on every interface, for then it has several; and a broker may tell none.
 *   - The servers that earlier scans have heard, for a while. One that came back has another id under the same name; one that
 *     has no name of its own is replaced by whoever is at its address.
 */

/** How long a server that was heard, and is no more, counts as there. */
const REMEMBERED_MS = 60_000;

/** What the broker told the connection over which a scan asks. */
export interface ToldOfCluster {
  /** Where the connection leads to. */
  readonly address: string;
  readonly serverId: string;
  /** Addresses of every server of the cluster; undefined where none are told. */
  readonly urls: readonly string[] | undefined;
}

/** A server as it names itself in an answer; without a name of its own it has its id for one. */
export interface HeardServer {
  readonly id: string;
  readonly name: string;
  /** Where it listens. */
  readonly host: string | undefined;
}

export class KnownServers {
  readonly #nowMs: () => number;
  readonly #heard = new Map<string, { name: string; atMs: number }>();
  /** Who was met last at an address. */
  readonly #at = new Map<string, string>();

  /** `nowMs`: a clock that nobody sets. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Who of them has been heard before, and is to be heard again. */
  expect({ address, serverId }: Pick<ToldOfCluster, 'address' | 'serverId'>): Omit<HeardServer, 'host'>[] {
    const before = this.#at.get(address);
    if (before !== undefined && before !== serverId && this.#heard.get(before)?.name === before) {
      this.#heard.delete(before);
    }
    this.#at.set(address, serverId);
    const since = this.#nowMs() - REMEMBERED_MS;
    for (const [id, { atMs }] of this.#heard) if (atMs < since) this.#heard.delete(id);
    return [...this.#heard].map(([id, { name }]) => ({ id, name }));
  }

  /** Keeps whom a scan has heard. */
  keep(servers: Iterable<HeardServer>): void {
    const atMs = this.#nowMs();
    for (const { id, name } of servers) {
      for (const [other, known] of this.#heard) if (other !== id && known.name === name) this.#heard.delete(other);
      this.#heard.set(id, { name, atMs });
    }
  }
}

/** Why nothing follows from who answered; undefined when everybody that is known of did. */
export function silenceOf(of: {
  readonly urls: readonly string[] | undefined;
  readonly expected: readonly Omit<HeardServer, 'host'>[];
  readonly heard: readonly HeardServer[];
}): string | undefined {
  const { expected, heard } = of;
  const urls = new Set(of.urls);
  const isCounted = urls.size > 0 && heard.every(({ host }) => host !== undefined && !isEveryInterface(host));
  if (isCounted) {
    return heard.length < urls.size ? `only ${heard.length} of ${urls.size} servers answered` : undefined;
  }
  const missing = expected.filter(({ id, name }) => !heard.some((each) => each.id === id || each.name === name));
  return missing.length === 0 ? undefined : `server ${missing.map(({ id }) => id).join(', ')} did not answer`;
}

const isEveryInterface = (host: string): boolean => ['', '0.0.0.0', '::', '[::]'].includes(host);
