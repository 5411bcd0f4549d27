/**
 * Preloaded into a daemon's process: it ends by SIGKILL at a named point of its work. `KILL_AT` is
 * `<before|after> <what> [n]`: the n-th time (first unless told) that it stores `entries`, `copies` or `marks`, or asks for
 * the `removal` of an entry. "after" is after the broker's answer and before anything else is done.
 */

import type { Outgoing } from '../../../src/services/nats/batch.ts';
import { GatedBroker } from '../../../src/services/nats/gated-broker.ts';

const [when = '', what = '', nth = '1'] = (process.env.KILL_AT ?? '').split(' ');
let met = 0;

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

function kindOf(messages: readonly Outgoing[]): string {
  const subject = messages[0]?.subject ?? '';
  if (subject.includes('.dinbox.')) return 'entries';
  if (subject.includes('.dlv.')) return subject.endsWith('.=barrier') ? 'other' : 'copies';
  // The writer's floor lies in the same bucket, and is stored before the daemon serves.
  return subject.startsWith('$KV.cotal_lanes') && !subject.endsWith('.=fanout') ? 'marks' : 'other';
}

async function around<T>(kind: string, work: () => Promise<T>): Promise<T> {
  const dies = kind === what && ++met === Number(nth);
  if (dies && when === 'before') die();
  const outcome = await work();
  if (dies && when === 'after') die();
  return outcome;
}

const { batch, each, api } = GatedBroker.prototype;
GatedBroker.prototype.batch = function (messages) {
  return around(kindOf(messages), () => batch.call(this, messages));
};
GatedBroker.prototype.each = function (messages) {
  return around(kindOf(messages), () => each.call(this, messages));
};
GatedBroker.prototype.api = function (subject, body, schema) {
  const kind = /^STREAM\.(MSG\.DELETE|PURGE)\.INBOX/.test(subject) ? 'removal' : 'other';
  return around(kind, () => api.call(this, subject, body, schema)) as never;
};
