// @ts-check
/** The page of `cotal inspect`: it listens, and draws what holds at the moment that is shown. It sends nothing. */
import { drawChart } from './chart.js';
import { make, the } from './element.js';
import { History } from './history.js';
import { drawTree } from './tree.js';

/**
 * @typedef {import('./history.js').Actor} Actor
 * @typedef {import('./history.js').Step} Step
 */

const MOST_ROWS = 300;
const AGAIN_MS = 1_000;
/** A picture of what comes by itself is drawn at most this often. */
const PICTURE_MS = 100;

const history = new History();
/** What is shown. `moment` undefined: always now. @type {{ moment: number | undefined, chosen: string | undefined }} */
const shown = { moment: undefined, chosen: undefined };
let isDrawing = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let soon;

const element = {
  process: the('process', HTMLElement),
  link: the('link', HTMLElement),
  dropped: the('dropped', HTMLElement),
  filter: the('filter', HTMLInputElement),
  ignored: the('ignored', HTMLInputElement),
  slider: the('slider', HTMLInputElement),
  pause: the('pause', HTMLButtonElement),
  when: the('when', HTMLElement),
  tree: the('tree', HTMLElement),
  title: the('title', HTMLElement),
  standing: the('standing', HTMLElement),
  chart: the('chart', HTMLElement),
  context: the('context', HTMLElement),
  step: the('step', HTMLElement),
  steps: the('steps', HTMLElement),
};

function listen() {
  const socket = new WebSocket(new URL('socket', location.href.replace(/^http/, 'ws')));
  socket.addEventListener('open', () => say('live', 'good'));
  socket.addEventListener('message', ({ data }) => {
    history.hear(JSON.parse(data));
    drawSoon();
  });
  socket.addEventListener('close', () => {
    say('the process has gone, or does not answer', 'warn');
    setTimeout(listen, AGAIN_MS);
  });
}

/** @param {string} text @param {string} kind */
function say(text, kind) {
  element.link.textContent = text;
  element.link.className = `badge ${kind}`;
}

const moment = () => Math.max(history.oldest, Math.min(shown.moment ?? history.last, history.last));

function drawSoon() {
  if (soon !== undefined) return;
  soon = setTimeout(() => {
    soon = undefined;
    draw();
  }, PICTURE_MS);
}

/** Draws once for however many messages came since the last picture. */
function draw() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    drawNow();
  });
}

function drawNow() {
  const now = moment();
  const { hello } = history;
  if (hello !== undefined) element.process.textContent = `${hello.process} · space ${hello.space} · pid ${hello.pid}`;
  element.dropped.hidden = history.dropped === 0;
  element.dropped.textContent = `${history.dropped} records dropped: more than can be kept or shown`;
  element.slider.min = String(history.oldest);
  element.slider.max = String(history.last);
  element.slider.value = String(now);
  element.pause.setAttribute('aria-pressed', String(shown.moment !== undefined));
  element.pause.textContent = shown.moment === undefined ? 'Pause' : 'Paused';
  const actor = chosenActor(now);
  const step = actor === undefined ? undefined : stepAt(actor, now);
  const newest = history.steps.findLast(({ seq }) => seq <= now);
  element.when.textContent = newest === undefined ? '' : `#${now} ${clock(newest.at)}`;
  // A filter that fits no actor is about events: the tree stays whole.
  const fits = [...history.actors.values()].some((each) => history.lives(each, now) && wantedActor(each));
  const wanted = fits ? wantedActor : () => true;
  drawTree(element.tree, { history, moment: now, chosen: actor?.session, wanted, choose });
  drawSteps(now);
  const standing = actor === undefined ? undefined : history.at(actor, now);
  element.title.textContent = actor === undefined ? '' : actor.id;
  element.standing.textContent = (standing?.states ?? []).join(' ∥ ');
  element.context.textContent = pretty(standing?.context);
  element.step.textContent = step === undefined ? '' : pretty(wordsOf(step));
  void drawChart(element.chart, {
    machine: actor?.machine,
    states: standing?.states ?? [],
    from: step?.from ?? [],
  });
}

/** @param {number} now @returns {Actor | undefined} */
function chosenActor(now) {
  const chosen = shown.chosen === undefined ? undefined : history.actors.get(shown.chosen);
  if (chosen !== undefined) return chosen;
  return [...history.actors.values()].find((actor) => actor.machine !== undefined && history.lives(actor, now));
}

/** @param {Actor} actor @param {number} now @returns {Step | undefined} */
const stepAt = (actor, now) => history.steps.findLast(({ session, seq }) => session === actor.session && seq <= now);

