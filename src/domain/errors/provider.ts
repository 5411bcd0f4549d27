import { defineErrors } from './define.ts';

/** Refusals and failures of the provider plane's server side and of its storage. */
export const providerErrors = defineErrors({
  'hosted.limit': {
    kind: 'refuse',
    exit: 64,
    template: '{variable} is "{input}", not a whole number from 1 to 2147483647',
    help: 'Nothing was started. Unset it for the usual value.',
  },
  'hosted.limits-crossed': {
    kind: 'refuse',
    exit: 64,
    template: 'HOSTED_ATTACH_MS is {attach}, which is not below HOSTED_REAP_MS of {reap}',
    help: 'Nothing was started. An incumbent must be open to arbitration before it is reaped.',
  },
  'hosted.which': {
    kind: 'refuse',
    exit: 64,
    template: 'one of --db and --persist-to says where the plane is kept',
    help: 'Nothing was changed.',
  },
  'hosted.listen': {
    kind: 'refuse',
    template: 'cannot listen on {host}:{port}: {reason}',
    help: 'Nothing was started. Give another --port, or 0 for a free one.',
  },
  'hosted.no-wrangler': {
    kind: 'refuse',
    template: 'wrangler and the sources of the worker are not here',
    help: 'Nothing was started. Run it from a checkout after npm install, or use "cotal hosted serve".',
  },
  'hosted.wrangler-failed': {
    kind: 'fatal',
    template: 'wrangler {command} ended with {code}',
    help: 'Its own lines above say why.',
  },
  'storage.conflict': {
    kind: 'refuse',
    template: 'the database refused a second row: {reason}',
    help: 'Nothing of the batch was stored.',
  },
  'storage.failed': {
    kind: 'retry',
    template: 'the database failed: {reason}',
    help: 'Nothing of the batch was stored, or its outcome is not known.',
  },
  'storage.timeout': {
    kind: 'retry',
    template: 'the database did not answer within {ms} ms',
    help: 'The outcome is not known; what could be half done is compensated.',
  },
  'storage.parameters': {
    kind: 'fatal',
    template: 'a statement has {count} parameters, more than the {most} that every storage takes',
    help: 'Nothing was stored. Give lists as one JSON parameter.',
  },
  'storage.open': {
    kind: 'refuse',
    template: 'cannot open the database {file}: {reason}',
    help: 'Nothing was changed.',
  },
  'storage.migration': {
    kind: 'fatal',
    template: 'the database has migration {found}, and this program knows only up to {known}',
    help: 'Nothing was changed. Use the program that the database was made with, or a newer one.',
  },
});
