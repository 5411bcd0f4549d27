import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Cotal, cotalOf, type Ran } from '../support/cli.ts';
import { type InProcess, startInProcess } from '../support/delivery/daemon.ts';
import { type Mesh, startMesh } from '../support/mesh.ts';
import { until as untilIn } from '../support/until.ts';

/** A command is a process, and one takes seconds on a busy machine. */
const until: typeof untilIn = (condition, diagnostics) => untilIn(condition, diagnostics, 90_000);

let mesh: Mesh;
let cotal: Cotal;
let daemon: InProcess | undefined;

beforeAll(async () => {
  mesh = await startMesh();
  cotal = cotalOf(mesh);
  for (const name of ['alice', 'bob', 'carol']) {
    const added = await cotal.run('agent', 'add', name, '--read', 'team.>', '--post', 'team.>');
    expect(added.stderr).toBe('');
  }
});
afterEach(async () => {
  await cotal?.dispose();
  await daemon?.stop();
  daemon = undefined;
});
afterAll(async () => {
  await cotal?.dispose();
  await mesh?.dispose();
});

const serve = async () => {
  daemon = await startInProcess(mesh);
};
/** Runs a command with --json that must end with this code. */
async function ran(code: number, ...args: string[]): Promise<Ran> {
  const done = await cotal.run(...args, '--json');
  expect(`${done.code} ${done.stderr}`).toMatch(new RegExp(`^${code} `));
  return done;
}
const errorOf = (done: Ran) => done.last<{ error: { code: string; message: string } }>().error;
const read = async (...args: string[]) => (await ran(0, 'inbox', ...args)).json<Record<string, unknown>>();
const textsOf = (posts: Record<string, unknown>[]) => posts.map(({ parts }) => (parts as { text: string }[])[0]?.text);

describe('without a daemon', () => {
  it('join is live with the reason, post is queued, pending is unknown and not none', async () => {
    const joined = await ran(0, 'join', 'team.cold', '--as', 'bob');
    expect(joined.last()).toMatchObject({
      channel: 'team.cold',
      member: 'local.bob',
      state: 'live',
      reason: expect.stringContaining('no daemon answers'),
    });
    expect(joined.stderr).toContain('delivery lease of this plane is missing');
    const posted = await ran(0, 'post', 'team.cold', 'too early', '--as', 'alice');
    expect(posted.last()).toMatchObject({ duplicate: false, delivery: 'queued' });
    const pending = await ran(1, 'pending', 'bob');
    expect(pending.last()).toMatchObject({
      member: 'local.bob',
      pending: null,
      reason: expect.stringContaining('no daemon'),
    });
    expect((await ran(1, 'pending')).last()).toMatchObject({ member: null, pending: null });
    const history = await ran(1, 'channel', 'history', 'team.cold', '--as', 'bob');
    expect(errorOf(history).code).toBe('rail.silent');
    const set = await ran(0, 'channel', 'set', 'team.later', '--class', 'live');
    expect(set.last()).toMatchObject({ channel: 'team.later', class: 'live', seen: false });
  });

  it('what was joined live is established by the next inbox that finds a daemon', async () => {
    await ran(0, 'join', 'team.lazy', '--as', 'carol');
    await serve();
    expect(await read('--as', 'carol')).toEqual([]);
    expect((await ran(0, 'members', 'team.lazy')).last()).toMatchObject({ durable: ['local.carol'], live: [] });
    await ran(0, 'leave', 'team.lazy', '--as', 'carol');
    // It was left: nothing joins it again.
    await read('--as', 'carol');
    expect((await ran(0, 'members', 'team.lazy')).last()).toMatchObject({ durable: [], live: [] });
  });
});

