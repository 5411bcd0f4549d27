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
});
