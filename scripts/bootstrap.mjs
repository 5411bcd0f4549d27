// Runs a command of this project from a bare clone, with nothing prepared.
//
//   node scripts/bootstrap.mjs <command> [arguments…]
//
// Plain JavaScript without dependencies, because it runs before there are any, on the node that the system has.
//   1. installs the dependencies when they are missing or older than the lockfile;
//   2. installs the nats-server package when npm left it out because the system's node was too old for it;
//   3. runs the command with the project's own node first on PATH, hands every signal on, and exits as it did.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const modules = join(root, 'node_modules');
const stamp = join(modules, '.plane3-lock');
const installing = join(root, '.installing');
const tools = { ...process.env, PATH: [join(modules, '.bin'), process.env.PATH].join(delimiter) };

const say = (text) => process.stderr.write(`• plane3: ${text}\n`);
const fingerprint = () =>
  createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
const installed = () => existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint();

function npm(args, env) {
  const run = spawnSync('npm', args, { cwd: root, env, stdio: ['ignore', 2, 2] });
  if (run.status === 0) return;
  process.stderr.write(
    `✗ plane3: "npm ${args.join(' ')}" failed (${run.error?.message ?? `exit ${run.status ?? run.signal}`}).\n` +
      '  Nothing was started. See the lines above; when the registry is reachable again, run the same command again.\n',
  );
  process.exit(1);
}

/** One installer at a time: whoever comes second waits for the first, and takes over from a dead one. */
function withInstallLock(work) {
  for (;;) {
    try {
      mkdirSync(installing);
      writeFileSync(join(installing, 'pid'), String(process.pid));
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      const pid = existsSync(join(installing, 'pid')) ? Number(readFileSync(join(installing, 'pid'), 'utf8')) : 0;
      if (pid > 0 && !existsSync(`/proc/${pid}`) && existsSync('/proc'))
        rmSync(installing, { recursive: true, force: true });
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250);
    }
  }
  const release = () => rmSync(installing, { recursive: true, force: true });
  process.once('exit', release);
  work();
  release();
}

if (!installed()) {
  withInstallLock(() => {
    if (installed()) return;
    say('installing dependencies (first run, about a minute) …');
    npm(['ci', '--no-audit', '--no-fund', '--loglevel=error'], process.env);
    if (process.platform === 'linux' && process.arch === 'x64' && !existsSync(join(modules, '@eplightning'))) {
      npm(['install', '--no-audit', '--no-fund', '--no-save', '--loglevel=error'], tools);
    }
    writeFileSync(stamp, fingerprint());
    say('dependencies are in place');
  });
}

const [command, ...args] = process.argv.slice(2);
if (command !== undefined) {
  const child = spawn(command, args, { cwd: process.cwd(), env: tools, stdio: 'inherit' });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'];
  // A terminal sends SIGINT to the whole group: the child has had it already, and must not have it twice.
  const groupSignal = (signal) => process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGHUP');
  for (const signal of signals) process.on(signal, () => groupSignal(signal) || child.kill(signal));
  child.once('error', (error) => {
    process.stderr.write(`✗ plane3: cannot run ${command}: ${error.message}\n`);
    process.exit(127);
  });
  child.once('exit', (code, signal) => process.exit(signal === null ? code : 128 + constants.signals[signal]));
}
