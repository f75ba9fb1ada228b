/** Times, lengths and numbers as text. Instants are drawn as if in UTC; see parseInstant in chart-data.js. */

/** @param {Date} time */
export function dateTimeText(time) {
  return time.toLocaleString('en-GB', {
    timeZone: 'UTC',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
  })
}

/** @param {Date} time */
export function dateText(time) {
  return time.toLocaleDateString('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short', year: 'numeric' })
}

/** @param {Date} time */
export function monthText(time) {
  return time.toLocaleDateString('en-GB', { timeZone: 'UTC', month: 'long', year: 'numeric' })
}

/** @param {Date} time */
export function clockText(time) {
  return time.toLocaleTimeString('en-GB', { timeZone: 'UTC', hour: '2-digit', minute: '2-digit' })
}

/** @param {Date} time */
export function dayText(time) {
  return time.toLocaleDateString('en-GB', { timeZone: 'UTC', weekday: 'short', day: 'numeric', month: 'short' })
}

/** @param {Date} time */
export function dayMonthText(time) {
  return time.toLocaleDateString('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' })
}

/** @param {number} value */
export function amountText(value) {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })
}

/**
 * `1:02:03` or `2:03`.
 *
 * @param {number} seconds
 */
export function lengthText(seconds) {
  const whole = Math.round(seconds)
  const hours = Math.floor(whole / 3600)
  const minutes = Math.floor(whole / 60) % 60
  const rest = String(whole % 60).padStart(2, '0')
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`
}

/**
 * Ticks for an axis of seconds, at steps that a clock has.
 *
 * @param {number} end
 * @param {number} width in pixels
 */
export function secondTicks(end, width) {
  const most = maxTicks(width)
  const step = [5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200].find(step => end / step <= most) ?? 14_400
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, index) => index * step)
}

/** @param {number} width in pixels */
export function maxTicks(width) {
  return Math.max(2, Math.min(6, width / 48))
}