/** @param {Step} step */
const wordsOf = ({ seq, at, event, facts, from, now, asked, said, ignored }) => ({
  step: seq,
  at: new Date(at).toISOString(),
  event,
  ...(facts.length > 0 ? { facts } : {}),
  from,
  to: now.states,
  ...(asked.length > 0 ? { asked } : {}),
  ...(said.length > 0 ? { said } : {}),
  ...(ignored ? { ignored } : {}),
});

/** @param {number} now */
function drawSteps(now) {
  /** @type {HTMLElement[]} */
  const rows = [];
  for (let n = history.steps.length - 1; n >= 0 && rows.length < MOST_ROWS; n--) {
    const step = history.steps[n];
    if (step === undefined || step.seq > now || !wantedStep(step)) continue;
    rows.push(rowOf(step, step.seq === now));
  }
  element.steps.replaceChildren(...rows);
}

/** @param {Step} step @param {boolean} isShown */
function rowOf(step, isShown) {
  const row = make('tr', step.ignored ? 'ignored' : '');
  row.setAttribute('aria-current', String(isShown));
  const followed = [
    ...step.facts.map(({ type }) => type),
    ...step.asked.map((id) => `asks ${id}`),
    ...step.said.map(({ to, event }) => `tells ${to} ${event.type}`),
  ];
  const moved = step.from.join(' ∥ ') === step.now.states.join(' ∥ ');
  const states = moved ? step.now.states.join(' ∥ ') : `${step.from.join(' ∥ ')} → ${step.now.states.join(' ∥ ')}`;
  const words = [String(step.seq), clock(step.at), nameOf(step.session), step.event.type, followed.join(', '), states];
  row.append(...words.map((text) => make('td', '', text)));
  row.addEventListener('click', () => {
    shown.chosen = step.session;
    goTo(step.seq);
  });
  return row;
}

/** @param {string} session */
const nameOf = (session) => history.actors.get(session)?.id ?? session;
/** @param {number} at */
const clock = (at) => new Date(at).toISOString().slice(11, 23);
/** @param {unknown} value */
const pretty = (value) => (value === undefined ? '' : JSON.stringify(value, undefined, 2));

const wantedWords = () => element.filter.value.trim().toLowerCase();
/** @param {Actor} actor */
const wantedActor = (actor) => {
  const words = wantedWords();
  const states = history.at(actor, moment())?.states ?? [];
  return words === '' || [actor.id, actor.machine ?? '', ...states].some((text) => text.toLowerCase().includes(words));
};
/** @param {Step} step */
const wantedStep = (step) => {
  if (step.ignored && !element.ignored.checked) return false;
  const words = wantedWords();
  const texts = [nameOf(step.session), history.actors.get(step.session)?.machine ?? '', step.event.type];
  texts.push(...step.now.states, ...step.facts.map(({ type }) => type));
  return words === '' || texts.some((text) => text.toLowerCase().includes(words));
};

/** @param {string} session */
function choose(session) {
  shown.chosen = session;
  draw();
}

/** @param {number | undefined} seq undefined: now, and on with it */
function goTo(seq) {
  shown.moment = seq;
  draw();
}

/** To the step before or after the one that is shown. @param {-1 | 1} way */
function walk(way) {
  const now = moment();
  const next =
    way === -1
      ? history.steps.findLast((step) => step.seq < now && wantedStep(step))
      : history.steps.find((step) => step.seq > now && wantedStep(step));
  if (next !== undefined) goTo(next.seq);
}

const togglePause = () => goTo(shown.moment === undefined ? history.last : undefined);

element.filter.addEventListener('input', draw);
element.ignored.addEventListener('input', draw);
element.slider.addEventListener('input', () => goTo(Number(element.slider.value)));
element.pause.addEventListener('click', togglePause);
the('back', HTMLButtonElement).addEventListener('click', () => walk(-1));
the('forward', HTMLButtonElement).addEventListener('click', () => walk(1));
the('live', HTMLButtonElement).addEventListener('click', () => goTo(undefined));
document.addEventListener('keydown', (event) => {
  if (event.target instanceof HTMLInputElement && event.target.type === 'search') return;
  const keys = { ArrowLeft: () => walk(-1), ArrowRight: () => walk(1), End: () => goTo(undefined), ' ': togglePause };
  const act = Object.entries(keys).find(([key]) => key === event.key)?.[1];
  if (act === undefined) return;
  event.preventDefault();
  act();
});
listen();
