/** The tables of a file to keep: searched, sorted and shown in parts. It asks for nothing from a network. */

const ROWS_SHOWN = 50

for (const section of document.querySelectorAll('.kept-table')) showTable(section)

document.addEventListener('pointerover', event => {
  const day = event.target instanceof Element ? event.target.closest('.calendar .day') : null
  if (day instanceof HTMLElement) day.title = day.textContent
})

/** @param {Element} section */
function showTable(section) {
  const data = section.querySelector('script')
  const { name, columns, rows } =
    /** @type {{ name: string, columns: { title: string, numeric: boolean }[], rows: string[][] }} */ (
      JSON.parse(data?.textContent ?? '{}')
    )
  const state = { column: 0, descending: true, words: '', shown: ROWS_SHOWN }
  const search = make('input', { type: 'search', placeholder: 'Search', ariaLabel: `Search in ${name}` })
  const more = make('button', { type: 'button', textContent: 'Show all rows' })
  const count = make('p', { className: 'muted' })
  const head = make('tr')
  const body = make('tbody')
  const buttons = columns.map(({ title, numeric }, column) => {
    const button = make('button', { type: 'button', className: 'link', textContent: title })
    button.addEventListener('click', () => {
      state.descending = state.column === column ? !state.descending : numeric || column === 0
      state.column = column
      draw()
    })
    const cell = make('th', { scope: 'col', className: numeric ? 'number' : '' })
    cell.append(button)
    head.append(cell)
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
  header.append(head)
  table.append(header, body)
  const scroll = make('div', { className: 'scroll', tabIndex: 0, ariaLabel: name })
  scroll.setAttribute('role', 'region')
  scroll.append(table)
  section.append(search, scroll, count, more)
  draw()

  function draw() {
    const found = rows.filter(row => state.words === '' || row.join(' ').toLowerCase().includes(state.words))
    const sorted = sortRows(found, state.column, columns[state.column]?.numeric === true, state.descending)
    const shown = sorted.slice(0, state.shown)
    body.replaceChildren(...shown.map(row => lineOf(row, columns)))
    for (const [index, cell] of buttons.entries()) {
      cell.ariaSort = index === state.column ? (state.descending ? 'descending' : 'ascending') : null
    }
    count.textContent = `${shown.length} of ${found.length} rows`
    more.hidden = shown.length === found.length
  }
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
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Partial<HTMLElementTagNameMap[Tag]>} properties
 * @returns {HTMLElementTagNameMap[Tag]}
 */
function make(tag, properties = {}) {
  return Object.assign(document.createElement(tag), properties)
}
