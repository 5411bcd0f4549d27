import { type AnyMachineSnapshot, createActor, type Snapshot } from 'xstate';
import { placeOf } from './checks.ts';
import type { Exploration, Spot } from './explore.ts';
import { emptyStage, puppetLogic } from './puppet.ts';

/** PTH-10: a snapshot is plain JSON, and is the same after it was saved and restored, twice, with its children. */
export function unsaveable(exploration: Exploration): string[] {
  return exploration.spots
    .filter(({ snapshot }) => snapshot.status === 'active')
    .flatMap((spot) => again(exploration, spot));
}

function again({ bench }: Exploration, spot: Spot): string[] {
  const { machine } = bench;
  bench.stage = emptyStage();
  let saved = JSON.stringify(machine.getPersistedSnapshot(spot.snapshot));
  for (const turn of ['first', 'second']) {
    const parent = createActor(puppetLogic(emptyStage)).ref;
    const restored = createActor(machine, { snapshot: JSON.parse(saved) as Snapshot<unknown>, parent });
    const { status } = restored.getSnapshot() as AnyMachineSnapshot;
    if (status !== 'active') return [`${placeOf(spot)}: the ${turn} restore gives status ${status}`];
    const next = JSON.stringify(restored.getPersistedSnapshot());
    if (next !== saved) return [`${placeOf(spot)}: changed by the ${turn} restore\n    ${saved}\n    ${next}`];
    saved = next;
  }
  return [];
}

/** The context holds nothing that JSON would lose. */
export function notJson({ spots }: Exploration): string[] {
  const faults = new Set<string>();
  const look = (value: unknown, at: string): void => {
    if (value === null || value === undefined || ['string', 'boolean'].includes(typeof value)) return;
    if (typeof value === 'number' && Number.isFinite(value)) return;
    const plain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
    if (typeof value !== 'object' || !plain) faults.add(`the context is not JSON at ${at}: ${String(value)}`);
    else for (const [key, field] of Object.entries(value)) look(field, `${at}.${key}`);
  };
  for (const { snapshot } of spots) look(snapshot.context, 'context');
  return [...faults];
}

/**
 * PTH-01, PTH-02: a restored actor has no timer armed and takes no eventless transition. So a machine that may be restored
 * has neither; every other one is refused, which a test holds the sources to.
 */
export const unrestorable = ({ anatomy }: Exploration): string[] => [
  ...anatomy.timers.map(
    ({ delay, node }) => `restorable, but the timer ${delay} of ${node.id} would not be armed again`,
  ),
  ...anatomy.nodes
    .filter((node) => node.always !== undefined)
    .map((node) => `restorable, but ${node.id} has \`always\``),
];
