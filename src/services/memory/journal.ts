/** A journal that keeps what it is told. */
import type { LogName } from '../../domain/log-events/catalogue.ts';
import { operatorLine } from '../../domain/log-events/catalogue.ts';
import type { Journal } from '../ports.ts';

export class MemoryJournal implements Journal {
  readonly events: { readonly name: LogName; readonly facts: Readonly<Record<string, unknown>> }[] = [];
  /** What the operator reads, in order. */
  readonly lines: string[] = [];

  tell(name: LogName, facts: object = {}): void {
    this.events.push({ name, facts: { ...facts } });
    const line = operatorLine(name, facts as never);
    if (line !== undefined) this.lines.push(line);
  }

  told(name: LogName): Readonly<Record<string, unknown>>[] {
    return this.events.flatMap((event) => (event.name === name ? [event.facts] : []));
  }
}
