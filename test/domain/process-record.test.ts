import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isSame, judgeRecord, optionOf, readCommand, readRecord, recordText } from '../../src/domain/process-record.ts';
import { causeOf, isAskedFor, restartWait } from '../../src/domain/restart.ts';
import { processRecord, recordPath } from '../../src/services/local/process-record.ts';
import { lookAt } from '../../src/services/local/processes.ts';

const START = '9f0c1a52-1111-4222-8333-444455556666 1234';
const LATER = '9f0c1a52-1111-4222-8333-444455556666 9999';
const yes = () => true;
const no = () => false;

describe('the record of a process', () => {
  it('is read back as it was written', () => {
    for (const record of [
      { pid: 17, start: START },
      { pid: 1, start: '-' },
    ]) {
      expect(readRecord(recordText(record))).toEqual(record);
    }
  });

  it.each([
    '',
    '\n',
    'abc\n-\n',
    '-1\n-\n',
    '0\n-\n',
    '12',
    '12\n',
    `12\n${START}`,
    '12\nyesterday\n',
    `12\n${START}\nmore\n`,
    '99999999999\n-\n',
  ])('that is %j is none, with a reason', (text) => {
    expect(readRecord(text)).toHaveProperty('reason');
  });

  const record = { pid: 17, start: START };
  it('is stale when the process is gone, started at another time, or is another program', () => {
    expect(judgeRecord(record, { kind: 'gone' }, yes)).toMatchObject({ kind: 'stale', dead: true });
    expect(judgeRecord(record, { kind: 'alive', start: LATER }, yes)).toMatchObject({ kind: 'stale', dead: true });
    expect(judgeRecord(record, { kind: 'alive', start: START, argv: ['/bin/sleep', '9'] }, no)).toMatchObject({
      kind: 'stale',
      reason: 'process 17 is another program (sleep)',
    });
  });

  it('is trusted where the system tells neither start nor command line: only proof downgrades (S5, UPD-10)', () => {
    expect(judgeRecord(record, { kind: 'alive' }, no)).toEqual({ kind: 'running', ...record });
    expect(judgeRecord({ pid: 17, start: '-' }, { kind: 'alive', start: START }, no)).toEqual({
      kind: 'running',
      pid: 17,
      start: START,
    });
  });

  it.each([
    ['that is blank', 0, '', undefined],
    ['that was blanked by its own process', 0, '\0\0\0\0', undefined],
    ['of a thread of the kernel', 0x00200000, '', ['[node (x)]']],
    ['as it is', 0x00400000, 'node\0deliver\0', ['node', 'deliver']],
  ])('sees a command line %s', (_, flags, line, argv) => {
    const proc = mkdtempSync(join(tmpdir(), 'plane3-proc-'));
    onTestFinished(() => rmSync(proc, { recursive: true }));
    mkdirSync(join(proc, '17'));
    const fields = [1, 17, 17, 0, -1, flags, ...Array.from({ length: 12 }, () => 0), 4711];
    writeFileSync(join(proc, '17', 'stat'), `17 (node (x)) S ${fields.join(' ')}`);
    writeFileSync(join(proc, '17', 'cmdline'), line);
    const seen = lookAt(17, proc);
    expect(seen.kind === 'alive' ? seen.argv : seen).toEqual(argv);
  });

  it('of another process stays, where the writer may not write any more by the time it comes to it', () => {
    const root = mkdtempSync(join(tmpdir(), 'plane3-record-'));
    onTestFinished(() => rmSync(root, { recursive: true }));
    const name = { root, what: 'delivery', space: 'main' } as const;
    mkdirSync(join(root, '.cotal'));
    const record = processRecord(name);
    record.begin();
    writeFileSync(recordPath(name), '17\n-\n');
    record.write(() => false);
    // It goes on being found as one that starts: somebody may want it stopped.
    const starting = `delivery.6d61696e.starting.${process.pid}`;
    expect(readdirSync(join(root, '.cotal')).sort()).toEqual(['delivery.6d61696e.pid', starting]);
    expect(readFileSync(recordPath(name), 'utf8')).toBe('17\n-\n');
    record.write(() => true);
    expect(readdirSync(join(root, '.cotal'))).toEqual(['delivery.6d61696e.pid']);
    expect(readFileSync(recordPath(name), 'utf8')).toContain(`${process.pid}\n`);
  });

  it('of a process that ends is where it was before it served, and gone at its end; another one’s stays', () => {
    const root = mkdtempSync(join(tmpdir(), 'plane3-record-'));
    onTestFinished(() => rmSync(root, { recursive: true }));
    const name = { root, what: 'delivery', space: 'main' } as const;
    mkdirSync(join(root, '.cotal'));
    const files = () => readdirSync(join(root, '.cotal')).sort();
    const starting = `delivery.6d61696e.starting.${process.pid}`;
    const record = processRecord(name);
    record.write();
    record.leave();
    expect(files()).toEqual([starting]);
    writeFileSync(recordPath(name), '17\n-\n');
    record.leave();
    expect(files()).toEqual(['delivery.6d61696e.pid', starting]);
    record.remove();
    expect(files()).toEqual(['delivery.6d61696e.pid']);
    rmSync(join(root, '.cotal'), { recursive: true });
    expect(() => record.leave()).not.toThrow();
  });

  it('leads to a signal only as long as the pid is the same process', () => {
    expect(isSame(record, { kind: 'alive', start: START })).toBe(true);
    expect(isSame(record, { kind: 'alive', start: LATER })).toBe(false);
    expect(isSame(record, { kind: 'gone' })).toBe(false);
    expect(isSame({ pid: 17, start: '-' }, { kind: 'alive', start: LATER })).toBe(true);
  });
});

