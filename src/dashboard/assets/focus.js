/** Restores the focus after a page was loaded again, and moves it to the message about a form that was sent. */

import { elementAt } from './page.js'

const KEPT = 'focused-element'

/** @param {Element | null} element gets the focus again on the page that is loaded next, if that page has it */
export function keepFocus(element) {
  if (element !== null && element !== document.body) sessionStorage.setItem(KEPT, keyOf(element))
}

/** Links by which a page shows other rows or another period of itself keep the focus where it is. */
export function keepFocusOnSteps() {
  document.addEventListener('click', event => {
    const link = elementAt(event)?.closest('main a')
    // A pointer needs no focus: the ring around the link would only be in the way.
    if (link instanceof HTMLAnchorElement && event.detail === 0 && link.pathname === location.pathname) {
      keepFocus(document.activeElement)
      // A browser that scrolls to a part of the page takes the focus away again. The focus scrolls as far.
      link.hash = ''
    }
  })
}

export function restoreFocus() {
  const key = sessionStorage.getItem(KEPT)
  sessionStorage.removeItem(KEPT)
  const found = key === null ? undefined : [...document.querySelectorAll(ALIKE)].find(one => keyOf(one) === key)
  if (found instanceof HTMLElement) {
    // In a closed menu nothing can have the focus.
    found.closest('details')?.setAttribute('open', '')
    found.focus()
  } else focusResult()
}

/** Focuses the message about a form that was sent: screen readers do not announce a text that a page has from the start. */
function focusResult() {
  const result = document.querySelector('main :is(.note, .state)[role=status]')
  const isFree = document.activeElement === null || document.activeElement === document.body
  if (!(result instanceof HTMLElement) || !isFree) return
  result.tabIndex = -1
  result.focus()
}

const ALIKE = 'a, button, input, select, summary'

/**
 * Identifies an element on this and later pages: by its name and its index among those of that name, or by its text. A text that
 * changes from page to page has an attribute instead.
 *
 * @param {Element} element
 */
function keyOf(element) {
  const name = element.getAttribute('name')
  const keep = element.getAttribute('data-keep') ?? element.textContent.trim()
  if (name === null) return `${element.localName} ${keep}`
  const alike = [...document.querySelectorAll(`${element.localName}[name="${CSS.escape(name)}"]`)]
  return `${element.localName} ${name} ${alike.indexOf(element)}`
}
