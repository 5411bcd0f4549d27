/** The standing credentials of a space in a store: how they are read, and signed again with the keys that they have. */
import type { Profile } from '../domain/profiles.ts';
import { type Credential, credsText, fingerprintOf, readCreds } from '../services/credential.ts';
import { mint } from '../services/local/mint.ts';
import type { WritableStore } from '../services/ports.ts';
import type { RenewalPorts } from './bind-renewal.ts';
import type { Workstation } from './workstation.ts';

const STANDING = ['delivery', 'observer', 'evictor'] as const;
type Standing = (typeof STANDING)[number];

/** For `renewCredentials`, over a store. One that is not in the store is not made: its absence is a posture. */
export function standingCredentials(of: {
  keys: Workstation['keys'];
  space: string;
  store: WritableStore;
}): Pick<RenewalPorts, 'standing' | 'sign'> {
  const { keys, space, store } = of;
  const profileOf: Readonly<Record<Standing, Profile>> = {
    delivery: { profile: 'delivery', space },
    observer: { profile: 'observer', account: keys.space.account.publicKey },
    evictor: { profile: 'evictor' },
  };
  const found = async (): Promise<{ name: Standing; credential: Credential }[]> => {
    const texts = await Promise.all(STANDING.map(async (name) => ({ name, text: await store.read(name) })));
    return texts.flatMap(({ name, text }) =>
      text === undefined ? [] : [{ name, credential: readCreds(text, `${name}.creds`) }],
    );
  };
  return {
    standing: async () =>
      (await found()).map(({ name, credential: { claims, jwt } }) => ({
        name,
        claims,
        fingerprint: fingerprintOf(jwt),
      })),
    /** Nothing is written before everything is signed. */
    sign: async (names) => {
      const before = (await found()).filter(({ name }) => names.includes(name));
      const signed = await Promise.all(
        before.map(async ({ name, credential: { claims, pair } }) => ({
          name,
          credential: await mint(keys, { profile: profileOf[name], name: claims.name, pair }),
        })),
      );
      for (const { name, credential } of signed) await store.write(name, credsText(credential));
      return signed;
    },
  };
}
