/** `cotal inspect`: opens the page of a process that runs with `--inspect`, or says where it is. */
import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { type Address, type Inspected, inspected, readAddress, urlOf } from '../inspector/address.ts';
import { STATELY } from '../inspector/inspector.ts';
import { cotalFolder } from '../services/local/auth-store.ts';
import { SECRET_FILE } from '../services/local/files.ts';
import type { ExitCode } from './failure.ts';
import { oneOf } from './flags.ts';
import { type Define, examples } from './frame.ts';
import type { Place } from './place.ts';

interface InspectFlags {
  readonly stately?: boolean;
  readonly open: boolean;
}

const ANSWER_MS = 5_000;

export const define: Define = (command, frame) => {
  command
    .argument(
      '[process]',
      `whose machines: ${inspected.join(', ')} (default: the first of these that runs with --inspect)`,
      oneOf('process', inspected),
    )
    .option('--no-open', 'only say where it is')
    .option('--stately', "Stately's own inspector in place of our page: it is loaded from stately.ai");
  command.action(
    frame.action(async (call, wanted: Inspected | undefined, flags: InspectFlags): Promise<ExitCode> => {
      const place = call.place();
      const running = await answering(place);
      const [what, address] = choose(place, running, wanted);
      const url = `${urlOf(address)}${flags.stately === true ? 'stately' : ''}`;
      const opened = flags.open && !call.out.json && openPage(place, url);
      const others = [...running.keys()].filter((name) => name !== what);
      call.out.answer(
        { process: what, pid: address.pid, url, opened, others },
        [
          opened
            ? `✓ the inspector of ${what} (pid ${address.pid}) opens in your browser:`
            : `the inspector of ${what} (pid ${address.pid}):`,
          `  ${url}`,
          '  Whoever has this address may look, on this machine alone, until the process ends. Nobody can change anything.',
          ...(flags.stately === true
            ? [
                `  The page hands what it sees, secrets removed, to ${STATELY}/inspect in a frame: it needs the internet.`,
              ]
            : []),
          ...(others.length === 0
            ? []
            : [`  Also to be seen: ${others.map((name) => `cotal inspect ${name}`).join(', ')}`]),
        ].join('\n'),
      );
      return 0;
    }),
  );
  examples(command, 'cotal up --inspect', 'cotal inspect', 'cotal inspect up --no-open', 'cotal inspect --stately');
};

/** Processes of the place whose inspector answers now. */
async function answering({ root, space }: Place): Promise<Map<Inspected, Address>> {
  const found = new Map<Inspected, Address>();
  for (const what of inspected) {
    const address = readAddress({ root, what, space });
    if (address !== undefined && (await answers(address))) found.set(what, address);
  }
  return found;
}

async function answers(address: Address): Promise<boolean> {
  try {
    return (await fetch(urlOf(address), { method: 'HEAD', signal: AbortSignal.timeout(ANSWER_MS) })).ok;
  } catch {
    return false;
  }
}

function choose(
  { root, space }: Place,
  running: ReadonlyMap<Inspected, Address>,
  wanted: Inspected | undefined,
): readonly [Inspected, Address] {
  const [first] = running;
  if (first === undefined) throw new Plane3Error('inspect.none', { space, root });
  if (wanted === undefined) return first;
  const address = running.get(wanted);
  if (address !== undefined) return [wanted, address];
  throw new Plane3Error('inspect.other', { what: wanted, space, running: [...running.keys()].join(', ') });
}

/**
 * Opens the browser where there is one to open: at a terminal, with a desktop. The address has a token in it and the arguments
 * of a process can be read by everybody on the machine, so the browser is given a file, readable by its owner alone, that leads there.
 */
function openPage({ root }: Place, url: string): boolean {
  const isMac = process.platform === 'darwin';
  const hasDesktop = isMac || process.env.DISPLAY !== undefined || process.env.WAYLAND_DISPLAY !== undefined;
  if (process.stdout.isTTY !== true || !hasDesktop) return false;
  const page = join(cotalFolder(root), 'inspect.html');
  rmSync(page, { force: true });
  writeFileSync(page, `<!doctype html><meta http-equiv="refresh" content="0; url=${url}" />\n`, { mode: SECRET_FILE });
  const browser = spawn(isMac ? 'open' : 'xdg-open', [page], { stdio: 'ignore', detached: true });
  browser.on('error', () => {});
  browser.unref();
  return browser.pid !== undefined;
}
