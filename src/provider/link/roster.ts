/**
 * The agents that this link provides, by name and, once known, by id. Heartbeats and inventories are made from here and
 * from nowhere else (PRV-11); it outlives connections.
 */
export interface RosterMember {
  readonly agentId: string;
  readonly name: string;
}

export class Roster {
  readonly names: readonly string[];
  readonly #ids = new Map<string, string>();
  readonly #refused = new Map<string, string>();

  constructor(names: readonly string[]) {
    this.names = [...new Set(names)];
  }

  members(): readonly RosterMember[] {
    return [...this.#ids].map(([name, agentId]) => ({ agentId, name }));
  }

  unknown(): readonly string[] {
    return this.names.filter((name) => !this.#ids.has(name));
  }

  nameOf(agentId: string): string | undefined {
    return [...this.#ids].find(([, id]) => id === agentId)?.[0];
  }

  learn(name: string, agentId: string): void {
    this.#ids.set(name, agentId);
    this.#refused.delete(name);
  }

  /** The peer does not take this agent from us. True when that is news. */
  refuse(name: string, code: string): boolean {
    const isNews = this.#refused.get(name) !== code;
    this.#ids.delete(name);
    this.#refused.set(name, code);
    return isNews;
  }

  refusals(): readonly { readonly agent: string; readonly code: string }[] {
    return [...this.#refused].map(([agent, code]) => ({ agent, code }));
  }
}
