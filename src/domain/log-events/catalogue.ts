import { fill } from '../errors/define.ts';
import { clientEvents } from './client.ts';
import type { FactsOf, LogEntry } from './define.ts';
import { deliveryEvents } from './delivery.ts';
import { inspectorEvents } from './inspector.ts';
import { launcherEvents } from './launcher.ts';
import { linkEvents } from './link.ts';
import { managerEvents } from './manager.ts';
import { providerEvents } from './provider.ts';

/** Every event that plane3 logs, by name. */
export const logCatalogue = {
  ...deliveryEvents,
  ...launcherEvents,
  ...clientEvents,
  ...managerEvents,
  ...providerEvents,
  ...inspectorEvents,
  ...linkEvents,
} as const satisfies Record<string, LogEntry>;

export type LogName = keyof typeof logCatalogue;
export type LogFacts<N extends LogName> = FactsOf<(typeof logCatalogue)[N]>;

/** The operator line of an event, or undefined when it has none. */
export function operatorLine<N extends LogName>(name: N, facts: LogFacts<N>): string | undefined {
  const entry: LogEntry = logCatalogue[name];
  return entry.line === undefined ? undefined : fill(entry.line, facts);
}