describe('a command line', () => {
  const node = ['/usr/bin/node', '--conditions=plane3-source', '/opt/plane3/src/cli/cotal.ts'];

  it('names a daemon with its space and root, in either way of writing an option', () => {
    expect(readCommand('delivery', [...node, 'deliver', '--space', 'a', '--root=/srv'])).toEqual({
      space: 'a',
      root: '/srv',
    });
    expect(readCommand('delivery', [...node, '--space=b', 'deliver'])).toEqual({ space: 'b' });
    expect(optionOf(['--space'], '--space')).toBeUndefined();
  });

  it.each([
    [['/bin/sleep', '10']],
    [['vim', '/etc/cotal.ts.bak', 'deliver']],
    [[...node, 'up', '--space', 'a']],
    [[...node, 'manager']],
    [[]],
  ])('%j names no delivery daemon', (argv) => {
    expect(readCommand('delivery', argv)).toBeUndefined();
  });
});

describe('an end', () => {
  it('was asked for when it was clean, by SIGTERM or SIGINT, or under a mark', () => {
    const end = { code: null, signal: null, asked: false };
    expect(isAskedFor({ ...end, code: 0 })).toBe(true);
    expect(isAskedFor({ ...end, signal: 'SIGTERM' })).toBe(true);
    expect(isAskedFor({ ...end, signal: 'SIGINT' })).toBe(true);
    expect(isAskedFor({ ...end, signal: 'SIGKILL', asked: true })).toBe(true);
    for (const bad of [{ code: 1 }, { signal: 'SIGKILL' }, { signal: 'SIGHUP' }, {}]) {
      expect(isAskedFor({ ...end, ...bad })).toBe(false);
    }
  });

  it('has a cause that a person can read', () => {
    expect(causeOf({ code: 1, signal: null })).toBe('exit code 1');
    expect(causeOf({ code: null, signal: 'SIGKILL' })).toBe('SIGKILL');
    expect(causeOf({ code: null, signal: null })).toBe('cause unknown');
  });

  it('is followed by the next attempt when the row can have ended, at the latest after the limit', () => {
    expect(restartWait({ expiresInMs: 700, most: 30_000 })).toBe(700);
    expect(restartWait({ expiresInMs: 90_000, most: 30_000 })).toBe(30_000);
    expect(restartWait({ expiresInMs: undefined, most: 30_000 })).toBe(30_000);
    expect(restartWait({ expiresInMs: -5, most: 30_000 })).toBe(0);
  });
});
