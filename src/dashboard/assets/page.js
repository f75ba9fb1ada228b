/** What all modules use: addresses of the service, elements, and events of the whole document, so that elements added later need no handlers. */

const root = document.documentElement.dataset.root ?? '/'

/**
 * The address of a path of the service, which may be served below another path.
 *
 * @param {string} path
 */
export function to(path) {
  return root + path.slice(1)
}

/**
 * An element with properties.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Partial<HTMLElementTagNameMap[Tag]>} properties
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, properties = {}) {
  return Object.assign(document.createElement(tag), properties)
}

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
