/** Opens pages that consist of one form as dialogs over the page that links to them. */

import { to } from './addresses.js'
import { elementAt, formFields, onClick } from './events.js'
import { isSignIn, NO_ANSWER, NO_CONNECTION, SESSION_ENDED } from './forms.js'
import { showNotice } from './notices.js'

export function enableDialogs() {
  document.addEventListener('click', onDialogClick)
  onClick('[data-fill]', button => {
    const field = button.closest('form')?.elements.namedItem(button.dataset.fill ?? '')
    if (!(field instanceof HTMLInputElement)) return
    field.value = button.textContent
    field.focus()
  })
}

/** @param {MouseEvent} event */
function onDialogClick(event) {
  if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return
  const element = elementAt(event)
  const opener = element?.closest('a[data-dialog]')
  if (opener instanceof HTMLAnchorElement) {
    event.preventDefault()
    // A second click, while the page is on its way, opens no second dialog.
    if (isOpening) return
    isOpening = true
    void openDialog(opener).finally(() => (isOpening = false))
    return
  }
  const dialog = element?.closest('dialog')
  if (element === undefined || dialog == null) return
  if (element.closest('[data-close]') !== null) {
    event.preventDefault()
    dialog.close()
  } else if (element.closest('[data-done]') !== null) {
    event.preventDefault()
    location.assign(to('/keys'))
  }
}

let isOpening = false

/** @param {HTMLAnchorElement} opener */
async function openDialog(opener) {
  const dialog = document.createElement('dialog')
  dialog.setAttribute('aria-labelledby', 'dialog-title')
  const response = await ask(opener.href)
  if (!(response instanceof Response)) {
    showNotice(response.text, response.action, document.querySelector('main') ?? document.body)
    return
  }
  if (!(await fill(dialog, response))) return
  document.body.append(dialog)
  dialog.addEventListener('cancel', event => {
    // A key that is shown once must not be closed by accident.
    if (dialog.querySelector('[data-once]') !== null) event.preventDefault()
  })
  dialog.addEventListener('close', () => {
    dialog.remove()
    opener.focus()
  })
  dialog.addEventListener('submit', event => {
    event.preventDefault()
    if (event.target instanceof HTMLFormElement) void sendForm(dialog, event.target, event.submitter)
  })
  dialog.showModal()
}

/**
 * @param {HTMLDialogElement} dialog
 * @param {HTMLFormElement} form
 * @param {HTMLElement | null} submitter
 */
async function sendForm(dialog, form, submitter) {
  const body = formFields(form, submitter)
  if (submitter instanceof HTMLButtonElement) submitter.disabled = true
  const response = await ask(form.action, { method: 'POST', body, headers: { Accept: 'text/html' } })
  if (!(response instanceof Response) || response.status >= 500) {
    const { text, action } = response instanceof Response ? NO_ANSWER : response
    showNotice(text, action, form)
    if (submitter instanceof HTMLButtonElement) submitter.disabled = false
    return
  }
  await fill(dialog, response)
  const field = dialog.querySelector('[autofocus]')
  if (field instanceof HTMLElement) field.focus()
}

/**
 * The response, or why there is none.
 *
 * @param {string} address
 * @param {RequestInit} [options]
 */
async function ask(address, options) {
  try {
    const response = await fetch(address, options)
    return isSignIn(response) ? SESSION_ENDED : response
  } catch {
    return NO_CONNECTION
  }
}

/**
 * Shows the dialog body of a page. A page without one is opened instead; then this returns false.
 *
 * @param {HTMLDialogElement} dialog
 * @param {Response} response
 */
async function fill(dialog, response) {
  const page = new DOMParser().parseFromString(await response.text(), 'text/html')
  const body = page.querySelector('[data-dialog-body]')
  if (body === null) {
    location.assign(response.url)
    return false
  }
  dialog.replaceChildren(...body.childNodes)
  if (body.hasAttribute('data-once')) dialog.firstElementChild?.setAttribute('data-once', '')
  return true
}
