import { defineEvents } from './define.ts';

/** What the server side of the provider plane logs. Ids and numbers only. */
export const providerEvents = defineEvents({
  'socket.opened': { level: 'debug', meaning: 'A node opened a socket. Nothing is registered on it yet.' },
  'socket.closed': { level: 'info', meaning: 'A socket closed; if it was bound, its provider goes offline.' },
  'socket.reaped': { level: 'warn', meaning: 'A socket was silent past its bound and was closed with 4001.' },
  'socket.overloaded': { level: 'warn', meaning: 'A peer sent more than its queue takes and was closed with 1008.' },
  'frame.refused': { level: 'info', meaning: 'A frame was refused on arrival or by a rule. Nothing was changed.' },
  'provider.bound': { level: 'info', meaning: 'A registration was accepted on this connection.' },
  'provider.conflicted': {
    level: 'info',
    meaning: 'Another instance holds the provider; the peer was told for how long.',
  },
  'provider.superseded': { level: 'info', meaning: 'A newer connection took the provider over from this one.' },
  'provider.offline': { level: 'info', meaning: 'The disconnect path of a provider was carried out in the database.' },
  'provider.owed': { level: 'warn', meaning: 'The disconnect path failed and stays owed; the alarm tries again.' },
  'ack.dropped': { level: 'warn', meaning: 'An acknowledgement above everything written was dropped whole.' },
  'replay.failed': { level: 'warn', meaning: 'A page could not be read or written down; the alarm tries again.' },
  'sweep.failed': { level: 'error', meaning: 'A sweep of the node failed; the alarm is armed again.' },
  'storage.failed': { level: 'error', meaning: 'The database failed or did not answer in time during a frame.' },
  'object.woke': { level: 'debug', meaning: 'The node came back from hibernation or from a reset.' },
  'hosted.listening': {
    level: 'info',
    line: '✓ hosted: listening on {url}',
    meaning: 'The in-process server of the provider plane takes connections.',
  },
});
