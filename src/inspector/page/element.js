// @ts-check
/** Elements of the page. Text is only ever set as text: nothing that was seen becomes markup. */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} [kind] its class
 * @param {string} [text]
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, kind = '', text = '') {
  const element = document.createElement(tag);
  if (kind !== '') element.className = kind;
  element.textContent = text;
  return element;
}

/**
 * @template {Element} Kind
 * @param {string} id
 * @param {{ new (): Kind }} kind
 * @returns {Kind}
 */
export function the(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`);
  return found;
}
