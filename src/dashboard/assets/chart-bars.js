import {
  ACCENT,
  APPROXIMATE_PATTERN,
  draw,
  emptyNote,
  middleOf,
  MUTED,
  OPEN_PATTERN,
  SO_FAR_PATTERN,
  TIP,
} from './chart-draw.js'
import { amountText, dateText, monthText } from './chart-format.js'

/**
 * @import { Chart, ChartType, Plot } from './chart-draw.js'
 * @import { Column, Row } from './chart-data.js'
 */

const HEIGHT = 200
const DAY_MS = 86_400_000

/** @type {Readonly<Record<string, string>>} */
const FILLS = { solid: ACCENT, open: OPEN_PATTERN, approximate: APPROXIMATE_PATTERN }

/**
 * Sums by week or month as stacked bars from zero, with their average. The current period is hatched, as it is not over.
 *
 * @type {ChartType}
 */
export const bars = {
  height: () => HEIGHT,
  draw(plot, host, { columns, rows, title, data, empty }) {
    const periods = rows.map(row => ({ row, start: row.instant('start'), end: row.instant('end') }))
    const monthly = isMonthly(periods)
    const { blocks, tops } = stack(periods, columns, { unit: data.unit ?? '', nameOf: monthly ? monthText : dateText })
    const highest = Math.max(0, ...tops.map(({ top }) => top))
    const average = Number(data.average ?? 0)
    draw(plot, host, {
      title,
      height: HEIGHT,
      marginLeft: 44,
      x: {
        type: 'utc',
        domain: domainOf(periods),
        label: null,
        ...(monthly ? { axis: null } : { ticks: Math.max(2, host.clientWidth / 90) }),
      },
      y: {
        domain: [0, highest === 0 ? 1 : highest],
        nice: true,
        grid: true,
        ticks: highest === 0 ? [0] : 4,
        tickFormat: amountText,
        label: null,
      },
      marks: [
        monthly ? monthNames(plot, periods, host.clientWidth) : null,
        highest === 0 ? emptyNote(plot, empty) : null,
        plot.rectY(blocks, {
          x1: 'start',
          x2: 'end',
          y1: 'bottom',
          y2: 'top',
          fill: 'fill',
          inset: 0,
          insetLeft: 1,
          insetRight: 1,
          stroke: 'stroke',
          strokeWidth: 0.75,
        }),
        average > 0 ? plot.ruleY([average], { stroke: MUTED, strokeDasharray: '4 3', strokeWidth: 1.25 }) : null,
        plot.ruleY([0], { stroke: MUTED }),
        plot.tip(tops, plot.pointerX({ ...TIP, x: 'middle', y: 'top', title: 'tip' })),
      ],
    })
  },
}

/** @typedef {{ readonly row: Row; readonly start: Date; readonly end: Date }} Period */

/**
 * The blocks that bars consist of, and the top of each bar with its tooltip.
 *
 * @param {readonly Period[]} periods
 * @param {readonly Column[]} columns
 * @param {{ unit: string; nameOf: (start: Date) => string }} words
 */
function stack(periods, columns, { unit, nameOf }) {
  const series = columns.filter(column => column.series !== undefined)
  const blocks = []
  const tops = []
  for (const { row, start, end } of periods) {
    let top = 0
    const lines = [`${nameOf(start)}${row.flag('current') ? ' (so far)' : ''}`]
    for (const { key, title, series: look = '' } of series) {
      const value = row.number(key) ?? 0
      lines.push(`${title}: ${amountText(value)}${unit && ` ${unit}`}`)
      const bottom = top
      top += value
      if (value <= 0) continue
      const fill = row.flag('current') && look === 'solid' ? SO_FAR_PATTERN : FILLS[look]
      blocks.push({ start, end, bottom, top, fill, stroke: fill === ACCENT ? 'none' : ACCENT })
    }
    tops.push({ middle: middleOf(start, end), top, href: row.href, tip: lines.join('\n') })
  }
  return { blocks, tops }
}

/** @param {readonly Period[]} periods */
function domainOf(periods) {
  const now = Date.now()
  return [periods[0]?.start ?? new Date(now - DAY_MS / 2), periods.at(-1)?.end ?? new Date(now + DAY_MS / 2)]
}

/**
 * Months are few enough for a name under each; weeks are not.
 *
 * @param {readonly Period[]} periods
 */
function isMonthly([_, second]) {
  return second !== undefined && second.end.getTime() - second.start.getTime() > 27 * DAY_MS
}

/**
 * @param {Plot} plot
 * @param {readonly Period[]} periods
 * @param {number} width
 */
function monthNames(plot, periods, width) {
  const every = Math.max(1, Math.ceil((periods.length * 44) / width))
  const shown = periods.filter((_, index) => (periods.length - 1 - index) % every === 0)
  return plot.axisX(
    shown.map(({ start, end }) => middleOf(start, end)),
    {
      label: null,
      tickSize: 0,
      tickFormat(/** @type {Date} */ middle, /** @type {number} */ index) {
        const month = middle.toLocaleDateString('en-GB', { timeZone: 'UTC', month: 'short' })
        return index === 0 || middle.getUTCMonth() < every ? `${month}\n${middle.getUTCFullYear()}` : month
      },
    },
  )
}
