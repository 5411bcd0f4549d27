/** A door over the port that it keeps open. */
import { type DoorFact, doorMachine } from '../machines/door.machine.ts';
import { listen } from './bind-effects.ts';
import type { Journal, Stoppable } from './ports.ts';

export interface DoorServices {
  readonly journal: Journal;
  /** Of the process, in its log: delivery, up … */
  readonly process: string;
  /** What is behind the door. */
  readonly what: string;
  open(port: number, tell: (fact: DoorFact) => void): Stoppable;
  /** It is open: here. */
  opened(port: number): void;
}

export function bindDoor({ journal, process, what, ...door }: DoorServices) {
  return doorMachine.provide({
    actors: { keepDoor: listen<DoorFact, { port: number }>((tell, { port }) => door.open(port, tell)) },
    actions: {
      tellOpened: (_, { port }) => {
        door.opened(port);
        journal.tell('door.opened', { process, what, url: `http://127.0.0.1:${port}` });
      },
      tellRefused: (_, { port, why }) => journal.tell('door.refused', { process, what, port, why }),
    },
  });
}
