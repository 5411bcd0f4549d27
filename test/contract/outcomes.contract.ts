import { describe, expect, it } from 'vitest';
import type { MemberRow } from '../../src/domain/rows.ts';
import { until } from '../support/until.ts';
import { entryOf, type Ground, type Ports, type Told, type Trouble } from './ground.ts';

const member = { owner: 'local', actor: 'somebody', uid: 'o'.repeat(26) };
const channel = 'ops';
const row: MemberRow = {
  channel,
  owner: 'local.somebody',
  lifecycleUid: member.uid,
  state: 'pending',
  joinCursor: 0,
  generation: 1,
  writerIdentity: 't',
  updatedAt: 1,
};
const lease = {
  holder: 'a.b',
  incarnation: 'i',
  since: 1,
  acquiredAt: 1,
  ready: false,
  proofKey: '',
  proofAttestation: '',
};

interface Call {
  readonly verb: string;
  call(ports: Ports, ground: Ground): Promise<{ kind: string }>;
  /** What it comes to without any right. */
  readonly denied: Told;
  /** What it comes to where the store is not there. */
  readonly missing: Told;
}
/** A read by direct get has no words but silence; a request of the API is denied, or refused by number. */
const read = (verb: string, call: Call['call']): Call => ({ verb, call, denied: 'silent', missing: 'silent' });

const calls: readonly Call[] = [
  read('posts.frontier', ({ posts }) => posts.frontier()),
  read('posts.place', ({ posts }) => posts.place()),
  { verb: 'posts.open', call: ({ posts }) => posts.open({ floor: 0 }), denied: 'denied', missing: 'refused' },
  read('posts.range', ({ posts }) => posts.range({ channel, after: 0, upTo: 9 }, async () => true)),
  read('posts.between', ({ posts }) => posts.between({ after: 0, upTo: 9 })),
  read('posts.last', ({ posts }) => posts.last({ channel, limit: 3 })),
  read('posts.fullSubjects', ({ posts }) => posts.fullSubjects()),
  {
    verb: 'entries.storeAll',
    call: ({ entries }, { space }) => entries.storeAll({ entries: [entryOf(space, member, { channel, seq: 1 })] }),
    denied: 'denied',
    missing: 'silent',
  },
  {
    verb: 'entries.storeEach',
    call: ({ entries }, { space }) => entries.storeEach({ entries: [entryOf(space, member, { channel, seq: 1 })] }),
    denied: 'denied',
    missing: 'silent',
  },
  read('entries.page', ({ entries }) => entries.page({ member, after: 0, limit: 3 })),
  read('entries.at', ({ entries }) => entries.at({ member, seqs: [1] })),
  read('entries.at', ({ entries }) => entries.at({ member, seqs: [1, 1_000] })),
  read('entries.pageOfAll', ({ entries }) => entries.pageOfAll({ after: 0, limit: 3 })),
  {
    verb: 'entries.remove',
    call: ({ entries }) => entries.remove({ seqs: [1] }),
    denied: 'denied',
    missing: 'refused',
  },
  {
    verb: 'entries.purge',
    call: ({ entries }) => entries.purge({ member, upTo: 3 }),
    denied: 'denied',
    missing: 'refused',
  },
  read('entries.counts', ({ entries }) => entries.counts({})),
  {
    verb: 'entries.removeForeign',
    call: ({ entries }) => entries.removeForeign({ subjects: ['cotal.main.dinbox.x'], upTo: 3 }),
    denied: 'denied',
    missing: 'refused',
  },
  {
    verb: 'copies.storeAll',
    call: ({ copies }) => copies.storeAll({ member, copies: [{ entrySeq: 1, channel, data: new Uint8Array(3) }] }),
    denied: 'denied',
    missing: 'silent',
  },
  { verb: 'copies.barrier', call: ({ copies }) => copies.barrier(), denied: 'denied', missing: 'silent' },
  read('copies.pageOfAll', ({ copies }) => copies.pageOfAll({ after: 0, limit: 3 })),
  read('copies.held', ({ copies }) => copies.held({ member })),
  read('copies.place', ({ copies }) => copies.place({ member })),
  { verb: 'copies.remove', call: ({ copies }) => copies.remove({ seqs: [1] }), denied: 'denied', missing: 'refused' },
  {
    verb: 'copies.purge',
    call: ({ copies }) => copies.purge({ member, upTo: 3 }),
    denied: 'denied',
    missing: 'refused',
  },
  read('copies.counts', ({ copies }) => copies.counts({})),
  {
    verb: 'copies.removeForeign',
    call: ({ copies }) => copies.removeForeign({ subjects: ['cotal.main.dlv.x'], upTo: 3 }),
    denied: 'denied',
    missing: 'refused',
  },
  read('rows.acl', ({ rows }) => rows.acl({ member })),
  read('rows.lifecycles', ({ rows }) => rows.lifecycles({ principal: 'local.somebody' })),
  read('rows.membership', ({ rows }) => rows.membership({ channel, member })),
  {
    verb: 'rows.writeMembership',
    call: ({ rows }) => rows.writeMembership({ channel, member, row, revision: 0 }),
    denied: 'denied',
    missing: 'silent',
  },
  read('rows.mark', ({ rows }) => rows.mark({ member })),
  {
    verb: 'rows.writeMark',
    call: ({ rows }) => rows.writeMark({ member, mark: { handedTo: 1 } }),
    denied: 'denied',
    missing: 'silent',
  },
  { verb: 'rows.removeMark', call: ({ rows }) => rows.removeMark({ member }), denied: 'denied', missing: 'silent' },
  read('rows.floor', ({ rows }) => rows.floor()),
  { verb: 'rows.writeFloor', call: ({ rows }) => rows.writeFloor({ floor: 1 }), denied: 'denied', missing: 'silent' },
  { verb: 'leaseRows.read', call: ({ leaseRows }) => leaseRows.read(), denied: 'denied', missing: 'silent' },
  {
    verb: 'leaseRows.write',
    call: ({ leaseRows }) => leaseRows.write({ row: lease, revision: 4 }),
    denied: 'denied',
    missing: 'silent',
  },
  {
    verb: 'leaseRows.remove',
    call: ({ leaseRows }) => leaseRows.remove({ revision: 4 }),
    denied: 'denied',
    missing: 'silent',
  },
  read('rowWatch.follow', ({ rowWatch }) => rowWatch.follow({ channel() {}, member() {}, acl() {}, lost() {} })),
];

