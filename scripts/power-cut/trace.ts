/** Reads what strace wrote of nats-server: writes to the files of a stream, their syncs, and acknowledgements on sockets. */

export type Call =
  | { readonly kind: 'write'; readonly file: string }
  /** `began`: calls that were there when it began; it covers nothing that was written later. */
  | { readonly kind: 'sync'; readonly file: string; readonly began: number }
  | { readonly kind: 'ack'; readonly stream: string; readonly seq: number };

const FILE = /^(?:write|writev|pwrite64|fsync|fdatasync)\(\d+<([^>]*)>/;
const ACK = /\{\\"stream\\":\s?\\"([A-Za-z0-9_-]+)\\",\s?\\"(?:domain\\":\s?\\"[^"]*\\",\s?\\")?seq\\":\s?(\d+)/g;
const STORED = /\/streams\/([^/]+)\/msgs\/\d+\.blk$/;

/**
 * The calls in their order. A write or an acknowledgement counts from when it began, a sync from when it returned: what is
 * under way is not taken for done.
 */
export function readTrace(text: string): Call[] {
  const calls: Call[] = [];
  const syncing = new Map<string, { file: string; began: number }>();
  for (const line of text.split('\n')) {
    const [, thread = '', rest = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    if (/^<\.\.\. f(?:data)?sync resumed>/.test(rest)) {
      const sync = syncing.get(thread);
      if (sync !== undefined && /= 0$/.test(rest)) calls.push({ kind: 'sync', ...sync });
      syncing.delete(thread);
      continue;
    }
    const file = FILE.exec(rest)?.[1];
    if (file === undefined) continue;
    if (/^f(data)?sync/.test(rest)) {
      if (rest.includes('<unfinished')) syncing.set(thread, { file, began: calls.length });
      else if (/= 0$/.test(rest)) calls.push({ kind: 'sync', file, began: calls.length });
    } else if (STORED.test(file)) {
      calls.push({ kind: 'write', file });
    } else if (/^(?:socket|TCP)/.test(file)) {
      for (const [, stream = '', seq = ''] of rest.matchAll(ACK)) calls.push({ kind: 'ack', stream, seq: Number(seq) });
    }
  }
  return calls;
}

export interface Acknowledgement {
  readonly stream: string;
  readonly seq: number;
  /** Files of the stream that had writes which no sync had followed. */
  readonly unsynced: readonly string[];
}

export function acknowledgements(calls: readonly Call[]): Acknowledgement[] {
  /** Files with writes that no sync has followed: where the last of them stands. */
  const dirty = new Map<string, number>();
  const acks: Acknowledgement[] = [];
  for (const [at, call] of calls.entries()) {
    switch (call.kind) {
      case 'write':
        dirty.set(call.file, at);
        break;
      case 'sync':
        if ((dirty.get(call.file) ?? 0) < call.began) dirty.delete(call.file);
        break;
      case 'ack': {
        const { stream, seq } = call;
        acks.push({ stream, seq, unsynced: [...dirty.keys()].filter((file) => STORED.exec(file)?.[1] === stream) });
      }
    }
  }
  return acks;
}
