/** Events that are handled for the whole document, so that elements added later need no handlers of their own. */

/** @param {Event} event */
export function elementAt(event) {
  return event.target instanceof Element ? event.target : undefined
}

/**
 * Handles clicks on elements that fit a selector.
 *
 * @param {string} selector
 * @param {(element: HTMLElement) => void} handler
 */
export function onClick(selector, handler) {
  document.addEventListener('click', event => {
    const element = elementAt(event)?.closest(selector)
    if (element instanceof HTMLElement) handler(element)
  })
}
