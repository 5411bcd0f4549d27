/** Histories as files: `<folder>/<party>.jsonl`. Written synchronously, so that a killed party has said what it did. */
import { closeSync, globSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type HistoryRecord, recordSchema } from './history.ts';

export class HistoryFile {
  readonly #file: number;

  constructor(folder: string, party: string) {
    mkdirSync(folder, { recursive: true });
    this.#file = openSync(join(folder, `${party}.jsonl`), 'a', 0o600);
  }

  write(record: HistoryRecord): void {
    writeSync(this.#file, `${JSON.stringify(record)}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** Every record of every party. A last line that a killed process left half written is passed over. */
export function readHistories(folder: string): HistoryRecord[] {
  return globSync(join(folder, '*.jsonl')).sort().flatMap(readHistory);
}

function readHistory(path: string): HistoryRecord[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.flatMap((line, i) => {
    if (line === '') return [];
    try {
      return [recordSchema.parse(JSON.parse(line))];
    } catch (error) {
      if (i >= lines.length - 1) return [];
      throw new Error(`${path}:${i + 1} is no record of a history`, { cause: error });
    }
  });
}
