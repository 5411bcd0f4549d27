import { readFileSync } from 'node:fs';
import { instance } from '@viz-js/viz';
import { afterAll, describe, expect, it } from 'vitest';
import { drawingOf } from '../../../scripts/diagrams/drawing.ts';
import { catalogue, chartFile } from '../../../src/machines/catalogue.ts';
import { broken, deadEnds, deaths, hidden, misnamed, unfinished, unhappy, unreached, unsampled } from './checks.ts';
import { type Exploration, explore } from './explore.ts';
import { goldenTable } from './golden.ts';
import { differences, routesOver } from './live.ts';
import { notJson, unrestorable, unsaveable } from './restore.ts';
import type { AnySamples } from './samples.ts';

/** The faults as one text, the first of them in full: an empty one is what a test expects. */
const told = (faults: readonly string[]): string =>
  faults.length > 12 ? `${faults.slice(0, 12).join('\n')}\n… and ${faults.length - 12} more` : faults.join('\n');

/** Registers every path test of a machine of the catalogue: the six kinds, and the snapshot's way through JSON. */
export function provesPaths(name: string, samples: AnySamples): void {
  describe(`the machine ${name}`, () => {
    const entry = catalogue.find((each) => each.name === name);
    if (entry === undefined) throw new Error(`"${name}" is not in src/machines/catalogue.ts`);
    let known: Exploration | undefined;
    const explored = (): Exploration => {
      known ??= explore(entry.machine, samples);
      return known;
    };
    // The next machine is walked over in the same process.
    afterAll(() => {
      known = undefined;
    });

    it('is walked to the end: the limit is not hit, and the clamp hides nothing that a guard reads', () => {
      expect(told([...unfinished(explored()), ...hidden(explored())])).toBe('');
    });
    it('has a sample for every event, invoke and timer, and none for what it does not have', () => {
      expect(told([...unsampled(explored()), ...misnamed(explored())])).toBe('');
    });
    it('reaches every declared state and takes every declared transition, eventless ones too', () => {
      expect(told(unreached(explored()))).toBe('');
    });
    it('ends only where it says so: no event and no failure of a child kills it', () => {
      expect(told(deaths(explored()))).toBe('');
    });
    it('has no dead end, and no state that waits unbounded', () => {
      expect(told(deadEnds(explored()))).toBe('');
    });
    it('walks its happy path', () => {
      expect(told(unhappy(explored()))).toBe('');
    });
    for (const promise of samples.promises) {
      it(`${promise.clause}: ${promise.says}`, () => {
        expect(told(broken(explored(), promise))).toBe('');
      });
    }
    it('does as a live actor what was calculated, along every shortest path', () => {
      const all = explored();
      expect(told(routesOver(all).flatMap((route) => differences(all, route)))).toBe('');
    });
    it('has a snapshot that is JSON, and the same after it was saved and restored twice', () => {
      expect(told([...notJson(explored()), ...unsaveable(explored())])).toBe('');
    });
    if (entry.restorable) {
      it('loses no timer and no eventless transition when it is restored', () => {
        expect(told(unrestorable(explored()))).toBe('');
      });
    }
    it(`is as the golden table diagrams/${name}.md says (npm run diagrams writes it anew)`, () => {
      const golden = readFileSync(new URL(`../../../diagrams/${name}.md`, import.meta.url), 'utf8');
      expect(goldenTable(name, explored())).toBe(golden);
    });
    it(`is as diagrams/${name}.svg and .mmd show it, and there no text lies on another (npm run diagrams)`, async () => {
      const there = (file: string) => readFileSync(new URL(`../../../diagrams/${file}`, import.meta.url), 'utf8');
      const drawn = there(chartFile(name));
      const { svg, mmd, overlaps } = drawingOf(await instance(), name, explored(), { drawn, search: false });
      expect(told(overlaps)).toBe('');
      expect(svg).toBe(drawn);
      expect(mmd).toBe(there(`${name}.mmd`));
    });
  });
}
