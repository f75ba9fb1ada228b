/** Forms keep what was entered if the connection is lost or the session has ended, and say so next to the form. */

import { keepFocus } from './focus.js'
import { showNotice, SIGN_IN } from './notices.js'
import { elementAt, to } from './page.js'

/** Forms that were checked: the connection works and somebody is signed in. */
const checked = new WeakSet()

export function enableForms() {
  document.addEventListener('submit', event => {
    const form = event.target
    if (!(form instanceof HTMLFormElement) || event.defaultPrevented || checked.has(form)) return
    // Those of the header lose nothing, and whoever is not signed in has no session.
    if (form.method !== 'post' || !form.closest('main:not(.plain)')) return
    event.preventDefault()
    void sendChecked(form, event.submitter)
  })
  document.addEventListener('formdata', event => {
    if (!(event.target instanceof HTMLFormElement) || event.target.method !== 'get') return
    // Filters that are not set stay out of the address.
    for (const [name, value] of Array.from(event.formData)) if (value === '') event.formData.delete(name)
  })
  enableSelects()
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLElement | null} submitter
 */
async function sendChecked(form, submitter) {
  const problem = await connectionProblem()
  if (problem !== undefined) {
    showNotice(problem.text, problem.action, form)
    return
  }
  checked.add(form)
  form.requestSubmit(submitter)
  // What the server answers may take a while.
  if (submitter?.dataset.waiting !== undefined) submitter.textContent = submitter.dataset.waiting
}

/** Why a form cannot be sent now. */
async function connectionProblem() {
  try {
    const response = await fetch(to('/live'))
    if (isSignIn(response)) return SESSION_ENDED
    return response.status >= 500 ? NO_ANSWER : undefined
  } catch {
    return NO_CONNECTION
  }
}

const SESSION_ENDED = {
  text: 'You are signed out. What you entered is kept: sign in again in a new tab, then send this again.',
  action: SIGN_IN,
}

const NO_CONNECTION = {
  text: 'There is no connection. What you entered is kept: send it again later.',
  action: undefined,
}

const NO_ANSWER = {
  text: 'The service cannot do this at the moment. What you entered is kept: send it again later.',
  action: undefined,
}

/** @param {Response} response */
export function isSignIn({ redirected, url }) {
  return redirected && new URL(url).pathname === to('/signin')
}

/**
 * A choice applies at once where it was made with a pointer. With the keyboard, arrow keys change the choice each time, so it
 * applies on Enter or when the field is left, and so does what is typed, whose form Enter sends.
 */
function enableSelects() {
  /** @type {HTMLSelectElement | HTMLInputElement | undefined} */
  let pending
  let byKey = false
  const apply = () => {
    const form = pending?.form
    pending = undefined
    if (form == null) return
    keepFocus(document.activeElement)
    form.requestSubmit()
  }
  document.addEventListener('pointerdown', () => {
    byKey = false
  })
  document.addEventListener('keydown', event => {
    byKey = elementAt(event) instanceof HTMLSelectElement
    if (event.key === 'Enter' && byKey && elementAt(event) === pending) {
      event.preventDefault()
      apply()
    }
  })
  document.addEventListener('change', event => {
    const field = elementAt(event)
    if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement)) return
    if (field.form?.matches('[data-submit-on-change]') !== true) return
    pending = field
    if (!byKey && field instanceof HTMLSelectElement) apply()
  })
  document.addEventListener('submit', () => {
    pending = undefined
  })
  document.addEventListener('focusout', event => {
    // The next field has the focus only after this event.
    if (pending !== undefined && elementAt(event) === pending) setTimeout(apply)
  })
}
