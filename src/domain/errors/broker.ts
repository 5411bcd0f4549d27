import { defineErrors } from './define.ts';

/** Refusals and failures of the broker: its binary, its process, its store, its credentials. */
export const brokerErrors = defineErrors({
  'broker.no-binary': {
    kind: 'fatal',
    template: 'no nats-server of at least {need} was found or could be fetched; tried: {tried}',
    help: 'Nothing was started. Install nats-server {need} or newer and name it in COTAL_NATS_SERVER.',
  },
  'broker.binary-unusable': {
    kind: 'refuse',
    template: 'COTAL_NATS_SERVER names {path}, which is not a nats-server that runs here: {reason}',
    help: 'Nothing was started. Correct COTAL_NATS_SERVER, or unset it to let plane3 look for one itself.',
  },
  'broker.binary-too-old': {
    kind: 'refuse',
    template: 'COTAL_NATS_SERVER names {path}, which is nats-server {version}; at least {need} is needed',
    help: 'Nothing was started. Name a newer one, or unset COTAL_NATS_SERVER to let plane3 look for one itself.',
  },
  'auth.missing': {
    kind: 'refuse',
    template: 'no keys of {what} in {path}',
    help: 'Nothing was changed. Run "cotal up" on this root first, or name another --root.',
  },
  'file.unreadable': {
    kind: 'refuse',
    template: '{path} cannot be read: {reason}',
    help: 'It was left as it is. Restore it from a backup, or move it away and run "cotal up" again.',
  },
  'file.unwritable': {
    kind: 'fatal',
    template: '{path} cannot be written: {reason}',
    help: 'What was there before is there still. Make room (ENOSPC, EDQUOT) or give the right to write (EACCES, EROFS), then run the same command again.',
  },
  'file.locked': {
    kind: 'retry',
    template: '{path} is held by process {pid}',
    help: 'Nothing was changed. Try again when that process has ended.',
  },
  'batch.size': {
    kind: 'refuse',
    template: 'a batch of {count} messages was asked for; 1 to {most} are possible',
    help: 'Nothing was sent.',
  },
  'credential.bad-seed': {
    kind: 'refuse',
    template: 'a key seed is not well-formed',
    help: 'Nothing was sent. Make the credential anew.',
  },
  'credential.unreadable': {
    kind: 'refuse',
    template: 'credential {path} cannot be read: {reason}',
    help: 'Nothing was sent. Make the credential anew.',
  },
  'credential.too-large': {
    kind: 'refuse',
    template: 'credential of {name} would be {bytes} bytes, more than the {limit} that the broker takes',
    help: 'Nothing was minted. Use fewer or shorter patterns.',
  },
});
