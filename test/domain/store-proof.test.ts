import { describe, expect, it } from 'vitest';
import { judgeProof, type ProofReading, proofText, type StoreIdentity } from '../../src/domain/store-proof.ts';
import { isSignedBy, newPair, signText } from '../../src/services/credential.ts';

const fs = (root: string): StoreIdentity => ({ kind: 'fs', root });
const read: ProofReading = {
  challenge: 'c1',
  ours: fs('/a'),
  answer: { identity: fs('/a'), challenge: 'c1', incarnation: 'i1' },
  row: { holder: 'local.delivery', incarnation: 'i1' },
  isSigned: true,
  isAttested: true,
};

describe('a store proof', () => {
  it('matches only when everything does', () => {
    expect(judgeProof(read)).toEqual({ kind: 'matched', incarnation: 'i1' });
  });

  it.each([
    ['another challenge was answered', { challenge: 'c2' }, 'the answer is to another challenge'],
    [
      'somebody answered who is not the holder',
      { row: { holder: 'local.delivery', incarnation: 'i2' } },
      'answered by i1, but the lease is held by local.delivery, i2',
    ],
    [
      'the signature is not that of the row',
      { isSigned: false },
      'the answer is not signed by the key of the lease row',
    ],
  ])('is undetermined when %s', (_, change, reason) => {
    expect(judgeProof({ ...read, ...change })).toEqual({ kind: 'undetermined', reason });
  });

  it('names both roots when they differ', () => {
    expect(judgeProof({ ...read, ours: fs('/b') })).toEqual({ kind: 'mismatched', ours: '/b', theirs: '/a' });
  });

  it('tells a folder from an injected store of the same name', () => {
    const ours: StoreIdentity = { kind: 'injected', coordinate: '/a' };
    expect(judgeProof({ ...read, ours }).kind).toBe('mismatched');
  });

  it('does not match a copy of the path with another credential in it', () => {
    expect(judgeProof({ ...read, isAttested: false })).toMatchObject({
      kind: 'mismatched',
      theirs: '/a with another delivery credential in it',
    });
  });
});

describe('a signed text', () => {
  const pair = newPair('user');
  const text = proofText({ space: 'main', incarnation: 'i', challenge: 'c', identity: fs('/a') });

  it('is known by the public key, and by no other', () => {
    const signature = signText(pair, text);
    expect(isSignedBy(pair.publicKey, text, signature)).toBe(true);
    expect(isSignedBy(newPair('user').publicKey, text, signature)).toBe(false);
    expect(isSignedBy(pair.publicKey, `${text} `, signature)).toBe(false);
  });

  it.each([
    ['', 'an empty'],
    ['AAAA', 'a short'],
    ['%%%', 'a malformed'],
  ])('is not known by %j, %s signature', (signature) => {
    expect(isSignedBy(pair.publicKey, text, signature)).toBe(false);
    expect(isSignedBy('not a key', text, signText(pair, text))).toBe(false);
  });
});
