/**
 * A provider link: one provider of one hosted node, kept connected from here. It starts when it is made and ends when it
 * is stopped, or refused for want of a token; every other trouble it lives through. What it promises is said by its
 * machine (H1 to H11); cursors and confirmations are kept by its sessions.
 */
import { createActor, type InspectionEvent } from 'xstate';
import type { LinkNumbers } from '../../domain/provider/link-numbers.ts';
import type { LinkEnd } from '../../machines/provider-link.facts.ts';
import type { Journal } from '../../services/ports.ts';
import { Tally } from '../../services/tally.ts';
import { bindLink } from './bind-link.ts';
import { type LinkHealth, stateOf, type Told } from './health.ts';
import type { Deliveries, Dialer, Directory, TokenSource } from './ports.ts';
import { Roster } from './roster.ts';
import type { Session, SessionSetting } from './session.ts';

export interface LinkOptions {
  readonly node: SessionSetting['node'];
  /** Names of the agents that this link provides, as the node knows them. */
  readonly agents: readonly string[];
  readonly numbers: LinkNumbers;
  readonly dialer: Dialer;
  readonly tokens: TokenSource;
  readonly directory: Directory;
  readonly deliveries: Deliveries;
  readonly journal: Journal;
  /** For tests: clock of the wall, dice, ids of requests. */
  readonly now?: () => number;
  readonly dice?: () => number;
  readonly newId?: () => string;
  /** Told after every move and every proof. */
  readonly onHealth?: (health: LinkHealth) => void;
  /** Every step of its actors, for the inspector. */
  readonly inspect?: (event: InspectionEvent) => void;
}

export interface ProviderLink {
  health(): LinkHealth;
  /** How it ended. Never rejects. */
  readonly ended: Promise<LinkEnd>;
  /** Closes the socket, and dials no more. */
  stop(): void;
}

export function startLink(options: LinkOptions): ProviderLink {
  const { node, numbers, journal, now = Date.now, onHealth } = options;
  const tally = new Tally();
  const roster = new Roster(options.agents);
  let session: Session | undefined;
  let moved: { state: LinkHealth['state']; since: number } = { state: 'Disconnected', since: now() };
  let opened: number | null = null;
  let proved: { inventories: number; at: number | null } = { inventories: 0, at: null };
  let errors: { last: Told | null; previous: Told | null } = { last: null, previous: null };
  let nextRetryAt: number | null = null;
  let failure: unknown;

  const machine = bindLink({
    ...options,
    roster,
    tally,
    surfaced: new Map(),
    dice: options.dice ?? Math.random,
    newId: options.newId ?? (() => crypto.randomUUID()),
    current: (current) => {
      session = current;
    },
  });
  const actor = createActor(machine, {
    input: { tokenRereads: numbers.tokenRereads },
    ...(options.inspect === undefined ? {} : { inspect: options.inspect }),
  });

  const health = (): LinkHealth => ({
    state: moved.state,
    connected: moved.state === 'Ready',
    since: moved.since,
    attempt: tally.get('attempts'),
    nextRetryAt,
    lastError: errors.last,
    previousError: errors.previous,
    provider: node.provider.name,
    instanceId: node.provider.instance,
    node: node.nodeId,
    transport: { open: opened !== null, since: opened },
    proved: { at: proved.at },
    cursors: session?.cursors() ?? [],
    refused: roster.refusals(),
    counters: tally.all(),
  });

  const ended = new Promise<LinkEnd>((resolve) => {
    actor.subscribe({
      next(snapshot) {
        const at = now();
        const state = stateOf(snapshot.value);
        opened = snapshot.hasTag('transport') ? (opened ?? at) : null;
        if (snapshot.context.failure !== null && snapshot.context.failure !== failure) {
          failure = snapshot.context.failure;
          errors = { last: { ...snapshot.context.failure, at }, previous: errors.last ?? errors.previous };
        }
        const inventories = tally.get('inventories');
        if (inventories > proved.inventories) proved = { inventories, at };
        const isWaiting = state === 'BackingOff' && snapshot.matches({ BackingOff: 'Waiting' });
        nextRetryAt = isWaiting ? (nextRetryAt ?? at + snapshot.context.waitMs) : null;
        if (state !== moved.state) {
          tally.add('transitions', state);
          journal.tell('link.moved', { node: node.nodeId, from: moved.state, to: state });
          moved = { state, since: at };
          if (state === 'Ready') errors = { last: null, previous: errors.last ?? errors.previous };
        }
        onHealth?.(health());
        if (snapshot.status === 'done') resolve(snapshot.output);
      },
      error(error) {
        resolve({ end: 'refused', failure: { code: 'unexpected', message: String(error) } });
      },
    });
  });
  actor.start();
  return {
    health,
    ended,
    stop() {
      if (actor.getSnapshot().status === 'active') actor.send({ type: 'stop.requested' });
    },
  };
}