describe('with a daemon', () => {
  it('joins, posts, reads once and confirms', async () => {
    await serve();
    expect((await ran(0, 'join', 'team.one', '--as', 'bob')).last()).toMatchObject({ state: 'durable', generation: 1 });
    const posted = (
      await ran(0, 'post', 'team.one', 'hello', '--as', 'alice', '--id', 'h1', '--mention', 'Bob,carol')
    ).last();
    expect(posted).toMatchObject({ duplicate: false, id: 'h1', delivery: 'durable' });
    expect((await ran(0, 'post', 'team.one', 'hello', '--as', 'alice', '--id', 'h1')).last()).toMatchObject({
      duplicate: true,
      seq: posted.seq,
    });
    const posts = await read('--as', 'bob', '--wait', '30000');
    expect(posts).toMatchObject([
      {
        id: 'h1',
        channel: 'team.one',
        seq: posted.seq,
        durable: true,
        from: { id: 'local.alice', name: 'alice' },
        mentions: ['bob', 'carol'],
        parts: [{ kind: 'text', text: 'hello' }],
      },
    ]);
    expect(await read('--as', 'bob')).toEqual([]);
  });

  it('counts what is owed, and prints it again until it is confirmed, and no more than was asked for', async () => {
    await serve();
    await ran(0, 'join', 'team.two', '--as', 'bob');
    for (const text of ['1', '2', '3']) await ran(0, 'post', 'team.two', text, '--as', 'alice');
    const pending = async () => (await ran(0, 'pending', 'bob')).last();
    await until(async () => (await pending()).handedOff === 3, pending);
    expect(await pending()).toMatchObject({
      member: 'local.bob',
      pending: 3,
      givenUp: 0,
      oldestAgeMs: expect.any(Number),
    });
    expect((await ran(0, 'pending')).json()).toMatchObject([{ member: 'local.bob', pending: 3 }]);
    expect(textsOf(await read('--as', 'bob', '--no-confirm'))).toEqual(['1', '2', '3']);
    expect(textsOf(await read('--as', 'bob', '--limit', '1'))).toEqual(['1']);
    const [next] = await read('--as', 'bob', '--limit', '1', '--no-confirm');
    expect(next).toMatchObject({ redelivered: true });
    expect(textsOf(await read('--as', 'bob')).sort()).toEqual(['2', '3']);
    await until(async () => (await pending()).pending === 0, pending);
  });

  it('drops on a leave what was owed, and history still has it', async () => {
    await serve();
    await ran(0, 'join', 'team.three', '--as', 'bob');
    await ran(0, 'post', 'team.three', 'gone', '--as', 'alice');
    await until(async () => (await ran(0, 'pending', 'bob')).last().pending === 1, 'nothing is owed');
    expect((await ran(0, 'leave', 'team.three', '--as', 'bob')).last()).toEqual({
      channel: 'team.three',
      member: 'local.bob',
      left: true,
      dropped: 1,
    });
    expect(await read('--as', 'bob')).toEqual([]);
    const history = await ran(0, 'channel', 'history', 'team.three', '--as', 'bob');
    expect(textsOf(history.json())).toEqual(['gone']);
  });

  it('says who is a durable member and who is only live, each by who knows it (REG-01)', async () => {
    await serve();
    await ran(0, 'join', 'team.who', '--as', 'bob');
    const raw = await Promise.all(
      ['dora', 'emil', 'fred'].map(async (name) => {
        const added = await mesh.addAgent({ name, read: ['team.>'] });
        const connection = await mesh.connect(added.credential);
        // One by a pattern: that is subscribed too.
        connection.subscribe(`cotal.main.chat.*.*.${name === 'fred' ? 'team.>' : 'team.who'}`);
        await connection.flush();
        return connection;
      }),
    );
    expect((await ran(0, 'members', 'team.who')).last()).toEqual({
      channel: 'team.who',
      durable: ['local.bob'],
      live: ['local.dora', 'local.emil', 'local.fred'],
      pending: [],
      away: ['local.bob'],
    });
    await Promise.all(raw.map((connection) => connection.close()));
  });

  it('sets the class of a channel and answers when the writer routes by it', async () => {
    await serve();
    expect(
      (await ran(0, 'channel', 'set', 'team.quiet', '--class', 'live', '--description', 'noise')).last(),
    ).toMatchObject({
      channel: 'team.quiet',
      class: 'live',
      seen: true,
    });
    expect((await ran(0, 'join', 'team.quiet', '--as', 'bob')).last()).toMatchObject({ state: 'live' });
    expect((await ran(0, 'post', 'team.quiet', 'x', '--as', 'alice')).last()).toMatchObject({ delivery: 'live' });
    const listed = (await ran(0, 'channel', 'list')).json();
    expect(listed[0]).toEqual({ channel: '=defaults', class: 'durable', own: false });
    expect(listed).toContainEqual({ channel: 'team.quiet', class: 'live', own: true, posts: 1, description: 'noise' });
    expect((await ran(0, 'channel', 'set', 'team.quiet', '--class', 'durable')).last()).toMatchObject({ seen: true });
    expect((await ran(0, 'channel', 'list')).json()).toContainEqual({
      channel: 'team.quiet',
      class: 'durable',
      own: true,
      posts: 1,
      description: 'noise',
    });
  });

  it('follows: prints what comes, confirms it, and ends with 0 when asked to stop', async () => {
    await serve();
    await ran(0, 'join', 'team.follow', '--as', 'bob');
    await ran(0, 'channel', 'set', 'team.loud', '--class', 'live');
    const following = cotal.start('inbox', '--as', 'bob', '--follow', '--json');
    // Joined by another command: the one that stays follows.
    await ran(0, 'join', 'team.loud', '--as', 'bob');
    const posts = () => following.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const members = async () => (await ran(0, 'members', 'team.loud')).last<{ live: string[] }>().live;
    await until(async () => (await members()).includes('local.bob'), members);
    const { seq } = (await ran(0, 'post', 'team.follow', 'durable', '--as', 'alice')).last();
    await ran(0, 'post', 'team.loud', 'live', '--as', 'alice');
    await until(() => posts().length >= 2, posts);
    expect(posts().find(({ channel }) => channel === 'team.follow')).toMatchObject({ durable: true, seq });
    expect(posts().find(({ channel }) => channel === 'team.loud')).toMatchObject({ durable: false, seq: null });
    following.child.kill('SIGTERM');
    expect((await following.ended).code).toBe(0);
    expect(await read('--as', 'bob')).toEqual([]);
  });

  it('gives back what nobody read when its stdout is closed, and confirms nothing of it', async () => {
    await serve();
    await ran(0, 'join', 'team.pipe', '--as', 'bob');
    const following = cotal.start('inbox', '--as', 'bob', '--follow', '--json');
    const members = async () => (await ran(0, 'members', 'team.pipe')).last<{ away: string[] }>().away;
    await until(async () => !(await members()).includes('local.bob'), members);
    following.child.stdout?.destroy();
    await ran(0, 'post', 'team.pipe', 'unread', '--as', 'alice');
    expect((await following.ended).code).toBe(0);
    expect(textsOf(await read('--as', 'bob'))).toEqual(['unread']);
  });

  it('waits for a post where there is none, and ends as soon as it has come', async () => {
    await serve();
    await ran(0, 'join', 'team.wait', '--as', 'bob');
    const waiting = cotal.start('inbox', '--as', 'bob', '--wait', '60000', '--json');
    await ran(0, 'post', 'team.wait', 'at last', '--as', 'alice');
    const done = await waiting.ended;
    expect([done.code, textsOf(done.json())]).toEqual([0, ['at last']]);
  });
});

