/** Forms that create or use a passkey: before they are sent, the browser is asked for one, and its answer is put into the form. */

import { showNotice } from './notices.js'
import { to } from './page.js'

export function enablePasskeys() {
  // Capturing, so that it runs before the listeners that send forms.
  document.addEventListener(
    'submit',
    event => {
      const form = event.target
      if (!(form instanceof HTMLFormElement)) return
      const answer = form.querySelector('input[data-passkey]')
      if (!(answer instanceof HTMLInputElement) || answer.value !== '') return
      event.preventDefault()
      event.stopPropagation()
      void askFirst(form, answer)
    },
    true,
  )
}

/** @type {WeakSet<HTMLFormElement>} */
const asking = new WeakSet()

/**
 * @param {HTMLFormElement} form
 * @param {HTMLInputElement} answer
 */
async function askFirst(form, answer) {
  if (asking.has(form)) return
  asking.add(form)
  form.querySelector(':scope > .notice')?.remove()
  try {
    answer.value = JSON.stringify(await askBrowser(answer.dataset.passkey ?? '', form))
    form.requestSubmit()
  } catch (error) {
    showNotice(errorText(error), undefined, form)
  } finally {
    asking.delete(form)
  }
}

/**
 * @param {string} purpose
 * @param {HTMLFormElement} form
 */
async function askBrowser(purpose, form) {
  const { invitation = '' } = form.dataset
  const field = form.elements.namedItem('name')
  const name = field instanceof HTMLInputElement ? field.value : ''
  const response = await fetch(to('/passkeys/options'), {
    method: 'POST',
    body: new URLSearchParams({ purpose, invitation, name }),
  }).catch(() => undefined)
  if (response === undefined) throw new ShownError('There is no connection. Try again later.')
  if (response.status === 422) {
    // The server says what is wrong before the browser makes a passkey.
    const { problem } = /** @type {{ problem: string }} */ (await response.json())
    throw new ShownError(problem)
  }
  if (!response.ok) throw new ShownError('This is no longer possible. Open the page again.')
  if (!('PublicKeyCredential' in globalThis && 'parseCreationOptionsFromJSON' in PublicKeyCredential)) {
    throw new ShownError('This browser cannot use passkeys.')
  }
  const options = /** @type {Options} The server made them for this purpose. */ (await response.json())
  return purpose === 'signin'
    ? navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) })
    : navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
}

/** @typedef {PublicKeyCredentialRequestOptionsJSON & PublicKeyCredentialCreationOptionsJSON} Options */

class ShownError extends Error {}

/** @param {unknown} error */
function errorText(error) {
  if (error instanceof ShownError) return error.message
  const name = error instanceof Error ? error.name : ''
  if (name === 'InvalidStateError') return 'This device already has a passkey for this account.'
  if (name === 'NotAllowedError' || name === 'AbortError') {
    return 'No passkey was used: you cancelled, it took too long, or this browser has none for this. You can try again.'
  }
  return 'The browser could not use a passkey here.'
}
