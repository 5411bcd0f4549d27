/**
 * Takes nats-server from Debian's testing suite without touching the system: apt works on private lists, a private
 * status file and a private cache, needs no root, and verifies signatures with the archive keyring. The mirror is the
 * machine's own, read from its sources files.
 */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const SUITE = 'testing';
const run = promisify(execFile);

export interface DebianRequest {
  /** Path that the executable gets, by one rename. */
  readonly into: string;
  readonly progress: (line: string) => void;
}

/** @throws Error with what failed: not Debian, no mirror, no keyring, what apt said. */
export async function fetchFromDebian({ into, progress }: DebianRequest): Promise<void> {
  if (!/^ID=debian$/m.test(readIfThere('/etc/os-release'))) throw new Error('this is not a Debian system');
  if (!existsSync(KEYRING)) throw new Error('the archive keyring is not installed');
  const mirror = mirrorIn([
    ...globSync('/etc/apt/sources.list.d/*.sources').map(readIfThere),
    ...['/etc/apt/sources.list', ...globSync('/etc/apt/sources.list.d/*.list')].map(readIfThere),
  ]);
  if (mirror === undefined) throw new Error('no Debian mirror in the sources of this machine');

  mkdirSync(dirname(into), { recursive: true });
  const work = mkdtempSync(join(dirname(into), '.debian-'));
  try {
    const inside = (...parts: string[]) => join(work, ...parts);
    mkdirSync(inside('lists', 'partial'), { recursive: true });
    mkdirSync(inside('cache', 'archives', 'partial'), { recursive: true });
    writeFileSync(inside('status'), '');
    writeFileSync(inside('sources.list'), `deb [signed-by=${KEYRING}] ${mirror} ${SUITE} main\n`);
    const options = {
      'Dir::Etc::sourcelist': inside('sources.list'),
      'Dir::Etc::sourceparts': '/dev/null',
      'Dir::State::Lists': inside('lists'),
      'Dir::State::status': inside('status'),
      'Dir::Cache': inside('cache'),
      'APT::Sandbox::User': '',
      'Acquire::Languages': 'none',
    };
    const apt = (...args: string[]) =>
      run('apt-get', [...Object.entries(options).flatMap(([key, value]) => ['-o', `${key}=${value}`]), ...args], {
        cwd: work,
        timeout: 300_000,
        env: { ...process.env, LC_ALL: 'C' },
      });
    progress("reading the package list of Debian's testing suite …");
    await apt('update');
    progress("downloading nats-server from Debian's testing suite …");
    await apt('download', 'nats-server');
    const archive = readdirSync(work).find((name) => /^nats-server_.*\.deb$/.test(name));
    if (archive === undefined) throw new Error('apt-get downloaded nothing');
    await run('dpkg-deb', ['-x', inside(archive), inside('unpacked')]);
    const binary = globSync('{usr/sbin,usr/bin}/nats-server', { cwd: inside('unpacked') })[0];
    if (binary === undefined) throw new Error(`${archive} has no nats-server in it`);
    copyFileSync(inside('unpacked', binary), inside('ready'));
    chmodSync(inside('ready'), 0o755);
    renameSync(inside('ready'), into);
    progress('nats-server is in place');
  } catch (error) {
    throw new Error(lastLineOf(error));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * The Debian mirror among the texts of apt's sources files, in both of their forms. The security archive has no testing
 * suite of its own worth the name and is passed over; so are sources of other distributions and vendors.
 */
export function mirrorIn(sources: readonly string[]): string | undefined {
  const uris = sources.flatMap((text) => [
    ...[...text.matchAll(/^URIs:\s*(.+)$/gim)].flatMap((match) => (match[1] ?? '').trim().split(/\s+/)),
    ...[...text.matchAll(/^deb\s+(?:\[[^\]]*\]\s+)?(\S+)/gm)].map((match) => match[1] ?? ''),
  ]);
  return uris.find((uri) => /^(https?|mirror\+\w+|file|copy):.*\/debian\/?$/.test(uri));
}

const readIfThere = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');

function lastLineOf(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message?: string };
  const lines = (stderr ?? '').split('\n').filter((line) => line.trim() !== '');
  return lines.at(-1) ?? message ?? String(error);
}
