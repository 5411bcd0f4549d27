/** Readers of arguments and options; each refuses what is outside its grammar by name, before anything is done. */
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { parsePattern } from '../domain/names.ts';

/** A list with commas: `a,b`. Blanks around its parts do not count. */
export const list = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

export const patterns = (text: string): string[] => list(text).map(parsePattern);

/** A whole number in a range; `name` is the option's, for the error. */
export const whole =
  (name: string, least: number, most: number = 2 ** 31 - 1) =>
  (text: string): number => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new Plane3Error('number.positive', { name, input: text, least, most });
  };

const MOST_PORT = 65_535;

/** A port; 0 takes a free one. */
export const portOf = (name: string): ((text: string) => number) => whole(name, 0, MOST_PORT);

/** A reader that also says which words it takes, for completions. */
export interface WordReader<Word extends string> {
  (text: string): Word;
  readonly words: readonly Word[];
}

/** One of the words that an option takes. */
export const oneOf = <const Word extends string>(name: string, words: readonly Word[]): WordReader<Word> =>
  Object.assign(
    (text: string): Word => {
      const found = words.find((word) => word === text);
      if (found !== undefined) return found;
      throw new Plane3Error('flag.word', { name, input: text, words: words.join(', ') });
    },
    { words },
  );
