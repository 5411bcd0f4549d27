/** What the credential machine needs of a daemon that has started, and what the rail answers to a reload. */
import type { AnyActorRef } from 'xstate';
import { Plane3Error } from './domain/errors/catalogue.ts';
import type { Numbers } from './domain/numbers.ts';
import type { DataOf } from './domain/rail.ts';
import type { ReloadAnswer } from './domain/reload.ts';
import type { CredentialServices } from './services/bind-credential.ts';
import { fingerprintOf } from './services/credential.ts';
import type { Handlers } from './services/delivery/rail-work.ts';
import { Tickets } from './services/delivery/tickets.ts';
import { proveCredential } from './services/nats/proof.ts';
import type { Clock, Journal } from './services/ports.ts';
import type { Start } from './start.ts';

export class Renewal {
  readonly #tickets = new Tickets<ReloadAnswer>();
  readonly services: CredentialServices;

  constructor(of: { start: Start; space: string; numbers: Numbers; clock: Clock; journal: Journal }) {
    const { start, space, numbers, clock, journal } = of;
    const { keeper } = start;
    this.services = {
      journal,
      numbers,
      nextLook: () => keeper.nextLook(),
      look: () => keeper.look(),
      prove: async () => {
        const credential = keeper.candidate;
        const timeoutMs = Math.min(numbers.credentialFlightMs, numbers.effectTimeoutMs);
        const proof = await proveCredential({ broker: start.broker, credential, space, timeoutMs });
        return { ...proof, fingerprint: fingerprintOf(credential.jwt) };
      },
      adopt: () => keeper.adopt(),
      dialNext: () => start.residence.dialNext(() => start.dial()),
      moveIn: () => start.residence.moveToNext(),
      elapsedSince: (since) => clock.now().monotonicMs - since,
      answer: ({ ticket, answer }) => this.#tickets.settle(ticket, answer),
      silence: () => this.#tickets.clear(),
    };
  }

  /** `credential`: the machine, which answers. */
  handlers(credential: () => AnyActorRef | undefined): Handlers {
    return {
      reloadCreds: async ({ args: { expected } }) => {
        const { ticket, answer } = this.#tickets.open();
        credential()?.send({ type: 'reload.asked', ticket, expected });
        return adopted(await answer);
      },
    };
  }
}

function adopted(answer: ReloadAnswer): DataOf<'reloadCreds'> {
  switch (answer.kind) {
    case 'adopted':
      return { adopted: true, fingerprint: answer.fingerprint };
    case 'starting':
      throw new Plane3Error('reload.starting', {});
    case 'other':
      throw new Plane3Error('reload.other', answer);
    case 'unusable':
      throw new Plane3Error('reload.unusable', answer);
    case 'unproved':
      throw new Plane3Error('reload.unproved', answer);
  }
}
