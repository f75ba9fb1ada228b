/** The buttons that copy text. */

import { make } from './elements.js'
import { onClick } from './events.js'
import { announce } from './notices.js'

export function enableCopying() {
  onClick('[data-copy]', button => void copy(button))
}

/** @param {HTMLElement} button */
async function copy(button) {
  const text = button.closest('.code')?.querySelector('code')?.textContent ?? ''
  const label = button.textContent
  const result = (await writeClipboard(text)) ? 'Copied' : 'Select and copy'
  button.textContent = result
  // The name of the button says what it copies, and stays.
  announce(result)
  setTimeout(() => {
    button.textContent = label
  }, 2000)
}

/**
 * Browsers have the clipboard API only for pages over TLS or on this machine.
 *
 * @param {string} text
 */
async function writeClipboard(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const field = make('textarea', { value: text })
    document.body.append(field)
    field.select()
    // oxlint-disable-next-line typescript/no-deprecated -- there is no other way without TLS
    const done = document.execCommand('copy')
    field.remove()
    return done
  }
}
