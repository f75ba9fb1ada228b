/** Restores the focus after a page was loaded again, and moves it to the message about a form that was sent. */

const KEPT = 'focused-element'

/** @param {Element | null} element gets the focus again on the page that is loaded next, if that page has it */
export function keepFocus(element) {
  if (element !== null && element !== document.body) sessionStorage.setItem(KEPT, keyOf(element))
}

export function restoreFocus() {
  const key = sessionStorage.getItem(KEPT)
  sessionStorage.removeItem(KEPT)
  const found = key === null ? undefined : [...document.querySelectorAll(ALIKE)].find(one => keyOf(one) === key)
  if (found instanceof HTMLElement) found.focus()
  else focusResult()
}

/** Focuses the message about a form that was sent: screen readers do not announce a text that a page has from the start. */
function focusResult() {
  const result = document.querySelector('main .note[role=status]')
  const isFree = document.activeElement === null || document.activeElement === document.body
  if (!(result instanceof HTMLElement) || !isFree) return
  result.tabIndex = -1
  result.focus()
}

const ALIKE = 'a, button, input, select, summary'

/**
 * Identifies an element on this and later pages: by its name and its index among those of that name, or by its text.
 *
 * @param {Element} element
 */
function keyOf(element) {
  const name = element.getAttribute('name')
  if (name === null) return `${element.localName} ${element.textContent.trim()}`
  const alike = [...document.querySelectorAll(`${element.localName}[name="${CSS.escape(name)}"]`)]
  return `${element.localName} ${name} ${alike.indexOf(element)}`
}
