/** Shortcuts, calendars as one tab stop with arrow keys inside, and links back to lists that keep their filters. */

import { elementAt } from './page.js'

export function enableKeyboard() {
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.defaultPrevented) return
    if (elementAt(event)?.closest('input, select, textarea, [contenteditable]') != null) return
    // Arrow keys scroll tables, and move in calendars.
    if (event.key.startsWith('Arrow') && elementAt(event)?.closest('.scroll, .code') != null) return
    const button = document.querySelector(`[data-shortcut="${CSS.escape(event.key.toLowerCase())}"]`)
    if (button instanceof HTMLElement) button.click()
  })
  for (const calendar of document.querySelectorAll('.calendar')) {
    if (calendar instanceof HTMLElement) enableCalendar(calendar)
  }
  keepLists()
}

/** How many days, or weeks, a key leads on where weeks are rows, and where they are columns. */
const STEPS = /** @type {const} */ ({ ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 })
const COLUMN_STEPS = /** @type {const} */ ({ ArrowLeft: -7, ArrowRight: 7, ArrowUp: -1, ArrowDown: 1 })

/** @param {HTMLElement} calendar */
function enableCalendar(calendar) {
  const cells = [...calendar.querySelectorAll('.weeks > :is(.day, .gap)')]
  const days = cells.filter(day => day instanceof HTMLAnchorElement)
  for (const day of days) day.tabIndex = -1
  const last = days.at(-1)
  if (last !== undefined) last.tabIndex = 0
  calendar.addEventListener('pointerover', event => {
    const day = elementAt(event)?.closest('.day')
    if (day instanceof HTMLElement) day.title = day.textContent
  })
  calendar.addEventListener('keydown', event => {
    const current = elementAt(event)?.closest('.day')
    const isByColumn =
      current?.parentElement != null && getComputedStyle(current.parentElement).gridAutoFlow === 'column'
    const step = Object.entries(isByColumn ? COLUMN_STEPS : STEPS).find(([key]) => key === event.key)?.[1]
    if (step === undefined || current == null) return
    event.preventDefault()
    for (let index = cells.indexOf(current) + step; cells[index] !== undefined; index += step) {
      const next = cells[index]
      if (!(next instanceof HTMLAnchorElement) || !next.checkVisibility()) continue
      for (const day of days) day.tabIndex = day === next ? 0 : -1
      next.focus()
      return
    }
  })
}

/** Lets the link from a record back to its list keep the filters that the list had. */
function keepLists() {
  const back = document.querySelector('.back a')
  if (!(back instanceof HTMLAnchorElement)) {
    sessionStorage.setItem(`list ${location.pathname}`, location.search)
    return
  }
  const search = sessionStorage.getItem(`list ${back.pathname}`)
  if (search !== null && back.search === '') back.search = search
}
