import { describe, expect, it } from 'vitest';
import { shownFields } from '../../src/domain/shown/fields.ts';
import { HIDDEN, shownEvent, shownName, shownObject, shownText, whole } from '../../src/domain/shown/show.ts';
import { plantedSecrets } from '../support/secrets.ts';

/** A value with the secret in every place: field, list, nested field, map key, map value, error, event type. */
function placesFor(field: string, secret: string): unknown[] {
  // A sentence for the operator is trusted to have no body in it but a quoted one; it is the same that the log has.
  const isSentence = shownFields[field] === 'text' && secret.startsWith('PLANTED');
  const planted = isSentence ? `it quotes "${secret}"` : secret;
  return [
    { [field]: planted },
    { [field]: [planted, { [field]: planted }] },
    { [field]: { [field]: { [field]: planted } } },
    { [field]: { [secret]: planted } },
    { [field]: new Error(`it is ${planted}`) },
    { [field]: `it quotes "${secret}" and 'more ${secret}'` },
    { [secret]: secret },
    { output: secret, input: secret },
    { output: { type: 'a.b', [field]: planted } },
  ];
}

describe('what is shown of a context or an event', () => {
  it.each(plantedSecrets)('never has a planted secret in it, wherever it was put: $name', ({ secret }) => {
    for (const field of Object.keys(shownFields)) {
      for (const value of placesFor(field, secret)) {
        for (const shown of [
          shownObject(value as object),
          shownObject(value as object, whole),
          shownEvent({ type: `xstate.done.actor.${secret}`, ...(value as object) }),
        ]) {
          expect(JSON.stringify(shown), `${field}: ${JSON.stringify(value)}`).not.toContain(secret);
        }
      }
    }
  });

  it('leaves out a field that nobody has decided about, and says that something is missing', () => {
    expect(shownObject({ member: 'local.alice.uid', novel: 'x', body: 'y' })).toEqual({
      member: 'local.alice.uid',
      [HIDDEN]: 2,
    });
  });

  it('leaves out what an effect answered unless it is made of known fields', () => {
    expect(shownEvent({ type: 'xstate.done.actor.read', output: 'hunter2' } as never)).toEqual({
      type: 'xstate.done.actor.read',
      [HIDDEN]: 1,
    });
  });

  it('is no longer than its bounds, and says how much is missing', () => {
    const shown = shownObject({
      members: Array.from({ length: 1_000 }, (_, n) => `m${n}`),
      lanes: Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`m${n}`, { id: `lane.${n}`, sent: n }])),
      message: 'x y '.repeat(10_000),
    });
    expect(JSON.stringify(shown).length).toBeLessThan(3_000);
    expect(JSON.stringify(shown)).toContain('…more');
  });

  it('copies identifiers as they are', () => {
    for (const name of [
      'local.alice.abcdefghijklmnopqrstuvwxyz',
      'cotal.main.chat.local.alice.team.general',
      '$JS.API.STREAM.INFO.CHAT_main',
      'UDZ3ZBKFVYZQ2V2BWZ6V6F2V6QWZVQ4C5ZBKFVYZQ2V2BWZ6V6F2V6QW',
      'team.general/local.alice.abcdefghijklmnopqrstuvwxyz',
    ]) {
      expect(shownName(name)).toBe(name);
    }
  });

  it('is the same when it is shown again, so that a recording can be compared with a replay', () => {
    for (const { secret } of plantedSecrets) {
      for (const value of placesFor('message', secret)) {
        const once = shownObject(value as object, whole);
        expect(shownObject(once, whole)).toEqual(once);
      }
      expect(shownText(shownText(`a ${secret} b`))).toBe(shownText(`a ${secret} b`));
    }
  });
});

describe('the catalogue of shown fields', () => {
  it('shows nothing of its own of what names key material or a body', () => {
    const suspicious = Object.keys(shownFields).filter((field) =>
      /token|jwt|seed|secret|cred|proof|challenge|signature|body|payload|parts|data|password/i.test(field),
    );
    // Made of shown fields and nothing else is as good: whatever it has to hide is no such field.
    for (const field of suspicious) expect(['hidden', 'fields'], field).toContain(shownFields[field]);
  });
});
