/** Times, lengths and numbers as text. Instants are drawn as if in UTC; see parseInstant in chart-data.js. */

const DAY_MS = 86_400_000
const date = /** @type {const} */ ({ day: 'numeric', month: 'short', year: 'numeric' })
const clock = /** @type {const} */ ({ hour: '2-digit', minute: '2-digit' })
const dayMonth = /** @type {const} */ ({ day: 'numeric', month: 'short' })
const dates = formatOf(date)
const dayMonths = formatOf(dayMonth)
const monthText = textIn({ month: 'long', year: 'numeric' })
export const dateText = textIn(date)
export const dateTimeText = textIn({ ...date, ...clock })
export const shortMonthText = textIn({ month: 'short' })
export const clockText = textIn(clock)
export const dayText = textIn({ ...dayMonth, weekday: 'short' })
export const dayMonthText = textIn(dayMonth)
const amounts = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const smallAmounts = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

/** @param {number} value */
export function amountText(value) {
  return (value < 10 ? smallAmounts : amounts).format(value)
}

/**
 * With a decimal, as values in percent are rounded to it.
 *
 * @param {number} value
 */
export function percentText(value) {
  return `${smallAmounts.format(value)} %`
}

/** @typedef {{ readonly days: number; readonly nameOf: (start: Date) => string }} PeriodWords */

/** @type {Readonly<Record<string, PeriodWords>> & { readonly week: PeriodWords }} */
const periods = {
  week: { days: 7, nameOf: start => weekText(start, new Date(start.getTime() + 7 * DAY_MS)) },
  month: { days: 30, nameOf: monthText },
  quarter: { days: 91, nameOf: start => `Q${Math.ceil((start.getUTCMonth() + 1) / 3)} ${start.getUTCFullYear()}` },
}

/**
 * `14–20 Sept`, `28 Sept – 4 Oct`, with the year where that is not clear.
 *
 * @param {Date} start
 * @param {Date} end the day after the last one
 */
function weekText(start, end) {
  const last = new Date(end.getTime() - 1)
  const format = Date.now() - start.getTime() < 300 * DAY_MS ? dayMonths : dates
  return format.formatRange(start, last).replace(/^(\d+)\s–\s/, '$1–')
}

/**
 * The name of a week, which may be cut at its ends, of a month or of a quarter.
 *
 * @param {string | undefined} period a week if not given
 * @param {Date} start
 * @param {Date} end
 */
export function periodName(period, start, end) {
  return period === undefined ? weekText(start, end) : periodWords(period).nameOf(start)
}

/**
 * The length of the periods of a chart, and how one is named.
 *
 * @param {string | undefined} period a week if not given
 */
export function periodWords(period) {
  return periods[period ?? ''] ?? periods.week
}

/** @param {Intl.DateTimeFormatOptions} options */
function textIn(options) {
  const format = formatOf(options)
  return (/** @type {Date} */ time) => format.format(time)
}

/**
 * Made once, as it takes far longer than formatting.
 *
 * @param {Intl.DateTimeFormatOptions} options
 */
function formatOf(options) {
  return new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' })
}
