/** The metrics of a process, gathered when somebody asks: from its tally, from its machines, from the store. */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { type MetricEntry, type MetricName, metricOf, metrics } from '../domain/metrics.ts';
import { leavesOf } from './ring.ts';
import type { Tap } from './tap.ts';

/** What a process shows of itself, beside its machines. */
export interface Exhibit {
  /** Counts so far, by `name` or `name{label}`. */
  counts(): Readonly<Record<string, number>>;
  /** Whether it does what it is there for. */
  ready(): boolean;
  /** Whether its root still runs. */
  alive(): boolean;
  stalledMs(): number;
  /** What is owed; undefined while the store cannot be asked. */
  owed(): Promise<{ readonly entries: number; readonly oldestAgeMs: number } | undefined>;
}

/** The store is asked at most this often, however often somebody else asks. */
const OWED_MS = 2_000;

export class Metrics {
  readonly #registry = new Registry();
  readonly #tap: Tap;
  readonly #transitions = new Map<string, number>();
  #exhibit: Exhibit | undefined;
  #owed: { readonly at: number; readonly answer: ReturnType<Exhibit['owed']> } | undefined;
  readonly #metrics: ReadonlyMap<string, Counter | Gauge>;

  constructor(tap: Tap) {
    this.#tap = tap;
    tap.listen({
      stepped: ({ actor: { machine = '' }, ignored }) => {
        if (!ignored) this.#transitions.set(machine, (this.#transitions.get(machine) ?? 0) + 1);
      },
    });
    collectDefaultMetrics({ register: this.#registry });
    this.#metrics = new Map(
      Object.entries<MetricEntry>(metrics).map(([name, { kind, help, labels = [] }]) => {
        const of = { name, help, labelNames: [...labels], registers: [this.#registry] };
        return [name, kind === 'counter' ? new Counter(of) : new Gauge(of)];
      }),
    );
  }

  show(exhibit: Exhibit): void {
    this.#exhibit = exhibit;
  }
  get exhibit(): Exhibit | undefined {
    return this.#exhibit;
  }

  readonly type = this.#registry.contentType;

  /** The text that Prometheus reads. */
  async text(): Promise<string> {
    const owed = await this.#askOwed();
    for (const metric of this.#metrics.values()) metric.reset();
    for (const [count, value] of Object.entries(this.#exhibit?.counts() ?? {})) {
      const { name, labels } = metricOf(count);
      this.#add(name, labels, value);
    }
    this.#add('plane3_ready', {}, this.#exhibit?.ready() === true ? 1 : 0);
    this.#add('plane3_stall_seconds_total', {}, (this.#exhibit?.stalledMs() ?? 0) / 1000);
    if (owed === undefined) {
      this.#metrics.get('plane3_owed_entries')?.remove();
      this.#metrics.get('plane3_owed_oldest_age_seconds')?.remove();
    } else {
      this.#add('plane3_owed_entries', {}, owed.entries);
      this.#add('plane3_owed_oldest_age_seconds', {}, owed.oldestAgeMs / 1000);
    }
    this.#addMachines();
    return this.#registry.metrics();
  }

  #addMachines(): void {
    let held = 0;
    let outageMs = 0;
    for (const { session, machine } of this.#tap.live()) {
      const snapshot = this.#tap.snapshotOf(session);
      if (machine === undefined || snapshot === undefined) continue;
      const states = leavesOf(snapshot.value);
      for (const state of states) this.#add('plane3_actors', { machine, state }, 1);
      if (machine === 'lease' && states.some((state) => state.startsWith('Held'))) held = 1;
      if (machine === 'brokerWatch' && states.some((state) => state.startsWith('Disconnected'))) {
        outageMs = performance.now() - Number((snapshot.context as { since?: number }).since ?? performance.now());
      }
    }
    this.#add('plane3_lease_held', {}, held);
    this.#add('plane3_outage_seconds', {}, outageMs / 1000);
    for (const [machine, count] of this.#transitions) this.#add('plane3_machine_transitions_total', { machine }, count);
  }

  #add(name: MetricName, labels: Record<string, string>, value: number): void {
    this.#metrics.get(name)?.inc(labels, value);
  }

  /** One question at a time, and not often. */
  async #askOwed(): ReturnType<Exhibit['owed']> {
    const exhibit = this.#exhibit;
    if (exhibit === undefined) return undefined;
    const now = performance.now();
    if (this.#owed === undefined || now - this.#owed.at > OWED_MS) {
      this.#owed = { at: now, answer: exhibit.owed().catch(() => undefined) };
    }
    return this.#owed.answer;
  }
}
