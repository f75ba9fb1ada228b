/** Messages next to what failed, each with a way to continue. */

/**
 * @param {string} text
 * @param {{ readonly text: string; readonly act?: () => void; readonly href?: string }} [action]
 * @param {Element} [place] where it is shown; above the page if not given
 */
export function showNotice(text, action, place = document.body) {
  place.querySelector(':scope > .notice')?.remove()
  const notice = document.createElement('div')
  notice.className = 'notice problem'
  notice.setAttribute('role', 'alert')
  const line = document.createElement('p')
  line.textContent = text
  notice.append(line)
  if (action !== undefined)
    notice.append(action.href === undefined ? buttonOf(action) : linkOf(action.text, action.href))
  place.prepend(notice)
}

/** @param {{ readonly text: string; readonly act?: () => void }} action */
function buttonOf({ text, act }) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'small'
  button.textContent = text
  button.addEventListener('click', () => act?.())
  return button
}

/**
 * @param {string} text
 * @param {string} href
 */
function linkOf(text, href) {
  const link = document.createElement('a')
  Object.assign(link, { className: 'button small', href, target: '_blank', textContent: text })
  return link
}

/**
 * Announces a text to screen readers. While a dialog is open, they ignore everything outside of it.
 *
 * @param {string} text
 * @param {Element} near
 */
export function announce(text, near) {
  const place = near.closest('dialog') ?? document.body
  let status = place.querySelector(':scope > .announcement')
  if (status === null) {
    status = document.createElement('div')
    status.className = 'announcement hidden'
    status.setAttribute('role', 'status')
    place.append(status)
  }
  const filled = status
  filled.textContent = ''
  // Live regions are announced only when they change.
  setTimeout(() => {
    filled.textContent = text
  }, 50)
}
