/** How much is owed to all members together, in one request whatever the backlog. */
import { z } from 'zod';
import { streams } from '../../domain/subjects.ts';
import type { GatedBroker } from './gated-broker.ts';

const schema = z.object({ state: z.object({ messages: z.number(), first_ts: z.string() }) });

export interface Owed {
  readonly entries: number;
  /** 0 where nothing is owed. */
  readonly oldestAgeMs: number;
}

/** Undefined while the store cannot be asked. */
export async function readOwed(of: { broker: GatedBroker; space: string; wallMs: number }): Promise<Owed | undefined> {
  const info = await of.broker.api(`STREAM.INFO.${streams(of.space).inbox}`, {}, schema);
  if (info.kind !== 'reply') return undefined;
  const { messages, first_ts } = info.value.state;
  return { entries: messages, oldestAgeMs: messages === 0 ? 0 : Math.max(0, of.wallMs - Date.parse(first_ts)) };
}
