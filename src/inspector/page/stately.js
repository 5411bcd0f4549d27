// @ts-check
/** Hands what the socket shows to Stately's own inspector in the frame below, once that has said that it is there. */
import { the } from './element.js';

const STATELY = 'https://stately.ai';
const MOST_WAITING = 2_000;

const frame = the('inspector', HTMLIFrameElement);
const link = the('link', HTMLElement);
/** @type {unknown[]} */
const waiting = [];
let isThere = false;

window.addEventListener('message', ({ origin, source, data }) => {
  if (origin !== STATELY || source !== frame.contentWindow || data?.type !== '@statelyai.connected') return;
  isThere = true;
  link.textContent = 'handed on';
  for (const each of waiting.splice(0)) frame.contentWindow?.postMessage(each, STATELY);
});

const socket = new WebSocket(new URL('socket?whole', location.href.replace(/^http/, 'ws')));
socket.addEventListener('message', ({ data }) => {
  const seen = JSON.parse(data);
  if (!seen.type.startsWith('@xstate.')) return;
  if (isThere) frame.contentWindow?.postMessage(seen, STATELY);
  else if (waiting.push(seen) > MOST_WAITING) waiting.shift();
});
socket.addEventListener('open', () => {
  link.textContent = 'waiting for stately.ai';
});
socket.addEventListener('close', () => {
  link.textContent = 'the process has gone';
});
