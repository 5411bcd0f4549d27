/** What an agent connects with, and who it then is. */
import { type AgentIdentity, readIdentity } from '../domain/agent-identity.ts';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { parseSpace, parseToken } from '../domain/names.ts';
import { type Credential, readCreds } from '../services/credential.ts';
import type { Journal } from '../services/ports.ts';
import type { Standing } from './memberships.ts';
import type { WatchIntervals } from './plane-watch.ts';

export interface AgentOptions {
  /** Where the broker is: `nats://host:port`. */
  readonly url: string;
  /** Text of the creds file that `cotal agent add` wrote. It names the space and the lifecycle; nothing else has to. */
  readonly creds?: string;
  /**
   * In place of creds on an open mesh (`cotal up --open`), where anybody is whoever they say. Open mode is live-only: nothing
   * is durable, no daemon answers, and a post is stored nowhere.
   */
  readonly open?: { readonly space: string; readonly name: string };
  /** Demands TLS; a plaintext broker is then refused. */
  readonly tls?: { readonly caFile?: string };
  /** Name shown with posts and in presence; the actor's unless told. */
  readonly name?: string;
  /** Says every 2 s that the agent is here, as this kind; not at all unless told. */
  readonly presence?: { readonly kind: string };
  /** Where events go: `openJournal` makes one. Nothing is written unless told. */
  readonly journal?: Journal;
  /** Called whenever what is true of a membership changes. */
  readonly onStanding?: (standing: Standing) => void;
  /** Longest that one question may take, milliseconds; 5000 unless told. */
  readonly timeoutMs?: number;
  /**
   * On a durably joined channel a live post waits this long for its durable copy, so that it surfaces with its sequence;
   * milliseconds, 0 unless told: it surfaces at once, and its copy is recognized.
   */
  readonly preferDurableMs?: number;
  /** How often the plane is looked at; 1 s while a backstop is not established, else 10 s. */
  readonly watch?: WatchIntervals;
  /** Posts that are remembered to recognize what comes again; 10,000 unless told. */
  readonly remembered?: number;
}

/** In open mode a lifecycle is nothing that anybody knows of. */
const OPEN_UID = 'open'.padEnd(26, '0');

/** @throws Plane3Error `client.credential` or `credential.unreadable` for what is no credential of an agent. */
export function whoIs({ creds, open }: AgentOptions): { credential?: Credential; identity: AgentIdentity } {
  if (open !== undefined) {
    const member = { owner: 'local', actor: parseToken(open.name), uid: OPEN_UID };
    return { identity: { space: parseSpace(open.space), member } };
  }
  if (creds === undefined) throw new Plane3Error('client.credential', { reason: 'there is none' });
  const credential = readCreds(creds, '(creds)');
  const identity = readIdentity(credential.claims);
  if (identity === undefined) {
    throw new Plane3Error('client.credential', { reason: 'its rights name no durable of its own' });
  }
  return { credential, identity };
}
