/** The inspector as a person has it: a mesh that was started with --inspect, its page in a real Chromium. */
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM_MS, openChromium } from '../support/chromium.ts';
import { until } from '../support/until.ts';
import { Workstation } from '../support/workstation.ts';

const ARTIFACTS = fileURLToPath(new URL('../../test-artifacts', import.meta.url));
/** The broker may be away for as long as a loaded machine needs to start another one. */
const PATIENT = { COTAL_DELIVERY_BROKER_GONE_MS: '120000', COTAL_DELIVERY_BROKER_GONE_BACKSTOP_MS: '240000' };
const WAIT_MS = 90_000;

let browser: Browser;
let workstation: Workstation;
let page: Page;
/** Everything that came over the socket, and where the page asked. */
const heard: string[] = [];
const requests: string[] = [];
const complaints: string[] = [];

beforeAll(async () => {
  browser = await openChromium();
  await mkdir(ARTIFACTS, { recursive: true });
}, CHROMIUM_MS);
afterAll(async () => {
  await browser?.close();
});
afterEach(async () => {
  await page?.close();
  await workstation?.dispose();
});

/** Seeds, tokens and keys of everything that lies under the workstation's roots. */
function secretsOf(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.flatMap(({ parentPath, name }) => {
    const text = readFileSync(join(parentPath, name), 'latin1');
    return [...text.matchAll(/\bS[UAO][A-Z2-7]{56}\b|eyJ[\w-]{20,}\.[\w-]+\.[\w-]+/g)].map(([secret]) => secret);
  });
}

async function openPage(url: string): Promise<Page> {
  const opened = await browser.newPage({ viewport: { width: 1500, height: 950 } });
  opened.setDefaultTimeout(WAIT_MS);
  opened.on('request', (request) => requests.push(request.url()));
  opened.on('pageerror', (error) => complaints.push(error.message));
  opened.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  opened.on('websocket', (socket) => {
    socket.on('framereceived', ({ payload }) => heard.push(String(payload)));
    socket.on('framesent', ({ payload }) => complaints.push(`the page sent ${payload}`));
  });
  await opened.goto(url);
  return opened;
}

const stateOf = (actor: string) => page.locator(`#tree button[data-actor="${actor}"] .state`).textContent();
const shows = (actor: string, state: string) =>
  until(
    async () => (await stateOf(actor))?.includes(state),
    async () => `${actor} is not seen in ${state}:\n${await page.textContent('body')}\n${workstation.log()}`,
    WAIT_MS,
  );
const litStates = () =>
  page.locator('#chart g.node.lit > title').evaluateAll((titles) => titles.map(({ textContent }) => textContent));

describe('the inspector in a browser', () => {
  it('shows brokerWatch go to Disconnected when the broker is killed, and back when it is there again', async () => {
    workstation = new Workstation(PATIENT);
    const up = await workstation.run(['up', '--detach', '--port', 0, '--inspect', '--json']);
    expect(up, up.stderr).toMatchObject({ code: 0 });
    const inspect = await workstation.run(['inspect', '--json']);
    expect(inspect, inspect.stderr).toMatchObject({ code: 0 });
    const { url, process: what } = inspect.json<{ url: string; process: string }>();
    expect(what).toBe('delivery');

    page = await openPage(url);
    await shows('brokerWatch', 'Connected');
    await shows('daemon', 'Serving');
    await page.click('#tree button[data-actor="brokerWatch"]');
    await until(async () => (await litStates()).join() === 'Connected', litStates, WAIT_MS);
    await page.screenshot({ path: join(ARTIFACTS, 'inspector-connected.png') });

    process.kill(workstation.recorded('broker') ?? Number.NaN, 'SIGKILL');
    await shows('brokerWatch', 'Disconnected');
    await until(
      async () => (await litStates()).some((state) => state?.startsWith('Disconnected.')),
      litStates,
      WAIT_MS,
    );
    await page.screenshot({ path: join(ARTIFACTS, 'inspector-disconnected.png') });

    const again = await workstation.run(['up', '--detach', '--inspect', '--json']);
    expect(again, again.stderr).toMatchObject({ code: 0 });
    await shows('brokerWatch', 'Connected');
    await shows('daemon', 'Serving');
    await page.screenshot({ path: join(ARTIFACTS, 'inspector-back.png') });

    // Back in time: it was away, and the page still knows.
    await page.fill('#filter', 'broker.disconnected');
    // Rows from before the filter may still be there for a moment: the event is named here too.
    const row = page
      .locator('#steps tr', { hasText: 'brokerWatch' })
      .filter({ hasText: 'broker.disconnected' })
      .first();
    await row.click();
    await until(async () => (await stateOf('brokerWatch'))?.includes('Disconnected'), 'the past is not shown', WAIT_MS);
    expect(await page.locator('#pause').textContent()).toBe('Paused');
    await page.screenshot({ path: join(ARTIFACTS, 'inspector-back-in-time.png') });
    await page.fill('#filter', '');
    await page.click('#live');
    await shows('brokerWatch', 'Connected');

    const seen = [await page.content(), ...heard].join('\n');
    // The broker works on: a file of its store that was listed may have another name when it is read.
    const secrets = await until(() => secretsOf(workstation.folder), 'its files change all the time');
    expect(secrets.length).toBeGreaterThan(3);
    for (const secret of [...secrets, new URL(url).pathname.split('/')[1] ?? '']) expect(seen).not.toContain(secret);
    expect(requests.filter((asked) => !asked.startsWith(new URL(url).origin))).toEqual([]);
    expect(complaints).toEqual([]);
    expect((await workstation.run(['down'])).code).toBe(0);
  }, 240_000);
});
