/**
 * Whether and how a process is watched: what its roots are told of as `inspect`, and the doors that are opened for it. Without
 * a word of its command line nothing is: no tap, no ring, no port. There is one tap a process, whatever it has in it.
 */
import { type Actor, createActor, type InspectionEvent } from 'xstate';
import type { doorMachine } from '../machines/door.machine.ts';
import { bindDoor } from '../services/bind-door.ts';
import type { Journal } from '../services/ports.ts';
import { type AddressName, removeAddress, writeAddress } from './address.ts';
import { healthSite } from './health.ts';
import { Inspector } from './inspector.ts';
import { type Exhibit, Metrics } from './metrics.ts';
import { record } from './recorder.ts';
import { Ring } from './ring.ts';
import { openSite, type Site } from './site.ts';
import { logSteps } from './step-log.ts';
import { type HandStep, Tap } from './tap.ts';

export interface WatchOptions extends AddressName {
  readonly journal: Journal;
  /** Port of the inspector; 0 takes a free one; undefined: nobody looks. */
  readonly inspect: number | undefined;
  /** Port of metrics and health; 0 takes a free one; undefined: nobody asks. */
  readonly http?: number | undefined;
  /** New file that every step is written to. */
  readonly record?: string | undefined;
  /** Whether every step goes to the journal: it costs, so only where somebody reads it. */
  readonly steps?: boolean;
}

export interface Watch {
  /** For `createActor` of every root of this process. */
  readonly inspect: (event: InspectionEvent) => void;
  /** For whoever steps a machine without an actor. */
  readonly hand: (step: HandStep) => void;
  /** What the metrics are gathered from, once it is there; until then the process is alive and not ready. */
  show(exhibit: Exhibit): void;
  /** Closes what is open; resolves when a recording is written whole. */
  close(): Promise<void>;
}

const BACK_OFF_MS = 1_000;
const BACK_OFF_LIMIT_MS = 30_000;

/**
 * Undefined where nobody asked for anything.
 * @throws Plane3Error `record.file` for a file that cannot be written; nothing was opened.
 */
export function watchProcess(options: WatchOptions): Watch | undefined {
  const { what, journal, inspect, http, record: file, steps = false } = options;
  if (inspect === undefined && http === undefined && file === undefined && !steps) return undefined;
  const tap = new Tap({ failed: once((error) => journal.tell('inspector.fault', { message: String(error) })) });
  const closing: (() => unknown)[] = [];
  if (file !== undefined) {
    const recording = record({ file, process: what, space: options.space, journal, tap });
    closing.push(() => recording.stop());
  }
  if (steps) logSteps(tap, journal);
  if (inspect !== undefined) {
    const inspector = new Inspector({ process: what, space: options.space, ring: new Ring(tap) });
    const door = openDoor({
      process: what,
      journal,
      inspect: tap.inspect,
      what: 'inspector',
      port: inspect,
      site: inspector,
      opened: (port) => writeAddress(options, { port, token: inspector.token }),
    });
    closing.push(() => {
      door.send({ type: 'stop.requested' });
      inspector.close();
      removeAddress(options);
    });
  }
  const metrics = http === undefined ? undefined : new Metrics(tap);
  if (http !== undefined && metrics !== undefined) {
    const site = healthSite({ metrics, tap });
    const door = openDoor({ process: what, journal, inspect: tap.inspect, what: 'metrics', port: http, site });
    closing.push(() => door.send({ type: 'stop.requested' }));
  }
  return {
    inspect: tap.inspect,
    hand: tap.hand,
    show: (exhibit) => metrics?.show(exhibit),
    close: async () => {
      await Promise.all(closing.splice(0).map((close) => close()));
    },
  };
}

export interface DoorOptions {
  readonly process: string;
  readonly journal: Journal;
  readonly what: string;
  readonly port: number;
  readonly site: Site;
  readonly opened?: (port: number) => void;
  readonly inspect?: (event: InspectionEvent) => void;
}

/** A root of its own: nothing of the process waits for it, and nothing ends over it. */
export function openDoor({
  process: name,
  journal,
  what,
  port,
  site,
  opened,
  inspect,
}: DoorOptions): Actor<typeof doorMachine> {
  const told = new Set<string>();
  const door = createActor(
    bindDoor({
      journal,
      process: name,
      what,
      open: (asked, tell) =>
        openSite({
          port: asked,
          site,
          tell,
          refused: (why) => {
            if (told.has(why)) return;
            told.add(why);
            journal.tell('viewer.refused', { process: name, what, why });
          },
        }),
      opened: (at) => {
        try {
          opened?.(at);
        } catch (error) {
          journal.tell('inspector.fault', { message: String(error) });
        }
      },
    }),
    {
      input: { port, backOffMs: BACK_OFF_MS, backOffLimitMs: BACK_OFF_LIMIT_MS },
      ...(inspect === undefined ? {} : { inspect }),
    },
  );
  door.subscribe({ error: (error) => journal.tell('inspector.fault', { message: String(error) }) });
  door.start();
  return door;
}

function once(tell: (error: unknown) => void): (error: unknown) => void {
  let told = false;
  return (error) => {
    if (told) return;
    told = true;
    tell(error);
  };
}
