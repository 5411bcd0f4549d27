import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { streams } from '../../src/domain/subjects.ts';
import { BATCH_MAX, type Outgoing, publishBatch, publishEach, publishOne } from '../../src/services/nats/batch.ts';
import { parseDriverError } from '../../src/services/nats/driver-errors.ts';
import { freezeBroker } from '../support/agents.ts';
import { type Mesh, startMesh } from '../support/mesh.ts';

let mesh: Mesh;
let connection: NatsConnection;
beforeAll(async () => {
  mesh = await startMesh();
  connection = await mesh.connect('delivery');
});
afterAll(() => mesh?.dispose());

const inbox = streams('main').inbox;
const data = new TextEncoder().encode('x');
let place = 0;
beforeEach(() => {
  place++;
});
/** Subject of the current test's own, so that tests do not meet in the stream. */
const subject = (name = 'a') => `cotal.main.dinbox.local.test.u${place}.${name}`;
const message = (more: Partial<Outgoing> = {}): Outgoing => ({ subject: subject(), data, ...more });
const batch = (messages: Outgoing[], timeoutMs = 10_000) => publishBatch({ connection, messages, timeoutMs });
async function stored(): Promise<number> {
  const manager = await jetstreamManager(connection, { checkAPI: false });
  const info = await manager.streams.info(inbox, { subjects_filter: `cotal.main.dinbox.local.test.u${place}.>` });
  return Object.values(info.state.subjects ?? {}).reduce((sum, each) => sum + each, 0);
}

describe('an atomic batch', () => {
  it('is stored whole, and tells the last sequence and the number', async () => {
    const first = await batch([message()]);
    expect(first).toMatchObject({ kind: 'stored', count: 1 });
    const three = await batch([message(), message({ subject: subject('b') }), message({ subject: subject('c') })]);
    expect(three).toEqual({ kind: 'stored', lastSeq: first.kind === 'stored' ? first.lastSeq + 3 : 0, count: 3 });
    expect(await stored()).toBe(4);
  });

  it('stores nothing at all when one of its ids is there already', async () => {
    const ids = (...all: string[]) => all.map((msgId) => message({ msgId: `${place}/${msgId}` }));
    expect((await batch(ids('1', '2'))).kind).toBe('stored');
    expect(await batch(ids('3', '2', '4'))).toEqual({ kind: 'duplicate' });
    expect(await stored()).toBe(2);
    const singly = await publishEach({ connection, messages: ids('3', '2', '4'), timeoutMs: 10_000 });
    expect(singly.map(({ kind }) => kind)).toEqual(['stored', 'duplicate', 'stored']);
    expect(await stored()).toBe(4);
  });

  it('stores nothing when one id is in it twice', async () => {
    const twice = () => message({ msgId: `${place}/same` });
    expect(await batch([twice(), twice()])).toEqual({ kind: 'duplicate' });
    expect(await stored()).toBe(0);
  });

  it.each([999_999, 0])(
    'is in conflict when a subject is not at the expected sequence (%i), and stores nothing',
    async (seq) => {
      await batch([message()]);
      expect(await batch([message({ subject: subject('b') }), message({ expectLastSubjectSeq: seq })])).toEqual({
        kind: 'conflict',
      });
      expect(await stored()).toBe(1);
    },
  );

  it('takes 1000 messages and is refused before anything is sent with 1001 or with none', async () => {
    const many = (count: number) => Array.from({ length: count }, () => message());
    expect(await batch(many(BATCH_MAX))).toMatchObject({ kind: 'stored', count: 1000 });
    await expect(batch(many(BATCH_MAX + 1))).rejects.toThrow('a batch of 1001 messages was asked for; 1 to 1000');
    await expect(batch([])).rejects.toThrow('a batch of 0 messages');
    expect(await stored()).toBe(1000);
  });

  it.each([0, 1, 2])(
    'is denied by subject when message %i is on a subject that is not ours, and stores nothing',
    async (at) => {
      const messages = ['a', 'b', 'c'].map((name) => message({ subject: subject(name) }));
      const foreign = `cotal.main.chat.local.other.team${place}x${at}`;
      messages[at] = message({ subject: foreign });
      expect(await batch(messages)).toEqual({ kind: 'denied', subject: foreign, operation: 'publish' });
      expect(await stored()).toBe(0);
    },
  );

  it('is refused by name and size when a message does not fit the payload limit, before anything is sent', async () => {
    const limit = connection.info?.max_payload ?? 0;
    const outcome = await batch([message(), message({ data: new Uint8Array(limit) })]);
    expect(outcome).toMatchObject({ kind: 'refused', code: 10054 });
    expect(outcome.kind === 'refused' ? outcome.message : '').toMatch(new RegExp(`more than the limit of ${limit}$`));
    expect(await stored()).toBe(0);
  });

  it("is refused with the broker's own words when a message asks for what the stream has not", async () => {
    const outcome = await batch([message(), message({ ttlMs: 5_000 }), message()]);
    expect(outcome).toEqual({ kind: 'refused', code: 10166, message: 'per-message TTL is disabled' });
  });

  it('is unanswered, not refused, while the broker is frozen', async () => {
    await freezeBroker(mesh);
    const outcome = await batch([message(), message()], 100);
    mesh.thaw();
    expect(outcome).toEqual({ kind: 'unanswered', why: 'timeout' });
  });

  it('is unanswered when its connection is closed while it waits', async () => {
    const leaving = await mesh.connect('delivery');
    await freezeBroker(mesh);
    const waiting = publishBatch({ connection: leaving, messages: [message(), message()], timeoutMs: 60_000 });
    await leaving.close();
    mesh.thaw();
    expect(await waiting).toEqual({ kind: 'unanswered', why: 'disconnected' });
  });

  it('is unanswered on a closed connection', async () => {
    const closed = await mesh.connect('delivery');
    await closed.close();
    const outcome = await publishBatch({ connection: closed, messages: [message(), message()], timeoutMs: 100 });
    expect(outcome).toEqual({ kind: 'unanswered', why: 'disconnected' });
  });
});

