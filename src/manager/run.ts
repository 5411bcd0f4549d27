/** A machine as a promise: it resolves with the machine's output, and a cancelled one stops at once, without any effect after. */
import { type AnyStateMachine, createActor, type InputFrom, type OutputFrom } from 'xstate';

export interface Cancellable {
  /** Aborted: the machine is stopped, what it had asked for is given up, and the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

export function runToEnd<Machine extends AnyStateMachine>(
  machine: Machine,
  input: InputFrom<Machine>,
  { signal }: Cancellable = {},
): Promise<OutputFrom<Machine>> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const actor = createActor(machine, { input } as never);
    const cancel = () => {
      reject(signal?.reason);
      actor.stop();
    };
    signal?.addEventListener('abort', cancel, { once: true });
    actor.subscribe({
      error: (error) => {
        signal?.removeEventListener('abort', cancel);
        reject(error);
      },
      complete: () => {
        signal?.removeEventListener('abort', cancel);
        resolve((actor.getSnapshot() as { output?: unknown }).output as OutputFrom<Machine>);
      },
    });
    actor.start();
  });
}
