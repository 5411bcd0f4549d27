/** The text form of Ed25519 keys that the broker speaks: base32 of a prefix, the key's bytes and a checksum. */

export type KeyKind = 'operator' | 'account' | 'user';
const PREFIX: Readonly<Record<KeyKind, number>> = { operator: 14 << 3, account: 0, user: 20 << 3 };
const SEED_PREFIX = 18 << 3;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const KEY_BYTES = 32;

/** Public key of a kind as text: 56 characters, the first of which names the kind (O, A, U). */
export const publicKeyText = (kind: KeyKind, key: Uint8Array): string => encode([PREFIX[kind], ...key]);

/** Seed of a kind as text: 58 characters that begin with SO, SA or SU. */
export const seedText = (kind: KeyKind, seed: Uint8Array): string => {
  const prefix = PREFIX[kind];
  return encode([SEED_PREFIX | (prefix >> 5), (prefix & 31) << 3, ...seed]);
};

/** Reads a seed; undefined for a text that is not one, or whose checksum does not fit. */
export function readSeed(text: string): { kind: KeyKind; seed: Uint8Array } | undefined {
  const bytes = decode(text);
  if (bytes === undefined || bytes.length !== 2 + KEY_BYTES) return undefined;
  const [first = 0, second = 0] = bytes;
  if ((first & 0xf8) !== SEED_PREFIX) return undefined;
  const prefix = ((first & 7) << 5) | ((second & 0xf8) >> 3);
  const kind = (Object.keys(PREFIX) as KeyKind[]).find((each) => PREFIX[each] === prefix);
  return kind === undefined ? undefined : { kind, seed: bytes.subarray(2) };
}

/** True for a well-formed public key of this kind. */
export const isPublicKey = (kind: KeyKind, text: string): boolean => readPublicKey(kind, text) !== undefined;

/** The bytes of a public key of this kind; undefined for a text that is not one. */
export function readPublicKey(kind: KeyKind, text: string): Uint8Array | undefined {
  const bytes = decode(text);
  const fits = bytes !== undefined && bytes.length === 1 + KEY_BYTES && bytes[0] === PREFIX[kind];
  return fits ? bytes.subarray(1) : undefined;
}

function encode(body: readonly number[]): string {
  const crc = crc16(body);
  let text = '';
  let bits = 0;
  let held = 0;
  for (const byte of [...body, crc & 0xff, crc >> 8]) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      text += ALPHABET[(held >> (bits - 5)) & 31];
      bits -= 5;
    }
    held &= (1 << bits) - 1;
  }
  return bits > 0 ? text + ALPHABET[(held << (5 - bits)) & 31] : text;
}

/** The bytes before the checksum, or undefined when a character, the length or the checksum is wrong. */
function decode(text: string): Uint8Array | undefined {
  const bytes: number[] = [];
  let bits = 0;
  let held = 0;
  for (const character of text) {
    const value = ALPHABET.indexOf(character);
    if (value < 0) return undefined;
    held = (held << 5) | value;
    bits += 5;
    if (bits >= 8) {
      bytes.push((held >> (bits - 8)) & 0xff);
      bits -= 8;
    }
    held &= (1 << bits) - 1;
  }
  const body = bytes.slice(0, -2);
  return body.length > 0 && encode(body) === text ? Uint8Array.from(body) : undefined;
}

/** CRC-16/XMODEM. */
function crc16(bytes: readonly number[]): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let i = 0; i < 8; i++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc;
}
