/** Who comes to a broker through a proxy: what each client presents itself with in its CONNECT, and who is turned away. */
import type { Socket } from 'node:net';

/** What a client said of itself in its CONNECT. */
export interface Presented {
  readonly jwt: string;
  readonly name: string;
  readonly atMs: number;
}

export class Callers {
  /** Every CONNECT that was sent, in order. Empty where TLS hides them. */
  readonly presented: Presented[] = [];
  readonly #refused = new Set<string>();

  /** For `TcpProxy.to`. */
  readonly look = (client: Socket): void => {
    let head = '';
    const read = (data: Buffer) => {
      head += data.toString('latin1');
      const [, json] = /CONNECT (\{.*\})\r\n/.exec(head) ?? [];
      if (json === undefined) return;
      client.off('data', read);
      const { jwt = '', name = '' } = JSON.parse(json) as { jwt?: string; name?: string };
      this.presented.push({ jwt, name, atMs: Date.now() });
      if (this.#refused.has(name)) client.destroy();
    };
    client.on('data', read);
  };

  /** Ends every further connection that presents itself by this name. */
  refuse(name: string): void {
    this.#refused.add(name);
  }
}
