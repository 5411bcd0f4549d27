/** Writes what was measured to `bench/results/`, with the command and the machine that it was measured on. */
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { findNatsServer } from '../src/services/local/nats-binary.ts';

export interface Machine {
  readonly cpus: number;
  readonly cpu: string;
  readonly memoryGiB: number;
  readonly system: string;
  readonly node: string;
  readonly natsServer: string;
  /** Of the minute before it began: what else the machine had to do. */
  readonly loadBefore: number;
}

export async function machine(): Promise<Machine> {
  const { version } = await findNatsServer();
  return {
    cpus: cpus().length,
    cpu: cpus()[0]?.model ?? 'unknown',
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `linux ${release()}`.replace('linux', process.platform),
    node: process.versions.node,
    natsServer: version,
    loadBefore: Number((loadavg()[0] ?? Number.NaN).toFixed(2)),
  };
}

/** `kept`: parts that were not measured this time stay as they are, with their own machine facts. */
export function record(name: string, of: { command: string; on: Machine; figures: object; kept?: boolean }): string {
  const file = new URL(`results/${name}.json`, import.meta.url);
  const at = new Date().toISOString().slice(0, 10);
  const figures = of.kept === true ? { ...figuresIn(file), ...of.figures } : of.figures;
  writeFileSync(file, `${JSON.stringify({ command: of.command, at, machine: of.on, figures }, undefined, 2)}\n`);
  return `bench/results/${name}.json`;
}

function figuresIn(file: URL): object {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { figures: object }).figures;
  } catch {
    return {};
  }
}
