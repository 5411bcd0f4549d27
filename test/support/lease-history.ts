/**
 * What the broker stored on the lease row and of entries, in its own order and by its own clock: it says every write again
 * as it stores it. Who held the row, when, whether it said that it serves; and who copied.
 */
import { jetstreamManager } from '@nats-io/jetstream';
import { encodeUser } from '@nats-io/jwt';
import type { NatsConnection } from '@nats-io/nats-core';
import { WRITER_HEADER } from '../../src/domain/entry.ts';
import { readJson, shaped } from '../../src/domain/message.ts';
import { isMarker, leaseRowSchema } from '../../src/domain/rows.ts';
import { bucketStream, buckets, streams } from '../../src/domain/subjects.ts';
import { credsText, newPair, readCreds } from '../../src/services/credential.ts';
import type { SpaceKeys } from '../../src/services/local/auth-store.ts';
import { connectOnce } from '../../src/services/nats/connect.ts';

const AGAIN = 'said-again';

export interface LeaseWrite {
  /** Empty where the row was given back. */
  readonly incarnation: string;
  readonly ready: boolean;
  /** By the broker's clock, milliseconds. */
  readonly atMs: number;
}

/** A connection that may do everything in the space, for a test to look and to meddle. */
export async function connectAsAnybody(of: { url: string; keys: SpaceKeys }): Promise<NatsConnection> {
  const pair = newPair('user');
  const rights = { pub: { allow: ['>'], deny: [] }, sub: { allow: ['>'], deny: [] } };
  const jwt = await encodeUser('anybody', pair, of.keys.account, rights, { signer: of.keys.signing });
  return connectOnce({ url: of.url, name: 'anybody', credential: readCreds(credsText({ jwt, pair }), '(test)') });
}

export class LeaseHistory {
  readonly writes: LeaseWrite[] = [];
  /** Incarnation of whoever stored each entry. */
  readonly copiers: string[] = [];

  /** Everything that is stored from now on, as long as the connection lives. */
  static async follow(of: { connection: NatsConnection; space: string }): Promise<LeaseHistory> {
    const { connection, space } = of;
    const history = new LeaseHistory();
    const [lease, inbox] = [bucketStream(buckets(space).delivery), streams(space).inbox];
    connection.subscribe(`${AGAIN}.>`, {
      callback: (error, { data, headers }) => {
        if (error !== null) return;
        const header = (name: string) => headers?.get(name) ?? '';
        if (header('Nats-Stream') === inbox) {
          history.copiers.push(header(WRITER_HEADER));
          return;
        }
        const row = isMarker(header) ? undefined : shaped(leaseRowSchema, readJson(data));
        const atMs = Date.parse(header('Nats-Time-Stamp'));
        history.writes.push({ incarnation: row?.incarnation ?? '', ready: row?.ready === true, atMs });
      },
    });
    const manager = await jetstreamManager(connection, { checkAPI: false });
    for (const stream of [lease, inbox]) {
      const { config } = await manager.streams.info(stream);
      await manager.streams.update(stream, { ...config, republish: { src: '>', dest: `${AGAIN}.${stream}.>` } });
    }
    return history;
  }

  /** The first write with which this one said that it serves. */
  readyOf(incarnation: string): LeaseWrite | undefined {
    return this.writes.find((write) => write.ready && write.incarnation === incarnation);
  }

  /** Who held the row, one after the other. */
  holders(): string[] {
    return turnsOf(this.writes.flatMap(({ incarnation }) => (incarnation === '' ? [] : [incarnation])));
  }

  /** Who copied, one after the other. */
  writers(): string[] {
    return turnsOf(this.copiers);
  }

  /** When the row could be taken by somebody else than its last writer before this write: its end by age, or its return. */
  freeBefore(write: LeaseWrite, ttlMs: number): number {
    const others = this.writes.slice(0, this.writes.indexOf(write));
    const last = others.findLast(({ incarnation }) => incarnation !== write.incarnation);
    if (last === undefined) return 0;
    return last.incarnation === '' ? last.atMs : last.atMs + ttlMs;
  }
}

const turnsOf = (names: readonly string[]): string[] => names.filter((name, n) => name !== names[n - 1]);
