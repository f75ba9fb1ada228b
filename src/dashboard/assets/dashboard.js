/** Conveniences of every page. All pages work without this script. */

import { enableCopying } from './copy.js'
import { enableDialogs } from './dialogs.js'
import { elementAt, formFields } from './events.js'
import { enableKeyTest } from './key-test.js'

document.documentElement.classList.add('script')
enableCopying()
enableDialogs()
enableKeyTest()

for (const field of document.querySelectorAll('input[data-time-zone]')) {
  if (field instanceof HTMLInputElement) field.value = Intl.DateTimeFormat().resolvedOptions().timeZone
}

document.addEventListener('change', event => {
  const form = elementAt(event)?.closest('form[data-submit-on-change]')
  if (form instanceof HTMLFormElement) form.requestSubmit()
})

// Theme and discreet mode change in place, so that the page stays where it is.
document.addEventListener('submit', event => {
  const form = event.target
  if (!(form instanceof HTMLFormElement) || !form.matches('[data-display]')) return
  // A key that is shown once must not be lost by reloading.
  if (document.querySelector('[data-once]') !== null) return
  event.preventDefault()
  void switchDisplay(form, event.submitter)
})

/**
 * @param {HTMLFormElement} form
 * @param {HTMLElement | null} submitter
 */
async function switchDisplay(form, submitter) {
  await fetch(form.action, { method: 'POST', body: formFields(form, submitter), redirect: 'manual' })
  location.reload()
}

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return
  if (event.key === 'Escape') closeMenus()
  if (elementAt(event)?.closest('input, select, textarea, dialog, [contenteditable]') != null) return
  const button = document.querySelector(`[data-shortcut="${CSS.escape(event.key.toLowerCase())}"]`)
  if (button instanceof HTMLElement) button.click()
})

document.addEventListener('click', event => {
  const clicked = elementAt(event)?.closest('.menu')
  for (const menu of openMenus()) if (menu !== clicked) menu.open = false
})

function closeMenus() {
  for (const menu of openMenus()) {
    menu.open = false
    menu.querySelector('summary')?.focus()
  }
}

function openMenus() {
  return [...document.querySelectorAll('details.menu[open]')].filter(menu => menu instanceof HTMLDetailsElement)
}
