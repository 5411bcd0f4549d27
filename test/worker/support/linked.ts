/** Links of a test: started against a stage or a fake peer, with everything that came to them. */
import { type LinkNumbers, readLinkNumbers } from '../../../src/domain/provider/link-numbers.ts';
import type { LinkHealth } from '../../../src/provider/link/health.ts';
import { parseBase, startHostedLink, type TokenFrom } from '../../../src/provider/link/hosted-link.ts';
import type { ProviderLink } from '../../../src/provider/link/link.ts';
import type { Delivery } from '../../../src/provider/link/ports.ts';
import type { Journal } from '../../../src/services/ports.ts';
import { until } from '../../support/until.ts';

/** Pauses are short, deadlines are not: a machine that is busy with other things is no dead peer. */
export const linkNumbers: LinkNumbers = {
  ...readLinkNumbers({}),
  heartbeatMs: 200,
  inventoryMs: 300,
  inventoryAgainMs: 50,
  backOffMs: 20,
  backOffLimitMs: 200,
  jitterMs: 10,
};

export interface LinkedOptions {
  readonly url: string;
  readonly node: string;
  readonly token: string | (() => string | undefined) | TokenFrom;
  readonly agents: readonly string[];
  readonly provider?: string;
  readonly instance?: string;
  readonly numbers?: Partial<LinkNumbers>;
  /** Whether each delivery is confirmed when it comes. */
  readonly confirms?: boolean;
}

export class Linked {
  readonly link: ProviderLink;
  readonly deliveries: Delivery[] = [];
  /** Every event that was told, by name. */
  readonly told: { readonly event: string; readonly facts: Readonly<Record<string, unknown>> }[] = [];
  /** Every health that was ever true, in order. */
  readonly healths: LinkHealth[] = [];
  confirms: boolean;

  constructor(options: LinkedOptions) {
    const { url, node, token, agents, provider = 'broker', instance = 'link', numbers = {}, confirms = true } = options;
    this.confirms = confirms;
    const journal: Journal = {
      tell: (event, ...[facts]) => void this.told.push({ event, facts: { ...facts } }),
    };
    const read = typeof token === 'string' ? () => token : token;
    this.link = startHostedLink({
      base: parseBase(url),
      node: {
        nodeId: node,
        nodeName: node,
        provider: { name: provider, instance },
        version: 'test',
        maxAgents: Math.max(1, agents.length),
      },
      agents,
      numbers: { ...linkNumbers, ...numbers },
      tokens: typeof read === 'function' ? { kind: 'read', read } : read,
      deliveries: {
        take: (delivery) => {
          this.deliveries.push(delivery);
          if (this.confirms) delivery.confirm();
        },
      },
      journal,
      onHealth: (health) => void this.healths.push(health),
    });
  }

  get health(): LinkHealth {
    return this.link.health();
  }

  seqs(agent: string): readonly number[] {
    return this.deliveries.filter((each) => each.agent === agent).map((each) => each.seq);
  }

  async is(state: LinkHealth['state']): Promise<LinkHealth> {
    await until(
      () => this.health.state === state,
      () => this.health,
    );
    return this.health;
  }

  /** Ready, with a cursor for each of these agents on this very connection. */
  async certified(...agents: readonly string[]): Promise<void> {
    await until(
      () => {
        const { connected, cursors } = this.health;
        return connected && agents.every((agent) => cursors.some((cursor) => cursor.agent === agent));
      },
      () => this.health,
    );
  }

  async surfaced(agent: string, seqs: readonly number[]): Promise<void> {
    await until(
      () => seqs.every((seq) => this.seqs(agent).includes(seq)),
      () => ({ agent, wanted: seqs, got: this.seqs(agent), health: this.health }),
    );
  }

  async leave(): Promise<void> {
    this.link.stop();
    await this.link.ended;
  }
}
