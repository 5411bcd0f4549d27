/** Whether a run was flat: its last sixth against its second one (the first warms up), each figure as a ratio. */
import { median, rounded } from '../figures.ts';

export interface Sample {
  /** Seconds since the load began. */
  readonly at: number;
  readonly copiesPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** What one sync of the broker's disk took meanwhile. */
  readonly syncMs: number;
  readonly daemonRssMiB: number;
  readonly brokerRssMiB: number;
  readonly daemonDescriptors: number;
  readonly brokerDescriptors: number;
  /** Pending entries in the store. */
  readonly owed: number;
  /** Copies that their members have not confirmed. */
  readonly handedOff: number;
  /** Posts that the writer has not settled. */
  readonly unrouted: number;
}

/** The disk is not ours to keep flat. */
type Figure = Exclude<keyof Sample, 'at' | 'syncMs'>;

/** What counts as flat: the ratio lies within these. `floor` is added to both sides of what may well be nothing. */
const BOUNDS: Readonly<Record<Figure, { least: number; most: number; floor?: number }>> = {
  copiesPerSecond: { least: 0.95, most: 1.05 },
  p50Ms: { least: 0, most: 1.5 },
  p99Ms: { least: 0, most: 1.5 },
  daemonRssMiB: { least: 0, most: 1.15 },
  brokerRssMiB: { least: 0, most: 1.15 },
  daemonDescriptors: { least: 0, most: 1.05 },
  brokerDescriptors: { least: 0, most: 1.05 },
  owed: { least: 0, most: 1.5, floor: 100 },
  handedOff: { least: 0, most: 1.5, floor: 100 },
  unrouted: { least: 0, most: 1.5, floor: 10 },
};

export function verdictOver(samples: readonly Sample[]) {
  const sixth = Math.floor(samples.length / 6);
  const change = (figure: keyof Sample, floor = 0): number => {
    const of = (part: readonly Sample[]) => median(part.map((sample) => sample[figure])) + floor;
    return of(samples.slice(-sixth)) / of(samples.slice(sixth, 2 * sixth));
  };
  const ratios: Record<string, number> = {};
  const notFlat: string[] = [];
  for (const [figure, { least, most, floor = 0 }] of Object.entries(BOUNDS) as [Figure, (typeof BOUNDS)[Figure]][]) {
    const ratio = change(figure, floor);
    ratios[figure] = rounded(ratio, 3);
    // A figure that is not known is not flat.
    if (!(ratio >= least && ratio <= most)) notFlat.push(figure);
  }
  return { flat: notFlat.length === 0, notFlat, ratios, diskRatio: rounded(change('syncMs'), 3) };
}
