import { describe, expect, it } from 'vitest';
import { isAtLeast, readServerVersion } from '../../src/domain/versions.ts';

describe('versions', () => {
  it.each([
    ['2.12.0', '2.12.0', true],
    ['2.9.25', '2.12.0', false],
    ['2.100.0', '2.12.0', true],
    ['3.0.0', '2.12.0', true],
    ['1.99.99', '2.12.0', false],
    ['2.15.1-beta.1', '2.15.0', true],
    ['x.y.z', '2.12.0', false],
  ])('%s is at least %s: %s', (version, need, expected) => {
    expect(isAtLeast(version, need)).toBe(expected);
  });

  it.each([
    ['nats-server: v2.14.0\n', '2.14.0'],
    ['nats-server: v2.15.1-beta.2', '2.15.1-beta.2'],
    ['nats-server version 2.9', undefined],
    ['hello', undefined],
    ['', undefined],
  ])('reads %j as version %s', (output, expected) => {
    expect(readServerVersion(output)).toBe(expected);
  });
});
