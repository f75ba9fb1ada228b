/** One call with a new key, sent by the browser as any other program would send it. */

import { onClick, to } from './page.js'

export function enableKeyTest() {
  onClick('[data-test]', button => void testKey(button))
}

/** @param {HTMLElement} button */
async function testKey(button) {
  const key = document.querySelector('.secret code')?.textContent ?? ''
  const result = document.querySelector('[data-test-result]')
  if (result === null) return
  result.textContent = 'Waiting for the response…'
  try {
    const headers = { Authorization: `Bearer ${key}` }
    const { ok, status, statusText } = await fetch(to(button.dataset.test ?? '/'), { headers, credentials: 'omit' })
    result.textContent = `${status} ${statusText}. ${ok ? 'The key works.' : 'The key does not work.'}`
  } catch {
    result.textContent = 'The service did not respond.'
  }
}
