/** The ports of one serving period over a resident connection, behind that period's gate. */
import type { Gate } from '../fence.ts';
import type { Copies, Entries, Journal, Posts, Rails, Rows, RowWatch } from '../ports.ts';
import type { Tally } from '../tally.ts';
import { natsCopies } from './copies.ts';
import { natsEntries } from './entries.ts';
import { GatedBroker } from './gated-broker.ts';
import { natsPosts } from './posts.ts';
import { natsRails } from './rails.ts';
import type { Resident } from './resident.ts';
import { natsRowWatch } from './row-watch.ts';
import { natsRows } from './stored-rows.ts';

export interface NatsDeliveryPorts {
  readonly posts: Posts;
  readonly entries: Entries;
  readonly copies: Copies;
  readonly rows: Rows;
  readonly rowWatch: RowWatch;
  readonly rails: Rails;
  maxPayload(): number;
}

export function natsDeliveryPorts(of: {
  resident: Resident;
  gate: Gate;
  space: string;
  /** In the header of every entry and copy, so that it can be told which daemon wrote it. */
  incarnation: string;
  timeoutMs: number;
  journal: Journal;
  tally: Tally;
}): NatsDeliveryPorts {
  const { resident, gate, space, incarnation, timeoutMs, journal, tally } = of;
  const { connection, inboxPrefix } = resident;
  const broker = new GatedBroker({ connection, gate, timeoutMs, inboxPrefix });
  return {
    posts: natsPosts({ broker, space }),
    entries: natsEntries({ broker, space, incarnation }),
    copies: natsCopies({ broker, space, incarnation }),
    rows: natsRows({ broker, space }),
    rowWatch: natsRowWatch({ broker, space }),
    rails: natsRails({ broker, space, journal, tally }),
    maxPayload: () => broker.maxPayload,
  };
}
