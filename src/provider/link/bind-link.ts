/** The machine of a provider link over its sessions. */

import { retryWait } from '../../domain/provider/guidance.ts';
import type { LinkNumbers } from '../../domain/provider/link-numbers.ts';
import type {
  HeartbeatFact,
  InventoryFact,
  RegisterFact,
  RetryFact,
  SocketFact,
} from '../../machines/provider-link.facts.ts';
import { providerLinkMachine } from '../../machines/provider-link.machine.ts';
import { ask, listen } from '../../services/bind-effects.ts';
import type { Journal } from '../../services/ports.ts';
import type { Tally } from '../../services/tally.ts';
import { syncInventory } from './inventory.ts';
import type { Dialer, Directory, TokenSource } from './ports.ts';
import type { Roster } from './roster.ts';
import { Session, type SessionSetting } from './session.ts';

export interface LinkServices extends SessionSetting {
  readonly numbers: LinkNumbers;
  readonly dialer: Dialer;
  readonly tokens: TokenSource;
  readonly directory: Directory;
  readonly roster: Roster;
  readonly journal: Journal;
  readonly tally: Tally;
  /** From 0 to below 1. */
  dice(): number;
  /** Told which session is the current one; undefined between two. */
  current(session: Session | undefined): void;
}

export function bindLink(services: LinkServices) {
  const { numbers, journal, tally, tokens, dialer, roster, node } = services;
  const who = { node: node.nodeId, provider: node.provider.name };
  let session: Session | undefined;
  const held = (): Session => {
    if (session === undefined) throw new Error('there is no session');
    return session;
  };
  const failed = (name: string, code: string) => tally.add(name, code);

  return providerLinkMachine.provide({
    actors: {
      holdSocket: listen<SocketFact, { renewToken: boolean }>((tell, { renewToken }) => {
        const ended = new AbortController();
        const mine = new Session(services, (fact) => {
          if (!ended.signal.aborted) tell(fact as SocketFact);
        });
        session = mine;
        services.current(mine);
        tally.add('attempts');
        const notDialled = (code: string, error: unknown) => {
          if (!ended.signal.aborted) tell({ type: 'dial.failed', code, message: String(error) });
        };
        void tokens
          .read({ renew: renewToken, signal: ended.signal })
          .then(
            (answer) => {
              if (ended.signal.aborted) return;
              if (answer.kind === 'token') return mine.open(dialer, answer.token);
              const { code, message } = answer;
              tell({ type: answer.kind === 'refused' ? 'token.refused' : 'dial.failed', code, message });
            },
            (error: unknown) => notDialled('token_unreadable', error),
          )
          // A token that can stand in no header is thrown at the dial, before there is a socket to tell of it.
          .catch((error: unknown) => notDialled('dial_refused', error));
        return {
          stop: async () => {
            ended.abort();
            mine.close();
            session = undefined;
            services.current(undefined);
          },
        };
      }),
      writeRegister: ask<RegisterFact, undefined>(() => held().register()),
      sendHeartbeat: ask<HeartbeatFact, undefined>(() => {
        tally.add('heartbeats');
        return held().heartbeat(roster.members().length);
      }),
      syncInventory: ask<InventoryFact, undefined>((_, signal) => syncInventory(services, held(), signal)),
      planRetry: ask<RetryFact, { failures: number; guidanceMs: number | null }>(async (of) => {
        const waitMs = retryWait({ ...of, dice: services.dice() }, numbers);
        journal.tell('link.waiting', { ...who, ...of, waitMs });
        return { type: 'retry.planned', waitMs };
      }),
    },
    actions: {
      tellReady: () => {
        tally.add('registrations.accepted');
        journal.tell('link.ready', who);
      },
      tellRejected: (_, { code, message, guidanceMs }) => {
        failed('registrations.rejected', code);
        journal.tell('link.rejected', { ...who, code, message, guidanceMs });
      },
      tellFailed: (_, { code, message }) => {
        failed('failures', code);
        journal.tell('link.failed', { ...who, code, message });
      },
      tellRefused: (_, { code, message }) => {
        failed('failures', code);
        journal.tell('link.refused', { ...who, code, message });
      },
      tellUncertified: (_, facts) => journal.tell('link.uncertified', { ...who, ...facts }),
      tellGap: (_, { agentId, expected, seq }) => journal.tell('link.gap', { ...who, agentId, expected, seq }),
      tellInventoryRefused: (_, { code, message }) => {
        failed('inventories.refused', code);
        journal.tell('link.inventory-refused', { ...who, code, message });
      },
    },
    delays: {
      connectWithin: numbers.connectMs,
      registerWithin: numbers.registerMs,
      heartbeatEvery: numbers.heartbeatMs,
      inventoryEvery: numbers.inventoryMs,
      inventoryAgain: numbers.inventoryAgainMs,
      deadAfter: numbers.deadMs,
    },
  });
}
