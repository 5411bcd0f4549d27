/** What a provider link needs from the world. */

/** One socket. Nothing is told any more once it was closed from here. */
export interface Wire {
  /** Resolves when the system has the text, or says why it never will: not within `timeoutMs`, or the socket is gone. */
  send(of: { text: string; timeoutMs: number }): Promise<{ kind: 'written' } | { kind: 'failed'; why: string }>;
  /** Closes it for good, an opening one too. */
  close(): void;
}

export interface WireListener {
  opened(): void;
  /** A whole text frame; anything else for a binary one. */
  message(data: unknown): void;
  /** The upgrade was answered with something else. */
  turnedAway(status: number): void;
  /** Before it was open. `code` is the system's: ECONNREFUSED. */
  failed(of: { code: string; message: string }): void;
  closed(of: { code: number; reason: string }): void;
}

export interface Dialer {
  /** Neither the address nor the token is ever told to anybody else. */
  dial(of: { token: string; listener: WireListener }): Wire;
}

export type TokenAnswer =
  | { readonly kind: 'token'; readonly token: string }
  /** There will be none: asking again is of no use. */
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }
  | { readonly kind: 'unavailable'; readonly code: string; readonly message: string };

export interface TokenSource {
  /** `renew`: the one that was given last was refused. One try; whoever asks decides about the next. */
  read(of: { renew: boolean; signal: AbortSignal }): Promise<TokenAnswer>;
}

/** Agents as the node's workspace knows them, over HTTP. */
export interface Directory {
  find(of: {
    name: string;
    signal: AbortSignal;
  }): Promise<
    | { kind: 'found'; agentId: string; node: string | null; provider: string; isLocated: boolean }
    | { kind: 'absent' }
    | { kind: 'unavailable'; code: string }
  >;
  /** Binds an agent that is nowhere yet to this node. */
  bind(of: {
    name: string;
    signal: AbortSignal;
  }): Promise<
    | { kind: 'bound'; agentId: string; provider: string }
    | { kind: 'refused'; code: string }
    | { kind: 'unavailable'; code: string }
  >;
}

/** What came for one agent, in order, each once on this connection. */
export interface Delivery {
  readonly agentId: string;
  /** The agent's name at the node. */
  readonly agent: string;
  readonly seq: number;
  readonly msgId: string;
  readonly mode: 'wait' | 'steer';
  readonly payload: { readonly type: string; readonly data: unknown };
  /** It was surfaced by this process before, on another connection. */
  readonly isRepeat: boolean;
  /** Aborted when its connection ends: it will come again, and confirming this one is of no use. */
  readonly ended: AbortSignal;
  /** It surfaced. Acknowledged together with everything below it, on this connection and no other. */
  confirm(): void;
}

/** Whoever surfaces what comes. */
export interface Deliveries {
  take(delivery: Delivery): void;
}
