/** The buttons that copy text. */

import { make, onClick } from './page.js'

export function enableCopying() {
  onClick('[data-copy]', button => void copy(button))
}

/** @param {HTMLElement} button */
async function copy(button) {
  const text = button.closest('.code')?.querySelector('code')
  const label = button.textContent
  const status = make('span', { className: 'hidden', role: 'status' })
  button.after(status)
  try {
    await navigator.clipboard.writeText(text?.textContent ?? '')
    button.textContent = 'Copied'
  } catch {
    // Browsers have a clipboard only for pages over TLS or on this machine.
    if (text != null) getSelection()?.selectAllChildren(text)
    button.textContent = 'Selected'
  }
  // The name of the button says what it copies, and stays. Live regions are announced only when they change.
  setTimeout(() => status.append(button.textContent), 50)
  setTimeout(() => {
    button.textContent = label
    status.remove()
  }, 2000)
}
