/** Times, lengths and numbers as text. Instants are drawn as if in UTC; see parseInstant in chart-data.js. */

const dateTimes = formatOf({ day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' })
const dates = formatOf({ day: 'numeric', month: 'short', year: 'numeric' })
const months = formatOf({ month: 'long', year: 'numeric' })
const shortMonths = formatOf({ month: 'short' })
const clocks = formatOf({ hour: '2-digit', minute: '2-digit' })
const days = formatOf({ weekday: 'short', day: 'numeric', month: 'short' })
const dayMonths = formatOf({ day: 'numeric', month: 'short' })
const amounts = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const smallAmounts = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

/** @param {Date} time */
export function dateTimeText(time) {
  return dateTimes.format(time)
}

/** @param {Date} time */
export function dateText(time) {
  return dates.format(time)
}

/** @param {Date} time */
export function shortMonthText(time) {
  return shortMonths.format(time)
}

/** @param {Date} time */
export function clockText(time) {
  return clocks.format(time)
}

/** @param {Date} time */
export function dayText(time) {
  return days.format(time)
}

/** @param {Date} time */
export function dayMonthText(time) {
  return dayMonths.format(time)
}

/** @param {number} value */
export function amountText(value) {
  return (value < 10 ? smallAmounts : amounts).format(value)
}

/** @typedef {{ readonly days: number; readonly nameOf: (start: Date) => string }} PeriodWords */

/** @type {Readonly<Record<string, PeriodWords>> & { readonly week: PeriodWords }} */
const periods = {
  week: { days: 7, nameOf: start => `Week of ${dates.format(start)}` },
  month: { days: 30, nameOf: start => months.format(start) },
  quarter: { days: 91, nameOf: start => `Q${Math.ceil((start.getUTCMonth() + 1) / 3)} ${start.getUTCFullYear()}` },
}

/**
 * The length of the periods of a chart, and how one is named.
 *
 * @param {string | undefined} period a week if not given
 */
export function periodWords(period) {
  return periods[period ?? ''] ?? periods.week
}

/**
 * Made once, as it takes far longer than formatting.
 *
 * @param {Intl.DateTimeFormatOptions} options
 */
function formatOf(options) {
  return new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' })
}