const listeners: readonly { verb: string; listen(ports: Ports, lost: () => void): { stop(): Promise<void> } }[] = [
  { verb: 'posts.pull', listen: ({ posts }, lost) => posts.pull({ post() {}, lost }) },
  { verb: 'copies.hearSettled', listen: ({ copies }, lost) => copies.hearSettled({ bound() {}, settled() {}, lost }) },
  {
    verb: 'leaseRows.watch',
    listen: ({ leaseRows }, lost) => leaseRows.watch({ bound() {}, row() {}, gone() {}, lost }),
  },
  { verb: 'rails.serve', listen: ({ rails }, lost) => rails.serve({ bound() {}, request() {}, lost }) },
];

/** What every method comes to in every trouble. */
export function outcomesContract(on: () => Ground): void {
  describe.each(['silent', 'gated', 'denied', 'missing'] as const satisfies readonly Trouble[])(
    'in trouble (%s)',
    (trouble) => {
      const wanted = (call: Call): Told => (trouble === 'denied' || trouble === 'missing' ? call[trouble] : 'silent');
      it.each(calls.map((call) => [call.verb, wanted(call), call] as const))(
        '%s is %s',
        async (_verb, told, { call }) => {
          const ground = on();
          const outcome = await call(await ground.troubled(trouble, told), ground);
          expect(outcome).toMatchObject({ kind: told });
          if (told === 'denied')
            expect(outcome).toMatchObject({ subject: expect.stringMatching(/./), operation: 'publish' });
        },
      );
    },
  );

  describe('without any right', () => {
    it.each(listeners.map((each) => [each.verb, each] as const))(
      '%s is lost, and said to be',
      async (_verb, { listen }) => {
        const ports = await on().troubled('denied');
        let lost = 0;
        const listening = listen(ports, () => lost++);
        await until(() => lost > 0, 'the loss');
        expect(lost).toBe(1);
        await listening.stop();
      },
    );
  });
}
