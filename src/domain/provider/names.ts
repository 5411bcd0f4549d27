/** Ids and names on the provider plane's wire: 1 to 128 bytes of UTF-8, no control characters. */
import { z } from 'zod';

export const NAME_BYTES = 128;
const encoder = new TextEncoder();

/** Bytes of a text in UTF-8, without encoding it when its length alone decides. */
export const exceedsBytes = (text: string, most: number): boolean =>
  text.length > most || (text.length * 3 > most && encoder.encode(text).byteLength > most);

export const byteLength = (text: string): number => encoder.encode(text).byteLength;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const control = /[\u0000-\u001f\u007f]/;

export const isName = (text: string): boolean =>
  text.length > 0 && !exceedsBytes(text, NAME_BYTES) && !control.test(text) && text.isWellFormed();

export const name = z.string().refine(isName, `must be 1 to ${NAME_BYTES} bytes without control characters`);

/** The provider name that a register without a `provider` key binds, explicitly. Nothing ever falls back to it. */
export const DEFAULT_PROVIDER = 'default';

export interface ProviderId {
  readonly name: string;
  readonly instance: string;
}
