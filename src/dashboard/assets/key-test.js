/** One call with a new key, sent by the browser as any other program would send it. */

import { to } from './addresses.js'
import { onClick } from './events.js'

const MAX_LINES = 8

export function enableKeyTest() {
  onClick('[data-test]', button => {
    if (button instanceof HTMLButtonElement) void testKey(button)
  })
}

/** @param {HTMLButtonElement} button */
async function testKey(button) {
  const body = button.closest('dialog, [data-dialog-body]')
  const result = body?.querySelector('[data-test-result]')
  const key = body?.querySelector('.secret code')?.textContent ?? ''
  if (result == null) return
  button.disabled = true
  result.textContent = 'Waiting for the response…'
  try {
    const response = await fetch(to(button.dataset.test ?? '/'), {
      headers: { Authorization: `Bearer ${key}` },
      credentials: 'omit',
    })
    const text = JSON.stringify(await response.json(), null, 2)
    result.replaceChildren(statusOf(response))
    // Records have names in them, which discreet mode hides.
    if (button.dataset.discreet === '0' || !response.ok) result.append(excerptOf(text))
  } catch {
    result.textContent = 'The service did not respond.'
  }
  button.disabled = false
  button.focus()
}

/** @param {Response} response */
function statusOf({ ok, status, statusText }) {
  const line = document.createElement('p')
  line.textContent = `${status} ${statusText}. ${ok ? 'The key works.' : 'The key does not work.'}`
  return line
}

/** @param {string} text */
function excerptOf(text) {
  const lines = text.split('\n')
  const excerpt = document.createElement('pre')
  excerpt.textContent = lines.length > MAX_LINES + 1 ? [...lines.slice(0, MAX_LINES), '…'].join('\n') : text
  return excerpt
}
