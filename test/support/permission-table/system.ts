import type { Part } from './words.ts';

export const observer: Part = {
  publish: [['connections of the account', (facts) => [`$SYS.REQ.ACCOUNT.${facts.account}.CONNZ`]]],
  subscribe: [],
  neverPublish: [
    ['connections of another account', (facts) => [`$SYS.REQ.ACCOUNT.${facts.systemAccount}.CONNZ`]],
    [
      'kicking, claims, anything else of the server',
      (facts) => [
        '$SYS.REQ.SERVER.X.KICK',
        '$SYS.REQ.CLAIMS.UPDATE',
        '$SYS.REQ.CLAIMS.DELETE',
        '$SYS.REQ.SERVER.PING',
        `$SYS.REQ.ACCOUNT.${facts.account}.INFO`,
      ],
    ],
  ],
  neverSubscribe: [['events of the server', () => ['$SYS.>', '$SYS.ACCOUNT.*.CONNECT', '>']]],
};

export const evictor: Part = {
  publish: [['kicking', () => ['$SYS.REQ.SERVER.X.KICK']]],
  subscribe: [],
  neverPublish: [
    [
      'connections, claims, other commands of a server',
      (facts) => [
        `$SYS.REQ.ACCOUNT.${facts.account}.CONNZ`,
        '$SYS.REQ.CLAIMS.UPDATE',
        '$SYS.REQ.SERVER.X.RELOAD',
        '$SYS.REQ.SERVER.X.LDM',
      ],
    ],
  ],
  neverSubscribe: [['events of the server', () => ['$SYS.>', '>']]],
};

export const claims: Part = {
  publish: [['a new account JWT', () => ['$SYS.REQ.CLAIMS.UPDATE']]],
  subscribe: [],
  neverPublish: [
    [
      'deleting, listing, everything else',
      () => ['$SYS.REQ.CLAIMS.DELETE', '$SYS.REQ.CLAIMS.LIST', '$SYS.REQ.SERVER.X.KICK'],
    ],
  ],
  neverSubscribe: [['events of the server', () => ['$SYS.>', '>']]],
};

export const health: Part = {
  publish: [['how the stores of a server are', () => ['$SYS.REQ.SERVER.PING.HEALTHZ']]],
  subscribe: [],
  neverPublish: [
    [
      'connections, claims, accounts, what else a server tells or does',
      (facts) => [
        `$SYS.REQ.ACCOUNT.${facts.account}.CONNZ`,
        '$SYS.REQ.CLAIMS.UPDATE',
        '$SYS.REQ.SERVER.PING',
        '$SYS.REQ.SERVER.PING.JSZ',
        '$SYS.REQ.SERVER.PING.VARZ',
        '$SYS.REQ.SERVER.X.KICK',
        '$SYS.REQ.SERVER.X.RELOAD',
      ],
    ],
  ],
  neverSubscribe: [['events of the server', () => ['$SYS.>', '>']]],
};
