/** Times in which nothing was recorded: lines are broken there, and the time is hatched. */

import { BREAK_PATTERN } from './chart-draw.js'

/** @import { Plot } from './chart-draw.js' */

const DAY_MS = 86_400_000
/** `stats/training.ts` has the same, for averages and legends. */
const BREAK_DAYS = 14

/**
 * The points with one that has no value in each break, so that no line is drawn across it.
 *
 * @param {readonly { readonly at: Date }[]} points
 * @param {number} [days] the days that a point stands for
 */
export function broken(points, days = 0) {
  return points.flatMap((point, index) => {
    const next = points[index + 1]
    return next !== undefined && isBreak(point, next, days) ? [point, { at: point.at }] : [point]
  })
}

/**
 * @param {Plot} plot
 * @param {readonly { readonly at: Date }[]} points
 * @param {readonly number[]} domain of the other axis
 * @param {number} [days] the days that a point stands for
 */
export function breakMark(plot, points, [y1 = 0, y2 = 0], days = 0) {
  const half = (days * DAY_MS) / 2
  const breaks = points.flatMap((point, index) => {
    const next = points[index + 1]
    if (next === undefined || !isBreak(point, next, days)) return []
    return [{ x1: new Date(point.at.getTime() + half), x2: new Date(next.at.getTime() - half), y1, y2 }]
  })
  return plot.rect(breaks, { x1: 'x1', x2: 'x2', y1: 'y1', y2: 'y2', fill: BREAK_PATTERN })
}

/**
 * @param {{ readonly at: Date }} point
 * @param {{ readonly at: Date }} next
 * @param {number} days
 */
function isBreak(point, next, days) {
  return next.at.getTime() - point.at.getTime() >= (BREAK_DAYS + days) * DAY_MS
}
