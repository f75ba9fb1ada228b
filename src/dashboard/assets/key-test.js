/** One call with a new key, sent by the browser as any other program would send it. */

import { to } from './addresses.js'
import { make } from './elements.js'
import { onClick } from './events.js'

const MAX_LINES = 8

export function enableKeyTest() {
  onClick('[data-test]', button => {
    if (button instanceof HTMLButtonElement) void testKey(button)
  })
}

/** @param {HTMLButtonElement} button */
async function testKey(button) {
  const body = button.closest('[data-once]')
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
    const { ok, status, statusText } = response
    const line = `${status} ${statusText}. ${ok ? 'The key works.' : 'The key does not work.'}`
    result.replaceChildren(make('p', { textContent: line }))
    // Records have names in them, which discreet mode hides.
    if (button.dataset.discreet === '0' || !ok) result.append(make('pre', { textContent: excerptOf(text) }))
  } catch {
    result.textContent = 'The service did not respond.'
  }
  button.disabled = false
  button.focus()
}

/** @param {string} text */
function excerptOf(text) {
  const lines = text.split('\n')
  return lines.length > MAX_LINES + 1 ? [...lines.slice(0, MAX_LINES), '…'].join('\n') : text
}
