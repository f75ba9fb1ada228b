/** Changes theme and discreet mode by a request and a reload, so that the page keeps its scroll position. */

import { formFields } from './events.js'
import { keepFocus } from './focus.js'
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

const YEAR_SECONDS = 365 * 86_400

/**
 * Hides names before anything is sent. If the request fails, they stay hidden, also on pages that are loaded later.
 *
 * @param {HTMLFormElement} form
 * @param {HTMLElement | null} submitter
 */
async function switchDisplay(form, submitter) {
  const fields = formFields(form, submitter)
  if (fields.get('discreet') === '1') {
    document.documentElement.classList.add('names-hidden')
    document.title = 'Lockstep'
    // The response sets it again, out of the reach of scripts.
    const secure = location.protocol === 'https:' ? '; Secure' : ''
    const { cookies = '' } = document.documentElement.dataset
    document.cookie = `discreet${cookies}=1; Path=/; Max-Age=${YEAR_SECONDS}; SameSite=Lax${secure}`
  }
  try {
    await fetch(form.action, { method: 'POST', body: fields, redirect: 'manual' })
    keepFocus(document.activeElement)
    location.reload()
  } catch {
    showNotice(
      document.documentElement.classList.contains('names-hidden')
        ? 'There is no connection. The page stays hidden until it can be loaded again.'
        : 'There is no connection, so this was not changed.',
      { text: 'Try again', act: () => location.reload() },
    )
  }
}
