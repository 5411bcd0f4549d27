/**
 * `npm run test:power-cut`: shows, by a trace of nats-server's system calls, that with `--durability strict` nothing is
 * acknowledged before it is synced to disk: a post, an entry, a copy, a member row, a tombstone, singly and in batches. At the
 * moment an acknowledgement is written to its socket, every write to the files of that stream has been followed by an fsync or
 * fdatasync of the same file that has returned. The relaxed server is traced as well: there the same reading must find
 * acknowledgements that came first, or the reading shows nothing.
 *
 * Needs strace and the right to attach it (as root, or `kernel.yama.ptrace_scope` 0). COTAL_NATS_SERVER chooses the server.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { memberKey } from '../src/domain/names.ts';
import { buckets, chatSubject, copySubject, entrySubject, streams } from '../src/domain/subjects.ts';
import { publishBatch, publishOne } from '../src/services/nats/batch.ts';
import { writeRow } from '../src/services/nats/rows.ts';
import { connectAsAccount } from '../test/support/agents.ts';
import { type Mesh, startMesh } from '../test/support/mesh.ts';
import { acknowledgements, readTrace } from './power-cut/trace.ts';

const ROUNDS = 20;
const TIMEOUT_MS = 60_000;

async function traced(mesh: Mesh, work: () => Promise<void>): Promise<string> {
  const file = join(mesh.root, 'trace');
  const words = [
    '-f',
    '-y',
    '-s',
    '4096',
    '-e',
    'trace=write,writev,pwrite64,fsync,fdatasync',
    '-o',
    file,
    '-p',
    String(mesh.pid()),
  ];
  const trace = spawn('strace', words, { stdio: ['ignore', 'ignore', 'pipe'] });
  const failed = once(trace, 'error').then(([error]) => {
    throw new Error(`strace cannot be run (${(error as Error).message}): apt-get install strace`);
  });
  const attached = new Promise<void>((resolve, reject) => {
    let said = '';
    trace.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('attached')) resolve();
      else if (/ptrace|not permitted/i.test(said)) reject(new Error(`strace may not attach: ${said.trim()}`));
    });
  });
  await Promise.race([attached, failed]);
  await work();
  trace.kill('SIGINT');
  await once(trace, 'close');
  return readFileSync(file, 'utf8');
}

/** One store after the other, each answered before the next, as the daemon's ports and the manager store. */
async function store(mesh: Mesh): Promise<void> {
  const connection = await connectAsAccount(mesh);
  const { space } = mesh;
  const member = { owner: 'local', actor: 'bob', uid: 'b'.repeat(26) };
  const data = new Uint8Array(200);
  const done = (outcome: { kind: string }) => {
    if (outcome.kind !== 'stored') throw new Error(`not stored: ${JSON.stringify(outcome)}`);
  };
  for (let n = 0; n < ROUNDS; n++) {
    const timeoutMs = TIMEOUT_MS;
    done(
      await publishOne({ connection, message: { subject: chatSubject(space, 'local.alice', 'ops'), data }, timeoutMs }),
    );
    for (const subject of [entrySubject(space, member, 'ops'), copySubject(space, member, 'ops')]) {
      for (const size of [1, 5]) {
        done(
          await publishBatch({
            connection,
            messages: Array.from({ length: size }, () => ({ subject, data })),
            timeoutMs,
          }),
        );
      }
    }
    const { members, acl } = buckets(space);
    for (const [bucket, key, value] of [
      [members, `ops/${memberKey(member)}`, { state: 'active', n }],
      [acl, memberKey(member), { retired: true, retiredAt: n, revision: n }],
    ] as const) {
      done(await writeRow({ connection, bucket, key, value, timeoutMs }));
    }
  }
  await connection.close();
}

let failed = false;
for (const durability of ['strict', 'relaxed'] as const) {
  const mesh = await startMesh({ durability });
  try {
    const acks = acknowledgements(readTrace(await traced(mesh, () => store(mesh))));
    const early = acks.filter(({ unsynced }) => unsynced.length > 0);
    const of = (stream: string) => acks.filter((ack) => ack.stream === stream).length;
    const { chat, inbox, dlv } = streams(mesh.space);
    const counts = { [chat]: of(chat), [inbox]: of(inbox), [dlv]: of(dlv), all: acks.length };
    const figures = { durability, server: mesh.binary.version, acknowledged: counts, beforeSync: early.length };
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    const complete =
      of(chat) >= ROUNDS && of(inbox) >= 2 * ROUNDS && of(dlv) >= 2 * ROUNDS && acks.length >= 7 * ROUNDS;
    const good = complete && (durability === 'strict' ? early.length === 0 : early.length > 0);
    if (good) continue;
    failed = true;
    const first = early[0] === undefined ? 'too few acknowledgements were seen' : JSON.stringify(early[0]);
    process.stdout.write(`✗ ${durability}: ${first}\n`);
  } finally {
    await mesh.dispose();
  }
}
process.stdout.write(failed ? '✗ power cut: not shown\n' : '✓ nothing is acknowledged before it is synced\n');
process.exit(failed ? 1 : 0);
