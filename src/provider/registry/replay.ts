/**
 * Replay (rule 6). A pump of a connection is at most one job in the node's queue: it does one page and gives the queue
 * back. A page is one query, and the one write that marks the page before it, in one round trip; between the query's
 * answer and its frames there is no await. It stops at the first frame that could not be written, at a full window, and
 * after its pages of one wake; the alarm goes on.
 */
import { type Delivery, passedEmpty, wrote } from '../../domain/provider/delivery.ts';
import { byteLength } from '../../domain/provider/names.ts';
import {
  agentsWithRows,
  type DueRow,
  duePage,
  markDelivered,
  unacknowledged,
  type Wanted,
} from '../engine/deliveries.ts';
import type { Row, Statement } from '../storage/port.ts';
import type { Attached } from './attached.ts';
import { messageOf, type NodeState } from './state.ts';

type Entry = readonly [agent: string, delivery: Delivery];

/** Puts the pump of a connection into the queue, unless it is there. */
export function pump(node: NodeState, attached: Attached): void {
  const { connection } = attached;
  const isIdle = node.ready.wanting(connection).length === 0 && attached.unmarked.length === 0;
  if (node.pumping.has(connection) || isIdle || attached.window.holdsBack(node.limits)) return;
  if (node.pages >= node.limits.pagesPerWake) {
    node.watch(node.host.now());
    return;
  }
  node.pumping.add(connection);
  node.host.background(
    node.queue.push(async () => {
      node.pumping.delete(connection);
      node.freshBudget();
      if ((await page(node, attached, node.ready.wanting(connection))) === 'more') pump(node, attached);
    }),
  );
}

/** Drains one live identity that is behind, before a higher row of it is written. */
export async function drain(node: NodeState, attached: Attached, agent: string): Promise<void> {
  for (let pages = 0; pages < 4; pages += 1) {
    const delivery = node.ready.of(attached.connection, agent);
    if (delivery.phase !== 'Live' || !delivery.dirty) return;
    if ((await page(node, attached, [[agent, delivery]])) === 'stopped') return;
  }
}

/** Acknowledgements on their way into the batch of the next page. */
export interface Riding {
  readonly statements: readonly Statement[];
  /** Takes what came of them, before a frame of the page is written. */
  take(results: readonly (readonly Row[])[]): void;
}

/**
 * A page on whose batch acknowledgements ride; false when no page is due, and they have to go on their own. Rejects when
 * the batch failed: nothing was acknowledged then.
 */
export async function pageWith(node: NodeState, attached: Attached, riding: Riding): Promise<boolean> {
  const wanting = node.ready.wanting(attached.connection);
  const isDue =
    wanting.length > 0 &&
    wanting.length <= node.limits.pageRows &&
    attached.window.isKnown &&
    !attached.window.holdsBack(node.limits);
  if (!isDue || attached.provider === undefined || !isDeliverable(node, attached)) return false;
  await page(node, attached, wanting, riding);
  return true;
}

