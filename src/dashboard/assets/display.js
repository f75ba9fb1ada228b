/** Theme and discreet mode change in place, so that the page stays where it is. */

import { formFields } from './events.js'
import { showNotice } from './notices.js'

export function enableDisplay() {
  document.addEventListener('submit', event => {
    const form = event.target
    if (!(form instanceof HTMLFormElement) || !form.matches('[data-display]')) return
    // A key that is shown once must not be lost by reloading.
    if (document.querySelector('[data-once]') !== null) return
    event.preventDefault()
    void switchDisplay(form, event.submitter)
  })
}

/**
 * Names vanish before anything is sent, and stay hidden where it cannot be sent.
 *
 * @param {HTMLFormElement} form
 * @param {HTMLElement | null} submitter
 */
async function switchDisplay(form, submitter) {
  const fields = formFields(form, submitter)
  if (fields.get('discreet') === '1') {
    document.documentElement.classList.add('veiled')
    document.title = 'Lockstep'
  }
  try {
    await fetch(form.action, { method: 'POST', body: fields, redirect: 'manual' })
    location.reload()
  } catch {
    showNotice(
      document.documentElement.classList.contains('veiled')
        ? 'There is no connection. The page stays hidden until it can be loaded again.'
        : 'There is no connection, so this was not changed.',
      { text: 'Try again', act: () => location.reload() },
    )
  }
}
