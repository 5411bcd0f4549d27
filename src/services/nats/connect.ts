/** Connects with a credential: its own inbox, its own signature, TLS when the mesh demands it. */
import type { Authenticator, NatsConnection } from '@nats-io/nats-core';
import { connect, type NodeConnectionOptions } from '@nats-io/transport-node';
import { inboxPrefix } from '../../domain/permissions.ts';
import type { Credential } from '../credential.ts';

export interface Dial {
  readonly url: string;
  /** Name that the broker shows with the connection. */
  readonly name: string;
  /** Absent in open mode. */
  readonly credential?: Credential;
  /** Demands TLS: a plaintext broker is refused. A `tls://` URL alone does not. */
  readonly tls?: { readonly caFile?: string };
  readonly timeoutMs?: number;
}

/** Answers the broker's nonce with the credential that `current` gives at that moment. */
export const authenticatorOf =
  (current: () => Credential): Authenticator =>
  (nonce) => {
    const { jwt, publicKey, pair } = current();
    const signature = pair.sign(new TextEncoder().encode(nonce ?? ''));
    return { jwt, nkey: publicKey, sig: Buffer.from(signature).toString('base64url') };
  };

/** The client's options for a dial; callers add how to reconnect. */
export function connectOptions({ url, name, credential, tls, timeoutMs = 5_000 }: Dial): NodeConnectionOptions {
  return {
    servers: url,
    name,
    timeout: timeoutMs,
    // A stack kept for each request, in case it fails, takes a tenth of a daemon's time; what failed is told by our own words.
    noAsyncTraces: true,
    ...(credential === undefined
      ? {}
      : { authenticator: authenticatorOf(() => credential), inboxPrefix: inboxPrefix(credential.publicKey) }),
    ...(tls === undefined ? {} : { tls: { ...(tls.caFile === undefined ? {} : { caFile: tls.caFile }) } }),
  };
}

/** A connection for one piece of work: it does not come back by itself when it is lost. */
export const connectOnce = (dial: Dial): Promise<NatsConnection> =>
  connect({ ...connectOptions(dial), reconnect: false });
