import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findNatsServer, type SearchOptions } from '../../src/services/local/nats-binary.ts';
import { mirrorIn } from '../../src/services/local/nats-debian.ts';
import { RELEASE } from '../../src/services/local/nats-release.ts';

let home: string;
let server: Server | undefined;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'plane3-binary-'));
});
afterEach(() => {
  server?.close();
  server = undefined;
  rmSync(home, { recursive: true, force: true });
});

/** A program that says it is nats-server of this version. */
function fakeServer(folder: string, version: string, says = `nats-server: v${version}`): string {
  const path = join(home, folder, 'nats-server');
  mkdirSync(join(home, folder), { recursive: true });
  writeFileSync(path, `#!/bin/sh\necho '${says}'\n`, { mode: 0o755 });
  return path;
}

const search = (options: SearchOptions, env: Record<string, string> = {}) =>
  findNatsServer({ env: { COTAL_HOME: home, PATH: '', ...env }, ...options });

/** Serves these files under the release's path on a free loopback port. */
async function serveRelease(files: Record<string, Uint8Array | string>): Promise<string> {
  server = createServer((request, response) => {
    const file = files[(request.url ?? '').replace(`/v${RELEASE}/`, '')];
    response.writeHead(file === undefined ? 404 : 200).end(file);
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function releaseFiles(version = RELEASE): { name: string; archive: Buffer; sha: string } {
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch as 'x64' | 'arm64'];
  const name = `nats-server-v${RELEASE}-${process.platform}-${arch}`;
  fakeServer(name, version);
  execFileSync('tar', ['-czf', 'archive.tgz', name], { cwd: home });
  const archive = readFileSync(join(home, 'archive.tgz'));
  return { name: `${name}.tar.gz`, archive, sha: createHash('sha256').update(archive).digest('hex') };
}

describe('the search for a nats-server', () => {
  it('takes what COTAL_NATS_SERVER names before everything else', async () => {
    const path = fakeServer('own', '2.13.4');
    expect(await search({}, { COTAL_NATS_SERVER: path })).toEqual({ path, version: '2.13.4', source: 'env' });
  });

  it('refuses what COTAL_NATS_SERVER names when it is too old, by version, and looks no further', async () => {
    const path = fakeServer('own', '2.9.25');
    await expect(search({}, { COTAL_NATS_SERVER: path })).rejects.toThrow(
      `COTAL_NATS_SERVER names ${path}, which is nats-server 2.9.25; at least 2.12.0 is needed`,
    );
  });

  it.each([
    ['that is missing', 'not there', undefined],
    ['that is another program', 'does not say that it is nats-server', 'hello'],
  ])('refuses a COTAL_NATS_SERVER %s', async (_, reason, says) => {
    const path = says === undefined ? join(home, 'absent') : fakeServer('own', '', says);
    await expect(search({}, { COTAL_NATS_SERVER: path })).rejects.toThrow(reason);
  });

  it('passes over a too old one on PATH and takes the next', async () => {
    fakeServer('old', '2.9.25');
    const path = fakeServer('new', '2.12.0');
    const found = await search({ exactSource: 'path' }, { PATH: `${join(home, 'old')}:${join(home, 'new')}` });
    expect(found).toEqual({ path, version: '2.12.0', source: 'path' });
  });

  it('names the too old one among what was tried when there is no other', async () => {
    const path = fakeServer('old', '2.9.25');
    await expect(search({ exactSource: 'path' }, { PATH: join(home, 'old') })).rejects.toThrow(
      `tried: path (${path}: 2.9.25, too old)`,
    );
  });

  it('lists every place when none has one', async () => {
    const releases = await serveRelease({});
    const failure = await search({ atLeast: '99.0.0', releases }).catch((error: Error) => error.message);
    for (const place of ['env (', 'package (', 'path (', 'home (', 'release (SHA256SUMS', 'debian (']) {
      expect(failure).toContain(place);
    }
  });

  it('fetches a release whose checksum fits, and finds it in the home afterwards', async () => {
    const { name, archive, sha } = releaseFiles();
    const releases = await serveRelease({ SHA256SUMS: `${sha}  ${name}\n`, [name]: archive });
    const lines: string[] = [];
    const fetched = await search({ exactSource: 'release', releases, progress: (line) => lines.push(line) });
    expect(fetched).toEqual({
      path: join(home, 'bin', 'nats-server-release'),
      version: RELEASE,
      source: 'release',
    });
    expect(lines[0]).toContain('downloading nats-server');
    expect((await search({ exactSource: 'home' })).path).toBe(fetched.path);
  });

  it.each([
    ['differs', (name: string) => `${'0'.repeat(64)}  ${name}\n`, 'the release says 000'],
    ['is missing', () => `${'0'.repeat(64)}  something-else\n`, 'has no line for'],
  ])('keeps nothing of a release whose checksum %s', async (_, sums, reason) => {
    const { name, archive } = releaseFiles();
    const releases = await serveRelease({ SHA256SUMS: sums(name), [name]: archive });
    await expect(search({ exactSource: 'release', releases })).rejects.toThrow(reason);
    expect(existsSync(join(home, 'bin')) ? readdirSync(join(home, 'bin')) : []).toEqual([]);
  });
});

describe('the Debian mirror of the machine', () => {
  it.each([
    ['one-line form', 'deb [signed-by=/k.gpg] http://mirror.test/debian bookworm main', 'http://mirror.test/debian'],
    ['deb822 form', 'Types: deb\nURIs: https://mirror.test/debian/\nSuites: bookworm', 'https://mirror.test/debian/'],
    ['a comment', '# deb http://mirror.test/debian bookworm main', undefined],
    ['the security archive', 'URIs: http://mirror.test/debian-security', undefined],
    ['a vendor', 'deb http://vendor.test/apt stable main', undefined],
  ])('reads %s', (_, text, expected) => {
    expect(mirrorIn(['', text])).toBe(expected);
  });
});
