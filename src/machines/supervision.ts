/**
 * Who is whose child, in which order children start, and what happens when one of them ends. Data: the system machine
 * starts and restarts by it, and `diagrams/system.svg` is drawn from it.
 */

/** What a parent does when a child has ended. */
export type Restart =
  /** Always started again. */
  | 'always'
  /** Started again with back-off; its faults never reach the parent. */
  | 'backoff'
  /** Its end is the parent's end. */
  | 'never'
  /** One for each thing of its kind, started and ended with it. */
  | 'per-item';

export interface Supervised {
  /** Name of the machine in the catalogue, or of an actor that is no machine. */
  readonly name: string;
  readonly restart: Restart;
  /** What it looks after, in a few words. */
  readonly about: string;
  /** What an item is, where there is one child for each. */
  readonly per?: string;
  /** In the order in which they start; they stop in reverse. */
  readonly children?: readonly Supervised[];
}

/** A root of actors of its own: a process, or an object in a hosting. */
export interface Root extends Supervised {
  readonly runsIn: string;
}

export const supervision: readonly Root[] = [
  {
    name: 'system',
    runsIn: 'the daemon process',
    restart: 'never',
    about: 'start order, exit reason',
    children: [
      { name: 'brokerWatch', restart: 'never', about: 'window ∥ backstop of an outage' },
      { name: 'credential', restart: 'never', about: 'renewal, proof, expiry' },
      {
        name: 'daemon',
        restart: 'never',
        about: 'the order of the start, serving, draining',
        children: [
          { name: 'lease', restart: 'never', about: 'one daemon serves a space' },
          {
            name: 'registry',
            restart: 'always',
            about: 'one membership actor for each row in transition',
            children: [
              { name: 'membership', restart: 'per-item', per: 'row in transition', about: 'join, catch-up, leave' },
            ],
          },
          { name: 'fanout', restart: 'always', about: 'copies of each post' },
          {
            name: 'reader',
            restart: 'always',
            about: 'lanes where something is pending',
            children: [
              { name: 'inventory', restart: 'always', about: 'one reading for all that wait for their place' },
              { name: 'lane', restart: 'per-item', per: 'member', about: 'authorize, hand off, await, remove' },
            ],
          },
          { name: 'rails', restart: 'always', about: 'bind late, unbind first' },
        ],
      },
      { name: 'timerWriter', restart: 'backoff', about: 'checkpoint timers' },
    ],
  },
  {
    name: 'manager',
    runsIn: 'the manager process',
    restart: 'never',
    about: 'lifecycles and credentials',
    children: [
      { name: 'nameWait', restart: 'per-item', per: 'first dial', about: 'until a name resolves' },
      { name: 'railWait', restart: 'per-item', per: 'question', about: 'until the rail answers' },
      { name: 'storeProof', restart: 'never', about: 'the same store on both sides' },
      { name: 'gateRepair', restart: 'never', about: 'a frozen registration gate' },
      { name: 'registration', restart: 'never', about: 'freeze, clear, commit, reopen' },
      {
        name: 'family',
        restart: 'per-item',
        per: 'freeze',
        about: 'revoked, then verified gone',
        children: [{ name: 'eviction', restart: 'per-item', per: 'family', about: 'holders, 256 a request' }],
      },
      { name: 'renewal', restart: 'always', about: 're-signs standing credentials' },
      { name: 'retirement', restart: 'per-item', per: 'lifecycle', about: 'the terminal steps' },
      { name: 'attach', restart: 'per-item', per: 'session', about: 'one serving holder' },
    ],
  },
  {
    name: 'launcher',
    runsIn: 'cotal up, in the foreground',
    restart: 'never',
    about: 'broker, daemon, manager',
    children: [
      { name: 'child', restart: 'backoff', about: 'a process; the daemon is restarted while our broker lives' },
      { name: 'stop', restart: 'never', about: 'the one stop everyone shares' },
    ],
  },
  {
    name: 'NodeDO',
    runsIn: 'workerd',
    restart: 'never',
    about: 'a hosted node',
    children: [
      { name: 'providerSocket', restart: 'per-item', per: 'socket', about: 'registered on this very connection' },
      { name: 'reaper', restart: 'always', about: 'silent peers' },
    ],
  },
  {
    name: 'door',
    runsIn: 'any process, with --inspect or --http',
    restart: 'per-item',
    per: 'loopback port',
    about: 'inspector, metrics: shows, never touches',
  },
  {
    name: 'providerLink',
    runsIn: 'cotal provider',
    restart: 'per-item',
    per: 'hosted node',
    about: 'a link to a hosted node',
  },
  { name: 'repairRun', runsIn: 'cotal repair', restart: 'never', about: 'the human-run repair' },
  {
    name: 'durableMembership',
    runsIn: 'an agent',
    restart: 'per-item',
    per: 'channel',
    about: 'live first, durable when it can be',
  },
];
