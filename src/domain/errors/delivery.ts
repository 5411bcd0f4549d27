import { defineErrors } from './define.ts';

/** Refusals and failures of the delivery daemon and its rails. */
export const deliveryErrors = defineErrors({
  'rail.unknown-op': {
    kind: 'refuse',
    template: 'operation "{op}" is not served on {rail}',
    help: 'Nothing was done. The operations of this rail are listed in docs/contract.md.',
  },
  'rail.bad-args': {
    kind: 'refuse',
    template: '{op}: {reason}',
    help: 'Nothing was done.',
  },
  'rail.too-large': {
    kind: 'refuse',
    template: "the reply to {op} is {bytes} bytes, more than the broker's max_payload of {limit}",
    help: 'Ask for less at a time (a smaller limit), or raise max_payload of the broker.',
  },
  'rail.not-wired': {
    kind: 'refuse',
    template: '{op} is not available on this daemon: {reason}',
    help: 'Nothing was done.',
  },
  'rail.no-lifecycle': {
    kind: 'refuse',
    template: '{principal} has no live lifecycle with a read ACL',
    help: 'Add the agent again, or check its ACL row with "cotal agent list".',
  },
  'rail.several-lifecycles': {
    kind: 'refuse',
    template: '{principal} has {count} live lifecycles; which one is meant cannot be told',
    help: 'Retire the ones that are not in use with "cotal agent retire".',
  },
  'rail.not-removed': {
    kind: 'retry',
    template: 'what the retired lifecycle {member} has cannot be removed: the broker refuses it',
    help: 'Nothing of it is handed off any more. The removal is tried again when the lifecycle is asked about again, and at the next start; the log of the daemon says when it was given up.',
  },
  'rail.not-readable': {
    kind: 'refuse',
    template: 'the read ACL of {principal} does not cover {channel}',
    help: 'Nothing was read. Ask for a grant with "cotal agent grant".',
  },
  'config.unknown': {
    kind: 'refuse',
    exit: 64,
    template: '{variable} is not a setting of the delivery daemon',
    help: 'Nothing was started. Take it out of the environment, or correct its name; docs/operations.md lists them.',
  },
  'config.value': {
    kind: 'refuse',
    exit: 64,
    template: '{variable} is "{input}", not a whole number from 1 to {most}',
    help: 'Nothing was started.',
  },
  'start.root': {
    kind: 'refuse',
    template: 'no .cotal in {directory} or above it, and no --root given',
    help: 'No credential was read and nothing was dialled. Name the workspace with --root, or run "cotal up" first.',
  },
  'start.credential': {
    kind: 'refuse',
    template: 'the delivery credential cannot be used: {reason}',
    help: 'Nothing was dialled. "cotal up" makes a new one.',
  },
  'start.unauthorized': {
    kind: 'refuse',
    template: 'the broker at {url} does not accept the delivery credential {path}: {reason}',
    help: 'Nothing was claimed. It was revoked, or signed by a key that the broker does not know (any more); "cotal up" makes a new one.',
  },
  'credential.expired': {
    kind: 'retry',
    template: 'nothing is dialled with an expired credential: {reason}',
    help: 'A renewal that the broker accepts ends the wait.',
  },
  'reload.starting': {
    kind: 'retry',
    template: 'the daemon has not finished starting; no credential was adopted',
    help: 'The next renewal pass, or the daemon itself at 75 % of the life of its credential, adopts it.',
  },
  'reload.other': {
    kind: 'refuse',
    template: 'the store has the credential {found}, not the expected {expected}; nothing was adopted',
    help: 'Caller and daemon use different stores, or somebody signed another one meanwhile. Compare the roots.',
  },
  'reload.unusable': {
    kind: 'refuse',
    template: 'the renewed credential cannot be used: {why}; the one in use was kept',
    help: 'Sign it again, and ask again.',
  },
  'reload.unproved': {
    kind: 'refuse',
    template: 'the broker does not accept the renewed credential {fingerprint}: {why}; the one in use was kept',
    help: 'Sign it again, and ask again.',
  },
  'start.server': {
    kind: 'refuse',
    template: '--server {input} is not the broker recorded for space {space}, {recorded}',
    help: 'Nothing was dialled. Leave --server out, or name the recorded broker.',
  },
  'start.unreachable': {
    kind: 'refuse',
    template: 'the broker at {url} cannot be used: {reason}',
    help: 'Nothing was claimed. Start the broker with "cotal up", or correct its address.',
  },
  'start.nameless': {
    kind: 'retry',
    template: 'the name of the broker, {host}, does not resolve: {reason}',
    help: 'Nothing was claimed. Correct the address, or the name service of this machine; COTAL_DELIVERY_NAME_WAIT_MS (COTAL_MANAGER_NAME_WAIT_MS) says how long a start waits for it.',
  },
  'start.observer': {
    kind: 'refuse',
    template: 'the system observer cannot be admitted: {reason}',
    help: 'Nothing was claimed on the broker. "cotal up" makes a new observer and evictor.',
  },
  'start.layout': {
    kind: 'refuse',
    template: 'the store of this space is not usable: {reason}',
    help: 'Nothing was changed. Run "cotal up", which says what differs.',
  },
});
