/**
 * The inspector of a process: its page, the charts that the page lights up, and the socket of what was seen. Every path begins
 * with the token of this run; without it there is nothing, not even the page. It shows, and never touches.
 *
 *   /<token>/                the page
 *   /<token>/chart/<name>    drawing of a machine of the catalogue
 *   /<token>/socket          what was seen, for the page
 *   /<token>/socket?whole    the same with definitions and events, for Stately's own inspector
 *   /<token>/stately         a page that holds Stately's own inspector and hands it what was seen
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { catalogue, chartFile } from '../machines/catalogue.ts';
import type { Ring } from './ring.ts';
import { type Answer, refusal, type Site } from './site.ts';
import { type ViewerBounds, Viewers } from './viewers.ts';

export interface InspectorOptions {
  /** What runs: delivery, up, manager … */
  readonly process: string;
  readonly space: string;
  readonly ring: Ring;
  readonly bounds?: Partial<ViewerBounds>;
}

/** Where Stately keeps its own inspector. Nothing is fetched from there unless a person opens `/stately`. */
export const STATELY = 'https://stately.ai';
const MOST_MESSAGE = 1_024;

const own =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const pages: Readonly<Record<string, readonly [file: string, type: string, policy: string]>> = {
  '': ['inspector.html', 'text/html; charset=utf-8', own],
  'inspector.css': ['inspector.css', 'text/css; charset=utf-8', own],
  'inspector.js': ['inspector.js', 'text/javascript; charset=utf-8', own],
  'history.js': ['history.js', 'text/javascript; charset=utf-8', own],
  'chart.js': ['chart.js', 'text/javascript; charset=utf-8', own],
  'tree.js': ['tree.js', 'text/javascript; charset=utf-8', own],
  'element.js': ['element.js', 'text/javascript; charset=utf-8', own],
  stately: ['stately.html', 'text/html; charset=utf-8', `${own}; frame-src ${STATELY}`],
  'stately.js': ['stately.js', 'text/javascript; charset=utf-8', own],
};
const charts: ReadonlySet<string> = new Set(catalogue.map(({ name }) => name));
const here = (path: string): URL => new URL(path, import.meta.url);

export class Inspector implements Site {
  readonly token = randomBytes(24).toString('base64url');
  readonly viewers: Viewers;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MOST_MESSAGE,
    perMessageDeflate: false,
  });

  constructor({ process: name, space, ring, bounds }: InspectorOptions) {
    this.viewers = new Viewers({
      ring,
      hello: () => ({
        type: '@plane3.hello',
        process: name,
        space,
        pid: process.pid,
        last: ring.last,
        dropped: ring.dropped,
      }),
      ...(bounds === undefined ? {} : { bounds }),
    });
  }

  async answer(path: string): Promise<Answer | undefined> {
    const { rest } = this.#admitted(path);
    if (rest === undefined) return NO_TOKEN;
    const page = Object.hasOwn(pages, rest) ? pages[rest] : undefined;
    if (page !== undefined) {
      const [file, type, policy] = page;
      return {
        status: 200,
        type,
        body: await readFile(here(`page/${file}`)),
        headers: { 'Content-Security-Policy': policy },
      };
    }
    const [, chart] = /^chart\/([\w-]+)$/.exec(rest) ?? [];
    if (chart === undefined || !charts.has(chart)) return undefined;
    return {
      status: 200,
      type: 'image/svg+xml',
      body: await readFile(here(`../../diagrams/${chartFile(chart)}`)),
      headers: { 'Content-Security-Policy': own },
    };
  }

  upgrade(path: string, request: IncomingMessage, socket: Duplex, head: Buffer): Answer | undefined {
    const { rest, query } = this.#admitted(path);
    if (rest === undefined) return NO_TOKEN;
    if (rest !== 'socket') return refusal(404, 'there is nothing here');
    if (this.viewers.isFull) return refusal(503, 'enough are watching');
    this.#sockets.handleUpgrade(request, socket, head, (open) => {
      this.viewers.add(open, socket, { whole: query === 'whole' });
    });
    return undefined;
  }

  close(): void {
    this.viewers.close();
  }

  /** What stands after the token; nothing where that is missing or another one. */
  #admitted(path: string): { rest?: string; query?: string } {
    const [, given = '', rest, query = ''] = /^\/([^/?]*)\/([^?]*)(?:\?(.*))?$/.exec(path) ?? [];
    return rest !== undefined && isSame(given, this.token) ? { rest, query } : {};
  }
}

const NO_TOKEN = refusal(403, 'without the token there is nothing to see: "cotal inspect" knows it');

const digest = (text: string) => createHash('sha256').update(text).digest();
const isSame = (one: string, other: string): boolean => timingSafeEqual(digest(one), digest(other));
