/**
 * Reads the table of a chart. The heading of a column has its `data-key`; a cell whose text is formatted has its
 * value in `data-v`.
 */

/**
 * @typedef {object} Column
 * @property {string} key
 * @property {string} title
 * @property {string | undefined} series The look of the bars made of this column.
 */

/** @param {HTMLTableElement} table */
export function readTable(table) {
  const columns = readColumns(table)
  const indexes = new Map(columns.map(({ key }, index) => [key, index]))
  const rows = Array.from(bodyRows(table), element => new Row(element, indexes))
  return { columns, rows }
}

/**
 * @param {HTMLTableElement} table
 * @returns {Column[]}
 */
export function readColumns(table) {
  return Array.from(table.tHead?.rows[0]?.cells ?? [], ({ dataset, textContent }) => ({
    key: dataset.key ?? '',
    title: textContent.trim(),
    series: dataset.series,
  }))
}

/** @param {HTMLTableElement} table */
export function countRows(table) {
  return bodyRows(table).length
}

/**
 * A time on the clock of the account's zone. This browser may be in another zone, so all times are drawn as if in UTC.
 *
 * @param {string | undefined} text as `YYYY-MM-DDTHH:mm:ss`
 */
export function parseInstant(text) {
  return text === undefined || text === '' ? undefined : new Date(`${text}Z`)
}

/** A row of a table, with its cells by the key of their column. */
export class Row {
  #element
  #indexes

  /**
   * @param {HTMLTableRowElement} element
   * @param {ReadonlyMap<string, number>} indexes
   */
  constructor(element, indexes) {
    this.#element = element
    this.#indexes = indexes
  }

  /** Where a click on the row's mark leads. */
  get href() {
    return this.#element.querySelector('a')?.getAttribute('href') ?? undefined
  }

  /** @param {string} key */
  text(key) {
    return this.#cell(key)?.textContent.trim() ?? ''
  }

  /** @param {string} key */
  number(key) {
    const value = this.#value(key)
    if (value === '') return null
    const number = Number(value)
    if (Number.isNaN(number)) throw new TypeError(`${key} is not a number: ${value}`)
    return number
  }

  /** @param {string} key */
  flag(key) {
    return this.#value(key) === '1'
  }

  /** @param {string} key */
  instant(key) {
    const instant = parseInstant(this.#value(key))
    if (instant === undefined) throw new TypeError(`${key} is empty`)
    return instant
  }

  /**
   * For a cell whose value is something else: whether it was passed.
   *
   * @param {string} key
   */
  passed(key) {
    return this.#cell(key)?.dataset.p === '1'
  }

  /**
   * The moving average at this row, for a cell that has a value.
   *
   * @param {string} key
   */
  average(key) {
    return Number(this.#cell(key)?.dataset.a)
  }

  /** @param {string} key */
  #value(key) {
    return this.#cell(key)?.dataset.v ?? this.text(key)
  }

  /** @param {string} key */
  #cell(key) {
    return this.#element.cells[this.#indexes.get(key) ?? -1]
  }
}

/** @param {HTMLTableElement} table */
function bodyRows(table) {
  return table.tBodies[0]?.rows ?? []
}
