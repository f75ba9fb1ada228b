/** Messages next to what failed, each with a way to continue. */

import { make } from './elements.js'

/**
 * @param {string} text
 * @param {{ readonly text: string; readonly act?: () => void; readonly href?: string }} [action]
 * @param {Element} [place] where it is shown; above the page if not given
 */
export function showNotice(text, action, place = document.body) {
  place.querySelector(':scope > .notice')?.remove()
  const notice = make('div', { className: 'notice problem', role: 'alert' })
  notice.append(make('p', { textContent: text }))
  if (action !== undefined) {
    const { text: textContent, act, href } = action
    notice.append(
      href === undefined
        ? make('button', { type: 'button', className: 'small', textContent, onclick: () => act?.() })
        : make('a', { className: 'button small', href, target: '_blank', textContent }),
    )
  }
  place.prepend(notice)
}

/**
 * Announces a text to screen readers.
 *
 * @param {string} text
 */
export function announce(text) {
  let status = document.querySelector('body > .announcement')
  if (status === null) {
    status = make('div', { className: 'announcement hidden', role: 'status' })
    document.body.append(status)
  }
  const filled = status
  filled.textContent = ''
  // Live regions are announced only when they change.
  setTimeout(() => {
    filled.textContent = text
  }, 50)
}
