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
