/** The journal of the worker: one JSON line an event on the platform's log. */
import { type LogName, logCatalogue } from '../domain/log-events/catalogue.ts';
import type { LogEntry } from '../domain/log-events/define.ts';
import type { Journal } from '../services/ports.ts';

export const workerJournal: Journal = {
  tell(event: LogName, facts: object = {}) {
    const entry: LogEntry = logCatalogue[event];
    if (entry.level === 'debug') return;
    // biome-ignore lint/suspicious/noConsole: it is the platform's log
    console[entry.level](JSON.stringify({ event, ...facts }));
  },
};
