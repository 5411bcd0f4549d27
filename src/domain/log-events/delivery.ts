import { defineEvents } from './define.ts';

/** What a delivery daemon logs. Prefixes: ✗ fatal, ! warning, • note, ✓ good news. */
export const deliveryEvents = defineEvents({
  'broker.gone': {
    level: 'error',
    line: '✗ delivery: broker connection unavailable (broker unreachable), exiting (coupled to the broker)',
    meaning: 'The broker was away for the whole window, stalls of this process not counted.',
  },
  'broker.past-backstop': {
    level: 'error',
    line: '✗ delivery: broker connection unavailable past backstop (broker unreachable), exiting (coupled to the broker)',
    meaning: 'The broker was away for the whole backstop, by the wall clock.',
  },
  'credential.expired': {
    level: 'warn',
    line: '! delivery: credential expired, awaiting proved renewal',
    meaning: 'The broker no longer takes the credential. Only a renewal that the broker accepted ends the wait.',
  },
  'credential.lapsed': {
    level: 'error',
    line: '✗ delivery: credential expired without renewal',
    meaning: 'No proved renewal came before the backstop.',
  },
  'credential.adopted': {
    level: 'info',
    line: '• delivery: renewed credential adopted ({fingerprint})',
    meaning: 'The broker accepted the renewal. It is presented from here on, and the resident connection is made anew.',
  },
  'credential.not-renewed': {
    level: 'warn',
    line: '! delivery: credential not renewed: {why}',
    meaning:
      'At 75 % of its life, or after its end, there was no renewal that the broker accepts. It is looked for again, further and further apart.',
  },
  'credential.not-dialled': {
    level: 'warn',
    meaning: 'The renewal is proved, and no new resident connection could be made. It is tried again.',
  },
  'start.nameless': {
    level: 'warn',
    line: '! delivery: the name of the broker, {host}, does not resolve ({reason}); next try in {seconds} s',
    meaning:
      'The start waits for the name service, with longer and longer rests, for COTAL_DELIVERY_NAME_WAIT_MS in all.',
  },
  'daemon.signalled': {
    level: 'info',
    line: '• delivery: received {signal}, exiting (space {space}, shard 0)',
    meaning: 'Somebody asked the daemon to stop. A SIGKILL leaves no line.',
  },
  'fanout.remade': {
    level: 'warn',
    line: '! delivery: the consumer "fanout" was missing and was made again from post {position}',
    meaning:
      "Somebody deleted the writer's durable. Posts above the position are copied (again); ids suppress repeats.",
  },
  'fanout.holding': {
    level: 'warn',
    line: '! delivery: copies cannot be stored ({why}), attempt {failures}; posts stay owed',
    meaning:
      'The broker refuses or does not answer for the store of pending entries. Nothing is acknowledged meanwhile.',
  },
  'fanout.reopening': { level: 'info', meaning: 'The pull of posts ended and is opened again.' },
  'posts.skipped': {
    level: 'error',
    line: '✗ delivery: posts {from}-{to} were discarded by retention before they were copied; subjects at their limit: {subjects}',
    meaning:
      'The history bound (--history) was reached while no daemon copied. What was lost is kept and told by status and doctor.',
  },
  'post.poison': {
    level: 'warn',
    line: '! delivery: message {seq} is not a post ({why}); it is dropped, further ones of this kind are only counted',
    meaning: 'Something that is not a post lies on a chat subject.',
  },
  'post.oversize': {
    level: 'warn',
    line: '! delivery: post {seq} on {channel} is {bytes} bytes with its envelope, more than max_payload {limit}; it is not copied',
    meaning: 'The post reached live subscribers only.',
  },
  'copy.refused': { level: 'warn', meaning: 'The broker will not take one copy; the others of its post are stored.' },
  'entry.foreign': {
    level: 'warn',
    line: '! delivery: a message in {store} is none of ours ({why}); it is removed, further ones of this kind are only counted',
    meaning: 'A stored message or reply was steered onto a subject of the store.',
  },
  'copies.passed-over': {
    level: 'warn',
    line: '! delivery: {count} copies for {member} were passed over by its durable (the broker counts them as settled); handed off again: {again}',
    meaning:
      'The broker lost the end of a store (full disk, failed machine) and gave its sequences out again. Nothing is lost; a copy may surface twice, with one id.',
  },
  'lane.mark-ahead': {
    level: 'warn',
    line: '! delivery: entries of {member} from {seq} on lie below its mark and are newer than it; they are handed off',
    meaning:
      'The broker lost the end of INBOX (full disk, failed machine, restored backup) and gave its sequences out again. What it still has is delivered.',
  },
  'lane.given-up': {
    level: 'warn',
    line: '! delivery: no ACL row for {member} after {attempts} meetings; its entries are kept and wait for the row',
    meaning: 'A missing row does not prove that the owner is gone.',
  },
  'lane.removal-given-up': {
    level: 'warn',
    line: '! delivery: entries of {member} could not be removed; they are left for the next start',
    meaning: 'The broker refused the removal ten times.',
  },
  'lane.refused-store': {
    level: 'warn',
    meaning: 'The broker refused a hand-off; it is tried again with back-off, for ever.',
  },
  'entry.oversize': {
    level: 'warn',
    line: '! delivery: an entry of {member} is {bytes} bytes as a copy, more than max_payload {limit}; it is removed',
    meaning: 'The payload limit was lowered after the entry was stored.',
  },
  'confirmations.lost': {
    level: 'warn',
    line: '! delivery: confirmations are not heard ({why}); the daemon is not ready until they are',
    meaning:
      'The subscription to what members confirm was refused, or ended. It is made again, and the store is asked for everything.',
  },
  'copies.terminated': { level: 'info', meaning: 'A member terminated a copy: it counts as settled.' },
  'membership.lost-to-retention': {
    level: 'warn',
    line: '! delivery: {key}: posts above {joinCursor} were discarded before they were copied (first left: {first}); the join is not durable',
    meaning: 'The history bound is too small for the time between a join and its catch-up.',
  },
  'lease.waiting': {
    level: 'info',
    line: '• delivery: standing by, the lease is held by {holder}',
    meaning: 'With --standby a daemon waits for the row.',
  },
  'daemon.fault': {
    level: 'error',
    line: '✗ delivery: {effect} failed: {stack}',
    meaning: 'Something nobody expected, and where it came from. The lease is given back.',
  },
  'daemon.refused': {
    level: 'error',
    line: '✗ delivery: {message}',
    meaning: 'The daemon does not serve, and why. What it had claimed was given back.',
  },
  'daemon.ended': { level: 'info', meaning: 'The daemon has ended, and why.' },
  'daemon.quiesced': {
    level: 'warn',
    meaning: 'There is a doubt about the lease: nothing is served until it is settled.',
  },
  'daemon.started': { level: 'info', meaning: 'Everything is up, the lease watch too.' },
  'liveness.lost': {
    level: 'warn',
    meaning: 'Nobody outside is answered whether the responder is bound. Delivery does not notice.',
  },
  'timers.down': {
    level: 'warn',
    line: '! delivery: timer writer is down ({why}), next try at {nextTry}; no workflow pause is armed meanwhile',
    meaning: 'The pump of checkpoint timers has ended. What is armed fires all the same. Delivery does not notice.',
  },
  'timers.running-again': {
    level: 'info',
    line: '✓ delivery: timer writer running again',
    meaning: 'Requests that waited are armed now.',
  },
  'timer.refused': {
    level: 'warn',
    line: '! delivery: timer request {subject} is refused: {reason}',
    meaning: 'The request is terminated; nothing is armed for it.',
  },
  'rail.fault': { level: 'error', meaning: 'A request could not be answered for a reason nobody expected.' },
  'rail.dropped': { level: 'warn', meaning: 'A request whose reply subject lies outside its own subtree.' },
});
