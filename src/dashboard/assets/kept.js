/** The tables of a file to keep: searched, sorted and shown in parts. It asks for nothing from a network. */

import { make } from './elements.js'

const ROWS_SHOWN = 50
const decoder = document.createElement('textarea')

for (const section of document.querySelectorAll('.kept-table')) showTable(section)

document.addEventListener('pointerover', event => {
  const day = event.target instanceof Element ? event.target.closest('.calendar .day') : null
  if (day instanceof HTMLElement) day.title = day.textContent
})

/** @param {Element} section */
function showTable(section) {
  const { name, columns, rows } = readTable(section)
  const state = { column: 0, descending: true, words: '', shown: ROWS_SHOWN }
  const search = make('input', { type: 'search', placeholder: 'Search', ariaLabel: `Search in ${name}` })
  const more = make('button', { type: 'button', textContent: 'Show all rows' })
  const total = section.querySelector('.card-head .muted')
  const all = total?.textContent ?? ''
  const count = make('p', { className: 'muted' })
  const titles = make('tr')
  const body = make('tbody')
  const buttons = columns.map(({ title, numeric }, column) => {
    const button = make('button', { type: 'button', className: 'link', textContent: title })
    button.addEventListener('click', () => {
      state.descending = state.column === column ? !state.descending : numeric || column === 0
      state.column = column
      draw()
    })
    const cell = make('th', { scope: 'col', className: numeric ? 'number' : '' })
    button.append(make('span', { ariaHidden: 'true' }))
    cell.append(button)
    titles.append(cell)
    return cell
  })
  search.addEventListener('input', () => {
    state.words = search.value.toLowerCase()
    state.shown = ROWS_SHOWN
    draw()
  })
  more.addEventListener('click', () => {
    state.shown = Infinity
    draw()
  })
  const table = make('table', { className: 'compact' })
  const header = make('thead')
  header.append(titles)
  table.append(header, body)
  const scroll = make('div', { className: 'scroll', tabIndex: 0, role: 'region', ariaLabel: name })
  scroll.append(table)
  section.append(search, scroll, count, more)
  draw()
  printAll(state, draw)

  function draw() {
    const found = rows.filter(row => state.words === '' || row.join(' ').toLowerCase().includes(state.words))
    const sorted = sortRows(found, state.column, columns[state.column]?.numeric === true, state.descending)
    const shown = sorted.slice(0, state.shown)
    body.replaceChildren(...shown.map(row => lineOf(row, columns)))
    for (const [index, cell] of buttons.entries()) {
      const isSorted = index === state.column
      cell.ariaSort = isSorted ? (state.descending ? 'descending' : 'ascending') : null
      const mark = cell.querySelector('[aria-hidden]')
      if (mark !== null) mark.textContent = isSorted ? (state.descending ? '\u00a0↓' : '\u00a0↑') : ''
    }
    count.textContent = `${shown.length} of ${found.length} rows`
    if (total !== null) total.textContent = found.length === rows.length ? all : `${found.length} of ${all}`
    more.hidden = shown.length === found.length
  }
}

/** @param {Element} section */
function readTable(section) {
  const name = section.querySelector('h2')?.textContent ?? ''
  const [head = '', ...lines] = (section.querySelector('noscript')?.textContent ?? '').split('<tr><td>')
  const columns = [...head.matchAll(/<th( class="number")?>([^<]*)/g)].map(([, numeric, title = '']) => ({
    title: textOf(title.trim()),
    numeric: numeric !== undefined,
  }))
  const rows = lines.map(line =>
    line
      .replace(/<\/table>[^]*/, '')
      .split('<td>')
      .map(textOf),
  )
  return { name, columns, rows }
}

/**
 * All rows are printed.
 *
 * @param {{ shown: number }} state
 * @param {() => void} draw
 */
function printAll(state, draw) {
  let { shown } = state
  addEventListener('beforeprint', () => {
    shown = state.shown
    state.shown = Infinity
    draw()
  })
  addEventListener('afterprint', () => {
    state.shown = shown
    draw()
  })
}

/**
 * @param {string[]} row
 * @param {{ numeric: boolean }[]} columns
 */
function lineOf(row, columns) {
  const line = make('tr')
  for (const [index, text] of row.entries()) {
    line.append(make('td', { textContent: text, className: columns[index]?.numeric === true ? 'number' : '' }))
  }
  return line
}

/**
 * Rows come in the order of time, the newest first, so the first column needs no comparison.
 *
 * @param {string[][]} rows
 * @param {number} column
 * @param {boolean} numeric
 * @param {boolean} descending
 */
function sortRows(rows, column, numeric, descending) {
  if (column === 0) return descending ? rows : rows.toReversed()
  const sign = descending ? -1 : 1
  return rows.toSorted((a, b) => {
    const [first = '', second = ''] = [a[column], b[column]]
    return sign * (numeric ? numberOf(first) - numberOf(second) : first.localeCompare(second))
  })
}

/** @param {string} text */
function numberOf(text) {
  const number = Number.parseFloat(text.replaceAll(/[^\d.−-]/g, '').replace('−', '-'))
  return Number.isNaN(number) ? -Infinity : number
}

/**
 * Within `noscript` characters are still escaped.
 *
 * @param {string} markup
 */
function textOf(markup) {
  if (!markup.includes('&')) return markup
  decoder.innerHTML = markup
  return decoder.value
}
