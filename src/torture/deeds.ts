/**
 * What the people of a run do: agents are told to post, join and leave; grants and retirements are written here, as a manager
 * would, one after the other for each agent.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { memberKey } from '../domain/names.ts';
import { inboxPrefix } from '../domain/permissions.ts';
import { buckets, deliveryConsumer, streams } from '../domain/subjects.ts';
import { GatedBroker } from '../services/nats/gated-broker.ts';
import { askRail } from '../services/nats/rail-client.ts';
import { writeRow } from '../services/nats/rows.ts';
import type { TortureAgent } from './agents.ts';
import { type Ground, MANAGER, SPACE } from './ground.ts';
import type { HistoryFile } from './history-file.ts';
import type { Step } from './schedule.ts';

export type DeedStep = Extract<Step, { do: 'post' | 'join' | 'leave' | 'grant' | 'retire' | 'careless' }>;

const AGAIN_MS = 500;
/** A row that the broker does not take meanwhile is left alone; a withdrawal is asked for so often. */
const WRITING_MS = 30_000;
const REVIEWS = 6;
const ANSWER_MS = 5_000;

export class Deeds {
  readonly #ground: Ground;
  readonly #file: HistoryFile;
  readonly #agents: ReadonlyMap<string, TortureAgent>;
  readonly #turns = new Map<string, Promise<void>>();
  #revision = 1;

  constructor(of: { ground: Ground; file: HistoryFile; agents: ReadonlyMap<string, TortureAgent> }) {
    this.#ground = of.ground;
    this.#file = of.file;
    this.#agents = of.agents;
  }

  do(step: DeedStep): void {
    const agent = this.#agents.get(step.agent);
    if (agent === undefined) throw new Error(`there is no agent "${step.agent}"`);
    switch (step.do) {
      case 'post':
        return agent.tell({ do: 'post', channel: step.channel, id: step.id, mentions: step.mentions });
      case 'join':
      case 'leave':
        return agent.tell({ do: step.do, channel: step.channel });
      case 'careless':
        return agent.tell({ do: 'careless', forMs: step.forMs });
      case 'grant':
        return this.#inTurn(agent, () => this.#grant(agent, step.read));
      case 'retire':
        return this.#inTurn(agent, () => this.#retire(agent));
    }
  }

  /** Resolves when every grant and retirement is written, or was given up. */
  async done(): Promise<void> {
    await Promise.all(this.#turns.values());
  }

  #inTurn(agent: TortureAgent, work: () => Promise<void>): void {
    const before = this.#turns.get(agent.name) ?? Promise.resolve();
    this.#turns.set(
      agent.name,
      before.then(() => (agent.isRetired ? undefined : work())),
    );
  }

  async #grant(agent: TortureAgent, read: string[]): Promise<void> {
    const turn = ++agent.turn;
    const who = () => ({ at: Date.now(), agent: agent.name, uid: agent.member.uid });
    this.#file.write({ kind: 'granting', ...who(), read, turn });
    const row = { name: agent.name, allowSubscribe: read, issuedAllowSubscribe: ['>'], revision: ++this.#revision };
    if (!(await this.#write(agent, { ...row, updatedAt: Date.now() }))) return;
    this.#file.write({ kind: 'granted', ...who(), read, turn });
    for (let tries = 0; tries < REVIEWS; tries++) {
      const withdrawn = await this.#reauthorize(agent);
      if (withdrawn !== undefined) return this.#file.write({ kind: 'reauthorized', ...who(), turn, withdrawn });
      await pause(AGAIN_MS);
    }
  }

  async #reauthorize(agent: TortureAgent): Promise<number | undefined> {
    const connection = await this.#ground.connect('manager');
    const broker = new GatedBroker({
      connection,
      inboxPrefix: inboxPrefix(this.#ground.managerKey),
      timeoutMs: ANSWER_MS,
      gate: () => (connection.isClosed() ? 'the connection is closed' : undefined),
    });
    const { member } = agent;
    const args = { principal: `${member.owner}.${member.actor}`, lifecycleUid: member.uid };
    const answer = await askRail({ broker, space: SPACE, principal: MANAGER, op: 'reauthorize', args });
    return answer.kind === 'answered' ? answer.data.withdrawn : undefined;
  }

  /** The process first, so that nothing is in its hands; then the tombstone, then its durable. */
  async #retire(agent: TortureAgent): Promise<void> {
    const who = () => ({ at: Date.now(), agent: agent.name, uid: agent.member.uid });
    this.#file.write({ kind: 'retiring', ...who() });
    agent.isRetired = true;
    await agent.kill();
    if (!(await this.#write(agent, { retired: true, retiredAt: Date.now(), revision: ++this.#revision }))) return;
    const connection = await this.#ground.connect('everything');
    const manager = await jetstreamManager(connection, { checkAPI: false });
    await manager.consumers.delete(streams(SPACE).dlv, deliveryConsumer(agent.member)).catch(() => undefined);
    this.#file.write({ kind: 'retired', ...who() });
  }

  async #write(agent: TortureAgent, value: object): Promise<boolean> {
    const connection = await this.#ground.connect('manager');
    const deadline = Date.now() + WRITING_MS;
    while (Date.now() < deadline) {
      const bucket = buckets(SPACE).acl;
      const written = await writeRow({ connection, bucket, key: memberKey(agent.member), value });
      if (written.kind === 'stored') return true;
      await pause(AGAIN_MS);
    }
    return false;
  }
}
