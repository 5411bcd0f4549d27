import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const contract = readFileSync(new URL('../../docs/contract.md', import.meta.url), 'utf8');
const rows = [...contract.matchAll(/^\|\s*(\d+\.\d+)\s*\|\s*(.+?)\s*\|\s*(\S+)\s*\|\s*`([^`]+)` › ?(.*?)\s*\|$/gm)].map(
  ([, number = '', promise = '', , file = '', title = '']) => ({ number, promise, file, title }),
);

describe('docs/contract.md', () => {
  it('has no row that this test cannot read', () => {
    const written = contract.split('\n').filter((line) => /^\|\s*\d/.test(line));
    expect(rows.length).toBe(written.length);
    expect(rows.length).toBeGreaterThan(30);
  });

  it('has each number once', () => {
    const numbers = rows.map(({ number }) => number);
    expect(numbers.filter((number, at) => numbers.indexOf(number) !== at)).toEqual([]);
  });

  it.each(rows)('$number is proved by a test that is there: $promise', ({ file, title }) => {
    const path = new URL(`../../${file}`, import.meta.url);
    expect(existsSync(path), file).toBe(true);
    // A title may be made of parts; each literal part of it must stand in the file.
    const source = readFileSync(path, 'utf8').replaceAll("\\'", "'");
    for (const part of title.split(/%\w|\$\{\w+\}/)) expect(source, title).toContain(part);
  });
});