/** One page of some of the wanting identities. `stopped`: somebody else starts it again (an ack, a register, the alarm). */
async function page(
  node: NodeState,
  attached: Attached,
  wanting: readonly Entry[],
  riding?: Riding,
): Promise<'more' | 'stopped'> {
  const provider = attached.provider;
  const isFenced = () => attached.provider?.name !== provider?.name || !isDeliverable(node, attached);
  if (provider === undefined || isFenced()) return 'stopped';
  const at = node.at(provider.name);
  node.pages += 1;
  try {
    if (wanting.length === 0) {
      await mark(node, attached);
      return 'stopped';
    }
    if (!attached.window.isKnown) await remember(node, attached);
    if (attached.isProbeDue(wanting.length, node.limits.pageRows)) {
      const withRows = await node.bounded(agentsWithRows(node.engine, wanting.map(wantedOf)));
      if (isFenced()) return 'stopped';
      passEmpty(
        node,
        attached,
        wanting.filter(([agent]) => !withRows.has(agent)),
      );
      return 'more';
    }
    const taken = wanting.slice(0, node.limits.pageRows);
    const written = attached.unmarked;
    const asked = {
      wanted: taken.map(wantedOf),
      rows: node.limits.pageRows,
      written,
      riding: riding?.statements ?? [],
    };
    const due = await node.bounded(duePage(node.engine, at, asked));
    attached.unmarked = [];
    riding?.take(due.riding);
    if (written.length > 0) await node.steps.at('replay.marked');
    await node.steps.at('replay.read');
    if (isFenced()) return 'stopped';
    const { sent, ended } = write(node, attached, taken, due.pages);
    attached.unmarked = sent;
    await node.steps.at('replay.sent');
    // The next acknowledgement or page marks it; the alarm, if neither comes.
    if (ended === 'stopped') node.watch(node.host.now() + node.limits.againMs);
    return ended;
  } catch (error) {
    node.journal.tell('replay.failed', { ...node.names(attached), reason: messageOf(error) });
    node.watch(node.host.now() + node.limits.againMs);
    if (riding !== undefined) throw error;
    return 'stopped';
  }
}

/** Writes down what the last page wrote, where neither a page nor an acknowledgement did. */
export async function mark(node: NodeState, attached: Attached): Promise<void> {
  if (attached.unmarked.length === 0) return;
  await node.bounded(markDelivered(node.engine, attached.unmarked));
  attached.unmarked = [];
  await node.steps.at('replay.marked');
}

const passEmpty = (node: NodeState, attached: Attached, empty: readonly Entry[]): void =>
  node.ready.keep(
    attached.connection,
    empty.map(([agent]) => [agent, passedEmpty(node.ready.of(attached.connection, agent))]),
  );

const isDeliverable = (node: NodeState, attached: Attached): boolean =>
  node.policy.gate(attached, node.host.now(), node.limits) === undefined;

/** On the way to Live everything above what was sent; when live, queued rows, also those that were sent and not noted. */
const wantedOf = ([agent, { phase, base, sent }]: Entry): Wanted =>
  phase === 'Replaying' ? { agent, after: sent, again: true } : { agent, after: base, again: false };

/** Writes the frames of a page, in one turn; answers with the queued rows to be marked delivered. */
function write(
  node: NodeState,
  attached: Attached,
  taken: readonly Entry[],
  pages: readonly (readonly DueRow[])[],
): { readonly sent: readonly string[]; readonly ended: 'more' | 'stopped' } {
  const sent: string[] = [];
  const kept: Entry[] = [];
  let isStopped = false;
  for (const [index, [agent]] of taken.entries()) {
    const rows = pages[index] ?? [];
    let delivery = node.ready.of(attached.connection, agent);
    if (delivery.phase === 'NotReady' || isStopped) continue;
    for (const row of rows) {
      if (row.seq > delivery.sent) {
        if (!give(node, attached, row)) {
          isStopped = true;
          break;
        }
        delivery = wrote(delivery, row.seq);
        node.counters.replayed += 1;
      }
      if (row.queued) sent.push(row.id);
    }
    if (rows.length === 0) delivery = passedEmpty(delivery);
    kept.push([agent, delivery]);
  }
  node.ready.keep(attached.connection, kept);
  return { sent, ended: isStopped ? 'stopped' : 'more' };
}

/** Writes one frame if the window has room. */
function give(node: NodeState, attached: Attached, row: DueRow): boolean {
  const text = JSON.stringify(row.frame);
  const bytes = byteLength(text);
  if (!attached.window.has(node.limits, bytes) || !attached.socket.send(text)) return false;
  attached.window.wrote(row.frame, bytes);
  return true;
}

/** The window of a socket whose node lost its memory. */
export async function remember(node: NodeState, attached: Attached): Promise<void> {
  const agents = node.ready.agents(attached.connection);
  const rows = await node.bounded(unacknowledged(node.engine, agents, node.limits.windowFrames));
  for (const { agent, seq, bytes } of rows) attached.window.outstanding(agent, seq, bytes);
  attached.window.remembered();
}
