/** Secrets as they look in the wild, made for tests: none of them opens anything. */
import { randomBytes } from 'node:crypto';
import { createUser } from '@nats-io/nkeys';

const seed = () => new TextDecoder().decode(createUser().getSeed());
const part = (value: object | string) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const jwt = () =>
  [part({ typ: 'JWT', alg: 'ed25519-nkey' }), part({ sub: 'U', nats: {} }), randomBytes(64).toString('base64url')].join(
    '.',
  );

export interface PlantedSecret {
  readonly name: string;
  readonly secret: string;
}

export const plantedSecrets: readonly PlantedSecret[] = [
  { name: 'an nkey seed', secret: seed() },
  { name: 'a JWT', secret: jwt() },
  { name: 'a node token', secret: `nt_live_${randomBytes(24).toString('hex')}` },
  { name: 'an agent token', secret: `at_live_${randomBytes(16).toString('hex')}` },
  { name: 'a workspace key', secret: `rk_live_${randomBytes(16).toString('hex')}` },
  { name: 'a creds file', secret: `-----BEGIN NATS USER JWT-----\n${jwt()}\n------END NATS USER JWT------` },
  { name: 'a bearer header', secret: `Bearer ${randomBytes(12).toString('base64url')}` },
  { name: 'a password in a URL', secret: `nats://admin:${randomBytes(8).toString('hex')}@host` },
  { name: 'a token in a URL', secret: `ws://host/v1/node/ws?token=${randomBytes(12).toString('hex')}` },
  { name: 'the body of a post', secret: `PLANTED body, nobody's business: ${randomBytes(8).toString('hex')}!` },
];
