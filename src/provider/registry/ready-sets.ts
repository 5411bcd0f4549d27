/**
 * The ready sets of a node's connections (rules 5 and 6): which identity stands where. In memory for speed, and in the
 * node's own table, from which they are read again after hibernation. Only a set with somebody in it is kept in memory: a
 * connection that is gone may be asked about by what was under way, and by whoever comes back to it.
 */
import { certified, type Delivery, marked, notReady } from '../../domain/provider/delivery.ts';
import type { Certificate } from '../engine/certify.ts';
import type { NodeRecords } from './records.ts';

export class ReadySets {
  readonly #records: NodeRecords;
  readonly #sets = new Map<string, Map<string, Delivery>>();
  /** Identities whose delivery is not done: replaying, or live and behind. */
  readonly #wanting = new Map<string, Set<string>>();

  constructor(records: NodeRecords) {
    this.#records = records;
  }

  /** Connections of which something is in memory. */
  get size(): number {
    return this.#sets.size;
  }

  of(connection: string, agent: string): Delivery {
    return this.#set(connection).get(agent) ?? notReady;
  }

  agents(connection: string): readonly string[] {
    return [...this.#set(connection).keys()];
  }

  /** The cursor-bearing reply was written: these identities are declared ready. */
  certify(connection: string, certificates: readonly Certificate[]): void {
    this.keep(
      connection,
      certificates.map((each) => [each.agent, certified(this.of(connection, each.agent), each)]),
    );
  }

  mark(connection: string, agents: readonly string[]): void {
    const set = this.#set(connection);
    for (const agent of agents) {
      const delivery = set.get(agent);
      if (delivery !== undefined) this.#put(connection, set, agent, marked(delivery));
    }
  }

  /** Moves identities on, in memory and in the node's table. */
  keep(connection: string, entries: readonly (readonly [agent: string, delivery: Delivery])[]): void {
    const set = this.#set(connection);
    for (const [agent, delivery] of entries) this.#put(connection, set, agent, delivery);
    this.#records.keepDeliveries(connection, entries);
  }

  /** Moves one identity on in memory only: the hot path of a live one. */
  wrote(connection: string, agent: string, delivery: Delivery): void {
    this.#put(connection, this.#set(connection), agent, delivery);
  }

  wanting(connection: string): readonly (readonly [agent: string, delivery: Delivery])[] {
    const set = this.#set(connection);
    return [...(this.#wanting.get(connection) ?? [])].flatMap((agent) => {
      const delivery = set.get(agent);
      return delivery === undefined ? [] : [[agent, delivery] as const];
    });
  }

  forget(connection: string, agent: string): void {
    const set = this.#set(connection);
    set.delete(agent);
    if (set.size === 0) this.#sets.delete(connection);
    this.#wants(connection, agent, false);
    this.#records.forgetDelivery(connection, agent);
  }

  /** Nobody is ready there; of a connection that is gone nothing is kept. */
  clear(connection: string): void {
    this.#sets.delete(connection);
    this.#wanting.delete(connection);
    this.#records.forgetDeliveries(connection);
  }

  #set(connection: string): Map<string, Delivery> {
    const known = this.#sets.get(connection);
    if (known !== undefined) return known;
    const read = this.#records.deliveries(connection);
    for (const [agent, delivery] of read) this.#put(connection, read, agent, delivery);
    return read;
  }

  #put(connection: string, set: Map<string, Delivery>, agent: string, delivery: Delivery): void {
    set.set(agent, delivery);
    this.#sets.set(connection, set);
    this.#wants(connection, agent, delivery.phase === 'Replaying' || (delivery.phase === 'Live' && delivery.dirty));
  }

  #wants(connection: string, agent: string, isWanting: boolean): void {
    const wanting = this.#wanting.get(connection) ?? new Set();
    // The one that moved goes to the end: all of them have their turn.
    wanting.delete(agent);
    if (isWanting) wanting.add(agent);
    if (wanting.size > 0) this.#wanting.set(connection, wanting);
    else this.#wanting.delete(connection);
  }
}
