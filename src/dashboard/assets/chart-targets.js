import { ACCENT, CARD, draw, emptyNote, INK, MUTED, TIP } from './chart-draw.js'
import { amountText, lengthText, maxTicks, secondTicks } from './chart-format.js'

/**
 * @import { ChartType, Plot } from './chart-draw.js'
 * @import { Column, Row } from './chart-data.js'
 */

const MEASURES = ['seconds', 'reps']

/**
 * Measured values as bars and their targets as ticks: a panel for time and one for repetitions.
 *
 * @type {ChartType}
 */
export const targets = {
  height({ columns, rows }) {
    const height = heightOf(rows.length)
    return titlesOf(columns).map(title => ({ title, height }))
  },
  draw(plot, host, { columns, rows, empty }, panel) {
    const measure = MEASURES[panel] ?? ''
    drawMeasure(plot, host, { measure, title: titlesOf(columns)[panel] ?? '', rows, empty })
  },
}

/** @param {readonly Column[]} columns */
function titlesOf(columns) {
  return MEASURES.map(measure => columns.find(({ key }) => key === measure)?.title ?? measure)
}

/**
 * @param {Plot} plot
 * @param {HTMLElement} panel
 * @param {{ measure: string; title: string; rows: readonly Row[]; empty: string }} options
 */
function drawMeasure(plot, panel, { measure, title, rows, empty }) {
  const isTime = measure === 'seconds'
  const format = isTime ? lengthText : amountText
  const bars = rows.map(row => barOf(row, measure, format))
  const end = Math.max(1, ...bars.flatMap(({ value, target }) => [value, target]))
  const left = 10 + Math.max(30, ...bars.map(({ label }) => label.length * 6.6))
  const width = panel.clientWidth - left
  draw(plot, panel, {
    title,
    height: heightOf(rows.length),
    marginTop: 4,
    marginLeft: Math.min(left, panel.clientWidth * 0.45),
    x: {
      domain: [0, end],
      label: null,
      grid: true,
      ticks: isTime ? secondTicks(end, width) : Math.min(5, maxTicks(width)),
      tickFormat: format,
    },
    y: { domain: bars.map(({ label }) => label), label: null, tickSize: 0, padding: 0.3 },
    marks: [
      bars.length === 0 ? emptyNote(plot, empty) : null,
      plot.barX(bars, { x1: 0, x2: 'value', y: 'label', fill: 'fill', stroke: ACCENT, strokeWidth: 1.25, rx: 2 }),
      plot.tickX(
        bars.filter(({ target }) => target > 0),
        { x: 'target', y: 'label', stroke: INK, strokeWidth: 2.5, inset: -2 },
      ),
      plot.tip(bars, plot.pointerY({ ...TIP, x: 'value', y: 'label', title: 'tip' })),
      plot.ruleX([0], { stroke: MUTED }),
    ],
  })
}

/**
 * @param {Row} row
 * @param {string} measure
 * @param {(value: number) => string} format
 */
function barOf(row, measure, format) {
  const label = row.text('label')
  const value = row.number(measure) ?? 0
  const target = row.number(`${measure}-target`) ?? 0
  const passed = row.flag('passed')
  const aim = target > 0 ? ` of ${format(target)}` : ', no target'
  return {
    label,
    value,
    target,
    fill: passed ? ACCENT : CARD,
    tip: `${label}\n${format(value)}${aim}\n${passed ? 'Passed' : 'Not passed'}`,
  }
}

/** @param {number} count */
function heightOf(count) {
  return Math.max(90, count * 22 + 34)
}
