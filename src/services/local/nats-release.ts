/** Downloads nats-server from the project's own releases. Nothing is kept that does not match the release's SHA256SUMS. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

export const RELEASE = '2.14.0';
const RELEASES = 'https://github.com/nats-io/nats-server/releases/download';
const ARCHES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64', arm: 'arm7', ia32: '386' };
const run = promisify(execFile);

export interface ReleaseRequest {
  /** Path that the executable gets, by one rename. */
  readonly into: string;
  readonly progress: (line: string) => void;
  /** `<releases>/v<version>/<file>`; a mirror or a test's own server. */
  readonly releases?: string;
}

/** @throws Error with what failed: no build for the platform, no answer, a checksum that is missing or differs. */
export async function fetchRelease({ into, progress, releases = RELEASES }: ReleaseRequest): Promise<void> {
  const arch = ARCHES[process.arch];
  if (arch === undefined || !['linux', 'darwin'].includes(process.platform)) {
    throw new Error(`no release for ${process.platform}-${process.arch}`);
  }
  const name = `nats-server-v${RELEASE}-${process.platform}-${arch}`;
  const file = `${name}.tar.gz`;
  const base = `${releases}/v${RELEASE}`;
  progress(`downloading nats-server ${RELEASE} …`);
  const sums = new TextDecoder().decode(await download(`${base}/SHA256SUMS`, 'SHA256SUMS'));
  const want = checksumOf(sums, file);
  if (want === undefined) throw new Error(`SHA256SUMS of the release has no line for ${file}`);
  const archive = await download(`${base}/${file}`, file);
  const have = createHash('sha256').update(archive).digest('hex');
  if (have !== want) throw new Error(`${file} has SHA-256 ${have}, the release says ${want}`);

  mkdirSync(dirname(into), { recursive: true });
  const work = mkdtempSync(join(dirname(into), '.release-'));
  try {
    writeFileSync(join(work, file), archive);
    await run('tar', ['-xzf', file], { cwd: work });
    chmodSync(join(work, name, 'nats-server'), 0o755);
    renameSync(join(work, name, 'nats-server'), into);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  progress(`nats-server ${RELEASE} is in place`);
}

/** The SHA-256 that a SHA256SUMS file gives for `file`. */
const checksumOf = (sums: string, file: string): string | undefined =>
  sums
    .split('\n')
    .map((line) => /^([0-9a-f]{64})\s+\*?(.+?)\s*$/i.exec(line))
    .find((match) => match?.[2] === file)?.[1]
    ?.toLowerCase();

async function download(url: string, what: string): Promise<Uint8Array> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(120_000) });
    if (!answer.ok) throw new Error(`answer ${answer.status}`);
    return new Uint8Array(await answer.arrayBuffer());
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new Error(`${what} could not be downloaded: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}
