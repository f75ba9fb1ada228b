import { broken } from './chart-breaks.js'
import { ACCENT, INK, TIP } from './chart-draw.js'
import { drawOverTime, gradeByKind, HEIGHT, kindsOf, PANEL_HEIGHT } from './chart-grade.js'
import { periodWords } from './chart-format.js'

/** @import { Chart, ChartType, Plot } from './chart-draw.js' */

const DAY_MS = 86_400_000

/**
 * Grades by week or month where there are too many for a dot each: the median as a line, and a band from the 10th to the 90th
 * percentile.
 *
 * @type {ChartType}
 */
export const spread = {
  height: () => HEIGHT,
  draw(plot, host, chart) {
    const points = pointsOf(chart, { median: 'median', low: 'low', high: 'high' })
    drawSpread(plot, host, chart, { title: chart.title, height: HEIGHT, points, overlay: chart.overlay })
  },
}

/**
 * A panel for each kind.
 *
 * @type {ChartType}
 */
export const spreadByKind = {
  height: gradeByKind.height,
  draw(plot, host, chart, panel) {
    const { key = '', title = '' } = kindsOf(chart.columns)[panel] ?? {}
    const points = pointsOf(chart, {
      median: key,
      low: key.replace('kind', 'low'),
      high: key.replace('kind', 'high'),
    })
    drawSpread(plot, host, chart, {
      title: `${title}: grade by ${chart.data.period ?? 'week'}`,
      height: PANEL_HEIGHT,
      points,
    })
  },
}

/** @typedef {{ readonly at: Date; readonly median: number; readonly low: number; readonly high: number; readonly tip: string }} Point */

/**
 * The weeks or months that have grades.
 *
 * @param {Chart} chart
 * @param {{ median: string; low: string; high: string }} keys
 * @returns {Point[]}
 */
function pointsOf({ rows, data }, keys) {
  const { days, nameOf } = periodWords(data.period)
  return rows.flatMap(row => {
    const [median, low, high] = [row.number(keys.median), row.number(keys.low), row.number(keys.high)]
    if (median === null || low === null || high === null) return []
    const start = row.instant('at')
    const at = new Date(start.getTime() + (days * DAY_MS) / 2)
    return [{ at, median, low, high, tip: `${nameOf(start)}\nMedian ${median} %\n${low} to ${high} %` }]
  })
}

/**
 * @param {Plot} plot
 * @param {HTMLElement} host
 * @param {Chart} chart
 * @param {{ title: string; height: number; points: readonly Point[]; overlay?: Chart['overlay'] }} panel
 */
function drawSpread(plot, host, chart, panel) {
  const { points } = panel
  const { days } = periodWords(chart.data.period)
  const shown = broken(points, days)
  drawOverTime(plot, host, chart, panel, days, before => [
    plot.areaY(shown, { x: 'at', y1: 'low', y2: 'high', fill: ACCENT, fillOpacity: 0.25 }),
    before,
    plot.lineY(shown, { x: 'at', y: 'median', stroke: INK, strokeWidth: 1.75 }),
    plot.dot(points, { x: 'at', y: 'median', r: 1.75, fill: INK }),
    plot.tip(points, plot.pointerX({ ...TIP, x: 'at', y: 'median', title: 'tip' })),
  ])
}
