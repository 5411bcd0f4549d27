/**
 * A real Chromium for the browser tests, brought by the tests themselves: the one that COTAL_CHROMIUM names, else one on the
 * PATH, else Debian's package, installed where we may install. Headless, with nothing that calls out.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** An installation may have to wait for another one on the same machine. */
const LOCK = ['-o', 'DPkg::Lock::Timeout=300'];

/** Longest that an installation and a start take; for the hook that calls. */
export const CHROMIUM_MS = 600_000;

export async function openChromium(): Promise<Browser> {
  const executablePath = find() ?? install();
  return chromium.launch({ executablePath, args: ARGUMENTS, headless: true, timeout: 120_000 });
}

function find(): string | undefined {
  const told = process.env.COTAL_CHROMIUM;
  if (told !== undefined) return told;
  const folders = (process.env.PATH ?? '').split(delimiter).concat('/usr/bin');
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path));
}

function install(): string {
  process.stderr.write('• browser tests: installing Debian’s chromium (once on a machine, a minute or two) …\n');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const tried: string[] = [];
  for (const words of [
    ['update', '-qq'],
    ['install', '-y', '-qq', '--no-install-recommends', 'chromium'],
  ]) {
    const run = spawnSync('apt-get', [...LOCK, ...words], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    tried.push(`apt-get ${words.join(' ')}: ${run.error?.message ?? `exit ${run.status}`} ${run.stderr ?? ''}`);
  }
  const found = find();
  if (found !== undefined) return found;
  throw new Error(
    `no Chromium: set COTAL_CHROMIUM to one, or install Debian's package "chromium" as root.\n${tried.join('\n')}`,
  );
}
