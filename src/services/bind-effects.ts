/** How a port's promise or listener becomes an effect of a machine. */
import { type EventObject, fromCallback, fromPromise } from 'xstate';
import type { Stoppable } from './ports.ts';

/** An effect that is asked for once. `signal` is aborted when the state that asked is left. */
export const ask = <Fact extends EventObject, Input>(work: (input: Input, signal: AbortSignal) => Promise<Fact>) =>
  fromPromise<Fact, Input>(({ input, signal }) => work(input, signal));

/** An effect that goes on until its state is left. */
export const listen = <Fact extends EventObject, Input>(
  start: (tell: (fact: Fact) => void, input: Input) => Stoppable,
) =>
  fromCallback<Fact, Input>(({ sendBack, input }) => {
    const listening = start(sendBack as (fact: Fact) => void, input);
    return () => void listening.stop();
  });
