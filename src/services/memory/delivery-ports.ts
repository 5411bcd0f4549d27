/** The ports of one serving period over the memory broker, behind that period's gate. */
import type { Gate } from '../fence.ts';
import type { Copies, Entries, Journal, Posts, Rails, Rows, RowWatch } from '../ports.ts';
import type { Tally } from '../tally.ts';
import type { MemoryBroker } from './broker.ts';
import { memoryCopies } from './copies.ts';
import { memoryEntries } from './entries.ts';
import type { Faults } from './faults.ts';
import { memoryPosts } from './posts.ts';
import { memoryRails } from './rails.ts';
import { memoryRowWatch } from './row-watch.ts';
import { memoryRows } from './rows.ts';
import { type Pace, Wire } from './wire.ts';

export interface MemoryDeliveryPorts {
  readonly posts: Posts;
  readonly entries: Entries;
  readonly copies: Copies;
  readonly rows: Rows;
  readonly rowWatch: RowWatch;
  readonly rails: Rails;
  maxPayload(): number;
}

export function memoryDeliveryPorts(of: {
  broker: MemoryBroker;
  incarnation: string;
  journal: Journal;
  tally: Tally;
  gate?: Gate;
  faults?: Faults;
  pace?: Pace;
}): MemoryDeliveryPorts {
  const { broker, incarnation, journal, tally } = of;
  const wire = new Wire(of);
  return {
    posts: memoryPosts(wire),
    entries: memoryEntries({ wire, incarnation }),
    copies: memoryCopies({ wire, incarnation }),
    rows: memoryRows(wire),
    rowWatch: memoryRowWatch(wire),
    rails: memoryRails({ wire, journal, tally }),
    maxPayload: () => broker.maxPayload,
  };
}
