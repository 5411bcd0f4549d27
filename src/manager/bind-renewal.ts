/** Renewal of standing credentials: who renews, what is signed, and what came of it. */
import { z } from 'zod';
import type { UserClaims } from '../domain/claims.ts';
import { duePlan } from '../domain/renewal.ts';
import {
  type DueFact,
  type OwnFact,
  type RecordedFact,
  type RenewalRecord,
  renewalMachine,
  type SignFact,
} from '../machines/renewal.machine.ts';
import { ask } from '../services/bind-effects.ts';
import { type Credential, fingerprintOf } from '../services/credential.ts';
import type { Journal } from '../services/ports.ts';
import { bindRailWait } from './bind-rail.ts';
import type { ManagerPorts } from './ports.ts';

export interface RenewalPorts extends Pick<ManagerPorts, 'rows' | 'line' | 'clock' | 'numbers'> {
  /** Who renews: one holder of the renewal lease does. */
  readonly holder: string;
  readonly journal: Journal;
  /** The standing credentials as they lie in the store; `fingerprint`: SHA-256 of the JWT. @throws for one that cannot be read. */
  standing(): Promise<readonly { readonly name: string; readonly claims: UserClaims; readonly fingerprint: string }[]>;
  /** Signs these again, with the keys that they have, and writes them into the store. */
  sign(names: readonly string[]): Promise<readonly { readonly name: string; readonly credential: Credential }[]>;
}

export const RENEWAL_KEY = 'renewal.0';
/** Where the outcome of the last pass is kept. */
export const RENEWAL_OUTCOME_KEY = 'renewal.outcome';
const ownerSchema = z.looseObject({ holder: z.string(), at: z.number() });

export function bindRenewal(ports: RenewalPorts) {
  const { rows, clock, holder } = ports;
  return renewalMachine.provide({
    actors: {
      railWait: bindRailWait(ports),
      lookAtCredentials: ask<DueFact, undefined>(async () => {
        try {
          const standing = await ports.standing();
          const { due, waitMs } = duePlan(standing, clock.now().wallMs);
          const { fingerprint = '' } = standing.find(({ name }) => name === 'delivery') ?? {};
          return due.length > 0
            ? { type: 'credentials.due', names: due, waitMs }
            : { type: 'credentials.fresh', waitMs, fingerprint };
        } catch (error) {
          return { type: 'store.unreadable', reason: error instanceof Error ? error.message : String(error) };
        }
      }),
      /** The row ends by itself with the bucket's own life of keys. */
      ownRenewal: ask<OwnFact, undefined>(async (_, signal) => {
        const read = await rows.read({ bucket: 'manager', key: RENEWAL_KEY, schema: ownerSchema, signal });
        if (read.type === 'store.unanswered')
          return { type: 'renewal.unanswered', reason: 'the renewal lease was not answered' };
        if (read.type === 'store.refused') return { type: 'renewal.unanswered', reason: read.reason };
        if (read.type === 'unreadable') return { type: 'renewal.held', by: 'somebody whose row cannot be read' };
        if (read.type === 'found' && read.row.holder !== holder) return { type: 'renewal.held', by: read.row.holder };
        const value = { holder, at: clock.now().wallMs };
        const written = await rows.write({ bucket: 'manager', key: RENEWAL_KEY, value, expect: read.revision, signal });
        if (written.type === 'written') return { type: 'renewal.ours' };
        if (written.type === 'conflict') return { type: 'renewal.held', by: 'another manager' };
        return {
          type: 'renewal.unanswered',
          reason: written.type === 'store.refused' ? written.reason : 'the renewal lease was not answered',
        };
      }),
      signCredentials: ask<SignFact, { names: readonly string[] }>(async ({ names }, signal) => {
        if (signal.aborted) return { type: 'signing.failed', reason: 'it was cancelled' };
        try {
          const signed = await ports.sign(names);
          // A store that still gives the old ones would have them signed again at every look.
          const stored = new Map((await ports.standing()).map(({ name, claims }) => [name, JSON.stringify(claims)]));
          const missed = signed.filter(
            ({ name, credential }) => stored.get(name) !== JSON.stringify(credential.claims),
          );
          if (missed.length > 0) {
            const which = missed.map(({ name }) => name).join(' and ');
            return {
              type: 'signing.failed',
              reason: `the store does not have the ${which} credential that was signed`,
            };
          }
          const delivery = signed.find(({ name }) => name === 'delivery');
          return {
            type: 'credentials.signed',
            names: signed.map(({ name }) => name),
            fingerprint: delivery === undefined ? '' : fingerprintOf(delivery.credential.jwt),
          };
        } catch (error) {
          return { type: 'signing.failed', reason: error instanceof Error ? error.message : String(error) };
        }
      }),
      recordOutcome: ask<RecordedFact, RenewalRecord>(async (record, signal) => {
        const names = record.names.join(', ');
        ports.journal.tell('manager.renewal', { ...record, names });
        if (record.outcome === 'failed' || record.outcome === 'refused') {
          ports.journal.tell('manager.renewal-missed', { ...record, names });
        }
        const read = await rows.read({ key: RENEWAL_OUTCOME_KEY, schema: z.looseObject({}), signal });
        if (read.type === 'found' || read.type === 'absent' || read.type === 'unreadable') {
          const value = { ...record, at: clock.now().wallMs, by: holder };
          await rows.write({ key: RENEWAL_OUTCOME_KEY, value, expect: read.revision, signal });
        }
        return { type: 'outcome.recorded' };
      }),
    },
  });
}
