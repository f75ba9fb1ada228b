/** Keeps what a page shows up to date: times of the running lock, and the page itself when something has changed. */

import { to } from './page.js'

const CHECK_MS = 60_000

export function enableUpdates() {
  tick()
  setInterval(tick, 10_000)
  keepBusy()
  if (document.querySelector('[data-live]') === null) return
  /** @type {string | undefined} */
  let validator
  const check = async () => {
    const response = await fetch(to('/live'), {
      headers: validator === undefined ? {} : { 'If-None-Match': validator },
    })
    if (response.status === 304 || response.redirected || !response.ok) return
    const isFirst = validator === undefined
    validator = response.headers.get('ETag') ?? undefined
    if (!isFirst) await replaceLiveParts()
  }
  const checkInView = () => {
    // After an error, the next check is a minute later.
    if (document.visibilityState === 'visible') check().catch(() => {})
  }
  checkInView()
  setInterval(checkInView, CHECK_MS)
}

/** A part that waits for something is replaced every few seconds, until it has ended. */
function keepBusy() {
  if (document.querySelector('[data-busy]') === null) return
  const replace = () => replaceLiveParts().catch(() => {})
  setTimeout(() => void replace().then(keepBusy), BUSY_MS)
}

const BUSY_MS = 2000

/** Replaces the live parts of the page, except one that has the focus. */
async function replaceLiveParts() {
  const response = await fetch(location.href, { headers: { Accept: 'text/html' } })
  if (!response.ok || response.redirected) return
  const page = new DOMParser().parseFromString(await response.text(), 'text/html')
  for (const part of document.querySelectorAll('[data-live]')) {
    const name = part.getAttribute('data-live') ?? ''
    const next = page.querySelector(`[data-live="${CSS.escape(name)}"]`)
    if (next !== null && !part.contains(document.activeElement)) part.replaceWith(document.adoptNode(next))
  }
  tick()
}

/** For each element with a time: how far the clock of the server is ahead of the one of this browser. */
const clocks = new WeakMap()

function tick() {
  for (const element of document.querySelectorAll('[data-since]')) {
    if (!(element instanceof HTMLElement)) continue
    const { since, now } = element.dataset
    if (!clocks.has(element)) clocks.set(element, Number(now) - Date.now())
    const minutes = Math.floor((Date.now() + Number(clocks.get(element)) - Number(since)) / 60_000)
    if (minutes > 0) element.textContent = minutesText(minutes)
  }
}

/**
 * `4 d 22 h`, `22 h 13 min`, `13 min`: as the server writes it.
 *
 * @param {number} minutes
 */
function minutesText(minutes) {
  const parts = [
    `${Math.floor(minutes / 1440)}\u00a0d`,
    `${Math.floor(minutes / 60) % 24}\u00a0h`,
    `${minutes % 60}\u00a0min`,
  ]
  return parts
    .filter(part => !part.startsWith('0'))
    .slice(0, 2)
    .join(' ')
}
