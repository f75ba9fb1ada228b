/** Changes theme and discreet mode by a request and a reload, so that the page keeps its scroll position. */

import { keepFocus } from './focus.js'
import { showNotice } from './notices.js'

export function enableDisplay() {
  document.addEventListener('submit', event => {
    const { target: form, submitter } = event
    if (!(form instanceof HTMLFormElement && submitter instanceof HTMLButtonElement)) return
    // A key that is shown once must not be lost by reloading.
    if (!form.matches('[data-display]') || document.querySelector('[data-once]') !== null) return
    event.preventDefault()
    void switchDisplay(form, submitter)
  })
}

/**
 * Hides names before anything is sent. If the request fails, they stay hidden.
 *
 * @param {HTMLFormElement} form
 * @param {HTMLButtonElement} submitter
 */
async function switchDisplay(form, submitter) {
  const { name, value } = submitter
  if (name === 'discreet' && value === '1') {
    document.documentElement.classList.add('names-hidden')
    document.title = 'Lockstep'
  }
  try {
    await fetch(form.action, { method: 'POST', body: new URLSearchParams({ [name]: value }), redirect: 'manual' })
    keepFocus(document.activeElement)
    location.reload()
  } catch {
    showNotice('There is no connection, so this was not changed.')
  }
}
