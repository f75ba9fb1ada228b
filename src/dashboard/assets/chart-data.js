/** Reads the data of a chart from its card: `dataOf` in charts.ts writes it. */

/**
 * @typedef {object} Column
 * @property {string} key
 * @property {string} title
 * @property {string} [series] The look of the bars made of this column.
 * @property {readonly string[]} [texts]
 * @property {readonly (number | null)[]} [values]
 * @property {readonly number[]} [days] The same in days.
 * @property {readonly number[]} [times] Seconds, as the differences of their differences: `times` in charts.ts writes them.
 * @property {string} [passed] For each value 1 if it was passed, else 0.
 * @property {readonly (number | null)[]} [averages] The moving average at each value.
 */

/**
 * @typedef {object} StoredData
 * @property {number} length
 * @property {readonly Column[]} columns
 * @property {readonly number[]} [ticks] As the times of a column.
 * @property {{ readonly title: string; readonly times: readonly number[]; readonly values: readonly number[] }} [overlay]
 * @property {string} [path] Where the marks of rows lead, without the identifier of the row.
 * @property {readonly number[]} [ids] Each but the first is what it adds to the one before it.
 */

/**
 * @typedef {object} ChartData
 * @property {readonly Column[]} columns
 * @property {readonly Row[]} rows
 * @property {readonly Date[]} ticks Instants that are marked.
 * @property {readonly { readonly at: Date; readonly value: number }[]} overlay A dashed line.
 */

/**
 * @param {HTMLElement} section
 * @returns {ChartData}
 */
export function readData(section) {
  const text = section.querySelector('script[type="application/json"]')?.textContent
  if (text == null) throw new Error('its data is missing')
  const stored = /** @type {StoredData} The server wrote it in this form. */ (JSON.parse(text))
  const cells = new Map(stored.columns.map(column => [column.key, { ...column, times: sums(sums(secondsOf(column))) }]))
  const ids = sums(stored.ids ?? [])
  return {
    columns: stored.columns,
    rows: Array.from({ length: stored.length }, (_, index) => {
      const id = ids[index]
      return new Row(cells, index, id === undefined ? undefined : `${stored.path ?? ''}${id}`)
    }),
    ticks: sums(sums(stored.ticks ?? [])).map(instantOf),
    overlay: sums(sums(stored.overlay?.times ?? [])).map((seconds, index) => ({
      at: instantOf(seconds),
      value: stored.overlay?.values[index] ?? 0,
    })),
  }
}

/**
 * A time on the clock of the account's zone. This browser may be in another zone, so all times are drawn as if in UTC.
 *
 * @param {string | undefined} text as `YYYY-MM-DDTHH:mm:ss`
 */
export function parseInstant(text) {
  return text === undefined || text === '' ? undefined : new Date(`${text}Z`)
}

/** A row of the data, with its values by the key of their column. */
export class Row {
  #columns
  #index

  /**
   * @param {ReadonlyMap<string, Column>} columns
   * @param {number} index
   * @param {string | undefined} href Where a click on the row's mark leads.
   */
  constructor(columns, index, href) {
    this.#columns = columns
    this.#index = index
    this.href = href
  }

  /** @param {string} key */
  text(key) {
    return this.#columns.get(key)?.texts?.[this.#index] ?? ''
  }

  /** @param {string} key */
  number(key) {
    return this.#columns.get(key)?.values?.[this.#index] ?? null
  }

  /** @param {string} key */
  flag(key) {
    return this.number(key) === 1
  }

  /** @param {string} key */
  instant(key) {
    const seconds = this.#columns.get(key)?.times?.[this.#index]
    if (seconds === undefined) throw new TypeError(`${key} is no time`)
    return instantOf(seconds)
  }

  /**
   * For a value that is something else: whether it was passed.
   *
   * @param {string} key
   */
  passed(key) {
    return this.#columns.get(key)?.passed?.[this.#index] === '1'
  }

  /**
   * The moving average at this row, where it has a value.
   *
   * @param {string} key
   */
  average(key) {
    return this.#columns.get(key)?.averages?.[this.#index] ?? NaN
  }
}

/** @param {Column} column */
function secondsOf({ times, days = [] }) {
  return times ?? days.map(day => day * 86_400)
}

/** @param {number} seconds */
function instantOf(seconds) {
  return new Date(seconds * 1000)
}

/** @param {readonly number[]} steps */
function sums(steps) {
  let sum = 0
  return steps.map(step => (sum += step))
}