describe('messages published singly', () => {
  it('have their outcomes in their order, denied and refused ones included', async () => {
    const outcomes = await publishEach({
      connection,
      messages: [
        message({ msgId: `${place}/1` }),
        message({ subject: 'cotal.main.chat.local.other.team' }),
        message({ msgId: `${place}/1` }),
        message({ expectLastSubjectSeq: 999_999 }),
        message(),
      ],
      timeoutMs: 10_000,
    });
    expect(outcomes.map(({ kind }) => kind)).toEqual(['stored', 'denied', 'duplicate', 'conflict', 'stored']);
  });

  it('are kept apart by nothing when they have no id', async () => {
    const outcomes = await publishEach({ connection, messages: [message(), message()], timeoutMs: 10_000 });
    expect(outcomes.map(({ kind }) => kind)).toEqual(['stored', 'stored']);
  });
});

describe("the client's errors", () => {
  it('tell no responders, by subject', async () => {
    const subject = 'cotal.main.ctl.delivery-admin.local.manager';
    const manager = await mesh.connect('manager');
    const failure = await manager.request(subject, '', { timeout: 10_000 }).catch(parseDriverError);
    expect(failure).toEqual({ kind: 'no-responders', subject });
  });

  it('tell a store that is not there yet as no responders, not as a refusal', async () => {
    const outcome = await publishOne({
      connection,
      message: message({ subject: 'cotal.main.ept.x' }),
      timeoutMs: 10_000,
    });
    expect(outcome.kind).toBe('denied');
    const open = await startMesh({ open: true });
    const anyone = await open.connect('delivery');
    const nobody = await publishOne({ connection: anyone, message: message(), timeoutMs: 10_000 });
    await open.dispose();
    expect(nobody).toEqual({ kind: 'unanswered', why: 'no-responders' });
  });

  it('tell a refusal by its number', async () => {
    const manager = await jetstreamManager(connection, { checkAPI: false });
    const failure = await manager.consumers.info('DLV_main', 'nobody').catch(parseDriverError);
    expect(failure).toEqual({ kind: 'refused', code: 10014, message: 'consumer not found' });
  });

  it('tell an unknown error as unexpected, with its words', () => {
    expect(parseDriverError(new Error('odd'))).toEqual({ kind: 'unexpected', message: 'odd' });
  });
});
