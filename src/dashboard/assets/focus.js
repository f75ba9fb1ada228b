/** Where the focus is on a page that was loaded again, or that answers a form. */

const KEPT = 'focused-element'

/** @param {Element | null} element the one that has the focus again on the page that is loaded next, if that has it */
export function keepFocus(element) {
  if (element !== null && element !== document.body) sessionStorage.setItem(KEPT, placeOf(element))
}

export function restoreFocus() {
  const place = sessionStorage.getItem(KEPT)
  sessionStorage.removeItem(KEPT)
  const found = place === null ? undefined : [...document.querySelectorAll(ALIKE)].find(one => placeOf(one) === place)
  if (found instanceof HTMLElement) found.focus()
  else focusResult()
}

/** What a form did is said where the focus is, as nobody is told of a text that is there from the start. */
function focusResult() {
  const result = document.querySelector('main .note[role=status]')
  const isFree = document.activeElement === null || document.activeElement === document.body
  if (!(result instanceof HTMLElement) || !isFree) return
  result.tabIndex = -1
  result.focus()
}

const ALIKE = 'a, button, input, select, summary'

/**
 * Which of those with its name it is, or of those with its text.
 *
 * @param {Element} element
 */
function placeOf(element) {
  const name = element.getAttribute('name')
  if (name === null) return `${element.localName} ${element.textContent.trim()}`
  const alike = [...document.querySelectorAll(`${element.localName}[name="${CSS.escape(name)}"]`)]
  return `${element.localName} ${name} ${alike.indexOf(element)}`
}
