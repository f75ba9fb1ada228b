/** Shortcuts, calendars as one tab stop with arrow keys inside, and links back to lists that keep their filters. */

import { elementAt } from './events.js'

export function enableKeyboard() {
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.defaultPrevented) return
    if (elementAt(event)?.closest('input, select, textarea, [contenteditable]') != null) return
    // Arrow keys scroll tables, and move in calendars.
    if (event.key.startsWith('Arrow') && elementAt(event)?.closest('.scroll, .code') != null) return
    const button = document.querySelector(`[data-shortcut="${CSS.escape(event.key.toLowerCase())}"]`)
    if (button instanceof HTMLElement) button.click()
  })
  for (const calendar of document.querySelectorAll('table.calendar')) {
    if (calendar instanceof HTMLTableElement) enableCalendar(calendar)
  }
  keepLists()
}

const STEPS = /** @type {const} */ ({
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
})

/** @param {HTMLTableElement} calendar */
function enableCalendar(calendar) {
  const days = [...calendar.querySelectorAll('a.day')].filter(day => day instanceof HTMLAnchorElement)
  for (const day of days) day.tabIndex = -1
  const last = days.at(-1)
  if (last !== undefined) last.tabIndex = 0
  calendar.addEventListener('pointerover', event => {
    const day = elementAt(event)?.closest('.day')
    if (day instanceof HTMLElement) day.title = day.textContent
  })
  calendar.addEventListener('keydown', event => {
    const step = Object.entries(STEPS).find(([key]) => key === event.key)?.[1]
    const current = elementAt(event)?.closest('td')
    if (step === undefined || current == null) return
    event.preventDefault()
    const next = nextDay(calendar, current, step)
    if (next === undefined) return
    for (const day of days) day.tabIndex = day === next ? 0 : -1
    next.focus()
  })
}

/**
 * The next day with a link in a direction; past the end of a row or column, in the one after it.
 *
 * @param {HTMLTableElement} calendar
 * @param {HTMLTableCellElement} from
 * @param {readonly [number, number]} step
 */
function nextDay(calendar, from, [down, right]) {
  const rows = [...(calendar.tBodies[0]?.rows ?? [])]
  let row = rows.findIndex(one => one.contains(from))
  let column = from.cellIndex
  const width = calendar.tHead?.rows[0]?.cells.length ?? 0
  for (let steps = 0; steps < rows.length * width; steps += 1) {
    row += down
    column += right
    if (row < 0 || row >= rows.length) {
      column += down
      row = (row + rows.length) % rows.length
    }
    if (column < 1 || column >= width) return undefined
    const link = rows[row]?.cells[column]?.querySelector('a.day')
    if (link instanceof HTMLAnchorElement) return link
  }
  return undefined
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
