/** Messages next to what failed, each with a way to continue. */

import { make, to } from './page.js'

export const SIGN_IN = { text: 'Sign in', href: to('/signin') }

/**
 * @param {string} text
 * @param {{ readonly text: string; readonly href: string }} [action]
 * @param {Element} [place] where it is shown; above the page if not given
 */
export function showNotice(text, action, place = document.body) {
  place.querySelector(':scope > .notice')?.remove()
  const notice = make('div', { className: 'notice problem', role: 'alert' })
  notice.append(make('p', { textContent: text }))
  if (action !== undefined) {
    const { text: textContent, href } = action
    // A form keeps what was entered in it.
    const target = place === document.body ? '' : '_blank'
    notice.append(make('a', { className: 'button small', href, target, textContent }))
  }
  place.prepend(notice)
}
