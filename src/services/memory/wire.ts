/**
 * The way between one connection and the memory broker. Every call passes it twice, there and back; faults and the gate
 * are met on the way, and a test that simulates a network decides with `pace` when each leg is done.
 */
import type { Gate } from '../fence.ts';
import type { Denied, Refused, Silent } from '../ports.ts';
import type { MemoryBroker } from './broker.ts';
import { Faults, notArrived } from './faults.ts';

export type Leg = 'there' | 'back' | 'news';
/** Resolves when this leg of the call is done; never, when whoever waits for it is gone. */
export type Pace = (verb: string, leg: Leg) => Promise<void>;

export class Wire {
  readonly broker: MemoryBroker;
  readonly faults: Faults;
  readonly #gate: Gate;
  readonly #pace: Pace;

  constructor(of: { broker: MemoryBroker; gate?: Gate; faults?: Faults; pace?: Pace }) {
    this.broker = of.broker;
    this.faults = of.faults ?? new Faults();
    this.#gate = of.gate ?? (() => undefined);
    this.#pace = of.pace ?? (async () => {});
  }

  /** Undefined while effects may be sent. */
  shut(): Silent | undefined {
    const why = this.#gate() ?? (this.broker.isUp ? undefined : 'disconnected');
    return why === undefined ? undefined : { kind: 'silent', why };
  }

  /** One request: what the work comes to at the broker, or why nothing is known of it. */
  async ask<T>(verb: string, work: () => T): Promise<T | Refused | Denied | Silent> {
    const shut = this.shut();
    if (shut !== undefined) return shut;
    const fault = this.faults.take(verb);
    const failed = notArrived(fault, verb);
    await this.#pace(verb, 'there');
    if (failed !== undefined) return failed;
    if (!this.broker.isUp) return { kind: 'silent', why: 'disconnected' };
    const outcome = work();
    if (fault?.kind === 'hold') await fault.until;
    if (fault?.kind === 'delay') await this.broker.clock.sleep(fault.ms);
    await this.#pace(verb, 'back');
    if (fault?.kind === 'lost') return { kind: 'silent', why: 'timeout' };
    return this.broker.isUp ? outcome : { kind: 'silent', why: 'disconnected' };
  }

  /** A request whose port has no other word for "no" than silence. */
  async look<T>(verb: string, work: () => T): Promise<T | Silent> {
    const outcome = await this.ask(verb, () => ({ kind: 'looked' as const, value: work() }));
    if (outcome.kind === 'looked') return outcome.value;
    return outcome.kind === 'silent' ? outcome : { kind: 'silent', why: outcome.kind };
  }

  /** News arrives one after the other, in its order. */
  newsOf(verb: string): (tell: () => void) => void {
    let before = Promise.resolve();
    return (tell) => {
      before = before.then(() => this.#pace(verb, 'news')).then(tell);
    };
  }
}
