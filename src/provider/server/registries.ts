/** The registries of an in-process server: one for each node that has a socket, or something left to settle. */
import type { Journal } from '../../services/ports.ts';
import { type Engine, randomId } from '../engine/engine.ts';
import type { Dispatcher } from '../engine/messages.ts';
import { type Policy, policy as usual } from '../registry/policy.ts';
import { type Look, type NodeSocket, noSteps, type ObjectStore, type Steps } from '../registry/ports.ts';
import { NodeRecords } from '../registry/records.ts';
import { NodeRegistry } from '../registry/registry.ts';

const LONGEST_TIMER_MS = 2_147_483_647;

export interface RegistriesOptions {
  readonly engine: Engine;
  readonly store: ObjectStore;
  readonly journal: Journal;
  readonly policy?: Policy | undefined;
  readonly steps?: Steps | undefined;
  readonly look?: Look | undefined;
}

export class Registries implements Dispatcher {
  readonly #options: RegistriesOptions;
  readonly #nodes = new Map<string, Hosted>();

  constructor(options: RegistriesOptions) {
    this.#options = options;
    for (const { workspace, node } of NodeRecords.unsettled(options.store)) this.of(workspace, node);
  }

  of(workspace: string, node: string): Hosted {
    const key = JSON.stringify([workspace, node]);
    const known = this.#nodes.get(key);
    if (known !== undefined) return known;
    const made = host(this.#options, workspace, node);
    this.#nodes.set(key, made);
    return made;
  }

  send: Dispatcher['send'] = ({ workspace, node, provider, frames }) =>
    this.of(workspace, node).registry.send(provider, frames);

  async stop(): Promise<void> {
    await Promise.all([...this.#nodes.values()].map(({ registry }) => registry.stop()));
    await Promise.all([...this.#nodes.values()].map(({ registry }) => registry.idle()));
    for (const { clear } of this.#nodes.values()) clear();
  }
}

export interface Hosted {
  readonly registry: NodeRegistry;
  readonly sockets: Set<NodeSocket>;
  /** When the alarm of the node is due, milliseconds; null when it is not set. */
  readonly alarmAt: () => number | null;
  readonly clear: () => void;
}

function host(
  { engine, store, journal, policy, steps, look }: RegistriesOptions,
  workspace: string,
  node: string,
): Hosted {
  const sockets = new Set<NodeSocket>();
  let timer: NodeJS.Timeout | undefined;
  let alarmAt: number | null = null;
  const setAlarm = (at: number | null): void => {
    clearTimeout(timer);
    alarmAt = at;
    if (at === null) return;
    timer = setTimeout(
      () => {
        alarmAt = null;
        void registry.alarm();
      },
      Math.min(Math.max(0, at - engine.now()), LONGEST_TIMER_MS),
    );
  };
  const registry = new NodeRegistry({
    host: {
      workspace,
      node,
      now: engine.now,
      newId: randomId,
      sockets: () => [...sockets],
      setAlarm,
      background: () => undefined,
    },
    engine,
    records: new NodeRecords(store, workspace, node),
    limits: engine.limits,
    journal,
    steps: steps ?? noSteps,
    policy: policy ?? usual,
    look,
  });
  return { registry, sockets, alarmAt: () => alarmAt, clear: () => clearTimeout(timer) };
}
