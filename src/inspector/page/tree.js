// @ts-check
/** The tree of actors: machines with the state they are in, and what they asked for, in grey. */
import { make } from './element.js';

/**
 * @typedef {import('./history.js').Actor} Actor
 * @typedef {import('./history.js').History} History
 */

/** Effects below one actor that are drawn; lanes and effects may be many. */
const MOST_CHILDREN = 200;

/**
 * @param {Element} list
 * @param {{ history: History, moment: number, chosen: string | undefined, wanted: (actor: Actor) => boolean,
 *   choose: (session: string) => void }} of
 */
export function drawTree(list, { history, moment, chosen, wanted, choose }) {
  const alive = [...history.actors.values()].filter((actor) => history.lives(actor, moment));
  const known = new Set(alive.map(({ session }) => session));
  /** @type {Map<string, Actor[]>} */
  const children = new Map();
  for (const actor of alive) {
    const parent = actor.parent !== undefined && known.has(actor.parent) ? actor.parent : '';
    children.set(parent, [...(children.get(parent) ?? []), actor]);
  }
  /** @param {Actor} actor @returns {boolean} */
  const isWanted = (actor) => wanted(actor) || (children.get(actor.session) ?? []).some(isWanted);
  /** @param {string} parent @returns {Element[]} */
  const below = (parent) => {
    const all = (children.get(parent) ?? []).filter(isWanted);
    const items = all.slice(0, MOST_CHILDREN).map((actor) => {
      const item = make('li');
      item.append(row(actor));
      const inner = below(actor.session);
      if (inner.length > 0) {
        const group = make('ul');
        group.append(...inner);
        item.append(group);
      }
      return item;
    });
    if (all.length > MOST_CHILDREN) items.push(make('li', 'effect', `… ${all.length - MOST_CHILDREN} more`));
    return items;
  };
  /** @param {Actor} actor */
  const row = (actor) => {
    const button = make('button');
    const isMachine = actor.machine !== undefined;
    const standing = (history.at(actor, moment)?.states ?? []).join(' ∥ ');
    button.dataset.actor = actor.id;
    button.setAttribute('aria-current', String(actor.session === chosen));
    button.append(make('span', isMachine ? 'id' : 'id effect', actor.id));
    if (isMachine) button.append(make('span', 'state', standing));
    button.title = isMachine
      ? `${actor.id} — machine ${actor.machine}\n${standing}`
      : `${actor.id} — effect ${actor.effect}`;
    button.addEventListener('click', () => choose(actor.session));
    return button;
  };
  list.replaceChildren(...below(''));
}