describe('refusals', () => {
  it('join and post outside the grant: 1, with the name of what was denied', async () => {
    await serve();
    expect(errorOf(await ran(1, 'join', 'other', '--as', 'bob')).code).toBe('join.refused');
    const post = errorOf(await ran(1, 'post', 'other', 'x', '--as', 'bob'));
    expect(post.code).toBe('post.denied');
    expect(post.message).toContain('cotal.main.chat.local.bob.other');
    expect(errorOf(await ran(1, 'channel', 'history', 'other', '--as', 'bob')).message).toContain('does not cover');
  });

  it('bad input: 64, naming it, and nothing is done', async () => {
    for (const [args, code] of [
      [['join', 'team.*', '--as', 'bob'], 'name.channel.wildcard'],
      [['join', 'team..x', '--as', 'bob'], 'name.channel'],
      [['post', 'team.>', 'x', '--as', 'bob'], 'name.channel.wildcard'],
      [['inbox', '--as', 'bob', '--limit', '0'], 'number.positive'],
      [['inbox', '--as', 'bob', '--limit', '1.5'], 'number.positive'],
      [['inbox', '--as', 'bob', '--wait', '-1'], 'number.positive'],
      [['inbox', '--as', 'b.o.b'], 'name.principal'],
      [['channel', 'set', 'team.x', '--class', 'loud'], 'flag.word'],
      [['channel', 'history', 'team.x', '--as', 'bob', '--limit', '201'], 'number.positive'],
      [['join', 'team.x'], 'cli.usage'],
      [['inbox', '--as', 'bob', '--frob'], 'cli.usage'],
    ] as const) {
      const done = await cotal.run(...args, '--json');
      expect([args.join(' '), done.code, errorOf(done).code]).toEqual([args.join(' '), 64, code]);
    }
  });

  it('an agent that there is not: 1, naming where its credential was looked for', async () => {
    const done = await ran(1, 'inbox', '--as', 'nobody');
    expect(errorOf(done).code).toBe('agent.no-credential');
    expect(errorOf(done).message).toContain('local.nobody.creds');
    await serve();
    expect(errorOf(await ran(1, 'pending', 'nobody')).code).toBe('rail.refused');
  });

  it('prints for a person without JSON, and takes out what a terminal would obey', async () => {
    await serve();
    await ran(0, 'join', 'team.text', '--as', 'bob');
    await ran(0, 'post', 'team.text', 'red \u001b[31malert\u001b[0m\u0007', '--as', 'alice');
    const done = await cotal.run('inbox', '--as', 'bob', '--wait', '5000');
    expect(done.stdout).toMatch(/^team\.text #\d+ local\.alice: red alert�$/);
    // What was confirmed is pending until the daemon has removed it.
    const pending = async () => (await ran(0, 'pending', 'bob', '--json')).last<{ pending: number }>().pending;
    await until(async () => (await pending()) === 0, 'it is pending');
    expect((await cotal.run('inbox', '--as', 'bob')).stdout).toBe('nothing new');
  });
});
