import { describe, expect, it } from 'vitest';
import { readNumbers, variableOf } from '../../src/domain/config.ts';
import { Plane3Error } from '../../src/domain/errors/catalogue.ts';
import { numbers } from '../../src/domain/numbers.ts';

const refusal = (env: Record<string, string>) => {
  try {
    readNumbers(env);
  } catch (error) {
    return error instanceof Plane3Error ? `${error.code} ${error.message}` : String(error);
  }
  return 'accepted';
};

describe('the environment', () => {
  it('says nothing: the defaults hold', () => {
    expect(readNumbers({ PATH: '/bin', COTAL_HOME: 'x' })).toEqual(numbers);
  });

  it.each(Object.keys(numbers))('may set %s', (name) => {
    const variable = variableOf(name);
    expect(variable).toMatch(/^COTAL_DELIVERY_[A-Z_]+$/);
    const value = name === 'brokerGoneBackstopMs' ? 70_000 : 777;
    expect(readNumbers({ [variable]: String(value) })[name as keyof typeof numbers]).toBe(value);
  });

  it('gives the names that are written down', () => {
    expect(
      ['brokerGoneMs', 'brokerGoneBackstopMs', 'pingIntervalMs', 'maxPingOut', 'leaseTtlMs'].map(variableOf),
    ).toEqual([
      'COTAL_DELIVERY_BROKER_GONE_MS',
      'COTAL_DELIVERY_BROKER_GONE_BACKSTOP_MS',
      'COTAL_DELIVERY_PING_INTERVAL_MS',
      'COTAL_DELIVERY_MAX_PING_OUT',
      'COTAL_DELIVERY_LEASE_TTL_MS',
    ]);
  });

  it.each(['COTAL_DELIVERY_LEASE_TTL', 'COTAL_DELIVERY_', 'COTAL_DELIVERY_NONSENSE', 'COTAL_DELIVERY_lease_ttl_ms'])(
    'with the unknown setting %s is refused by name',
    (variable) => {
      expect(refusal({ [variable]: '5' })).toMatch(new RegExp(`^config\\.unknown .*${variable}`));
    },
  );

  it.each([
    '0',
    '-1',
    '1.5',
    '1e3',
    '0x10',
    '',
    ' 5',
    '5 ',
    'x',
    '2147483648',
    '99999999999999999999',
    'NaN',
    'Infinity',
    '٣',
  ])('with the value "%s" is refused with variable and value', (input) => {
    const told = refusal({ COTAL_DELIVERY_LEASE_TTL_MS: input });
    expect(told).toMatch(/^config\.value .*COTAL_DELIVERY_LEASE_TTL_MS/);
    expect(told).toContain(`"${input}"`);
  });

  it('takes the longest time that a timer of the platform can wait', () => {
    expect(readNumbers({ COTAL_DELIVERY_SURVEY_MS: '2147483647' }).surveyMs).toBe(2_147_483_647);
  });

  it('makes the backstop four windows, and never less than one', () => {
    const read = (env: Record<string, string>) => readNumbers(env).brokerGoneBackstopMs;
    expect(read({ COTAL_DELIVERY_BROKER_GONE_MS: '20000' })).toBe(80_000);
    expect(read({ COTAL_DELIVERY_BROKER_GONE_MS: '20000', COTAL_DELIVERY_BROKER_GONE_BACKSTOP_MS: '5' })).toBe(20_000);
    expect(read({ COTAL_DELIVERY_BROKER_GONE_MS: '2000000000' })).toBe(2_147_483_647);
  });
});
