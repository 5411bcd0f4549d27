import { z } from 'zod';
import { readJson } from './message.ts';

/** What a user JWT says of itself. It is read without checking its signature: the broker does that. */

export const userClaimsSchema = z.object({
  /** Public nkey of the user: the connection id. */
  sub: z.string(),
  /** Key that signed it. */
  iss: z.string(),
  name: z.string(),
  /** Seconds since the epoch. */
  iat: z.number(),
  /** Seconds since the epoch; absent when it never expires. */
  exp: z.number().optional(),
  nats: z.object({
    type: z.literal('user'),
    /** Account it belongs to, when a signing key of the account issued it. */
    issuer_account: z.string().optional(),
    pub: z.object({ allow: z.array(z.string()).optional() }).optional(),
    sub: z.object({ allow: z.array(z.string()).optional() }).optional(),
  }),
});
export type UserClaims = z.infer<typeof userClaimsSchema>;

/** The claims of a user JWT, or undefined for anything else. */
export function readUserClaims(jwt: string): UserClaims | undefined {
  const [, body, signature, ...rest] = jwt.split('.');
  if (body === undefined || signature === undefined || rest.length > 0) return undefined;
  const parsed = userClaimsSchema.safeParse(readJson(fromBase64Url(body)));
  return parsed.success ? parsed.data : undefined;
}

/** Account that a user belongs to. */
export const accountOf = (claims: UserClaims): string => claims.nats.issuer_account ?? claims.iss;

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** Bytes of a base64url text; empty when a character is outside the alphabet. */
function fromBase64Url(text: string): Uint8Array {
  const bytes: number[] = [];
  let bits = 0;
  let held = 0;
  for (const character of text) {
    const value = ALPHABET.indexOf(character);
    if (value < 0) return new Uint8Array();
    held = (held << 6) | value;
    bits += 6;
    if (bits >= 8) {
      bytes.push((held >> (bits - 8)) & 0xff);
      bits -= 8;
    }
    held &= (1 << bits) - 1;
  }
  return Uint8Array.from(bytes);
}
