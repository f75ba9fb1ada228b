import { breakMark, broken } from './chart-breaks.js'
import {
  ACCENT,
  BEFORE_LINE,
  CARD,
  draw,
  emptyNote,
  timeTicks,
  INK,
  LINE,
  svgElement,
  TIP,
  widthForLetters,
} from './chart-draw.js'
import { dateTimeText, periodWords } from './chart-format.js'

/**
 * @import { Markish, RenderFunction } from '@observablehq/plot'
 * @import { Chart, ChartType, Plot } from './chart-draw.js'
 * @import { Column, Row } from './chart-data.js'
 */

export const HEIGHT = 260
export const PANEL_HEIGHT = 140
const DOT_STROKE = { stroke: ACCENT, strokeWidth: 1.25 }

/**
 * Grades over time with their moving average: a filled dot for passed, a hollow one for not passed.
 *
 * @type {ChartType}
 */
export const grade = {
  height: () => HEIGHT,
  draw(plot, host, chart) {
    const points = chart.rows
      .filter(row => row.number('grade') !== null)
      .map(row => point(row, row.number('grade') ?? 0, row.number('average') ?? NaN, row.flag('passed')))
    drawGrades(plot, host, chart, { title: chart.title, height: HEIGHT, points, overlay: chart.overlay })
  },
}

/**
 * A panel for each kind, as kinds measure different things.
 *
 * @type {ChartType}
 */
export const gradeByKind = {
  height: ({ columns }) => kindsOf(columns).map(({ title }) => ({ title, height: PANEL_HEIGHT })),
  draw(plot, host, chart, panel) {
    const { key = '', title = '' } = kindsOf(chart.columns)[panel] ?? {}
    const points = chart.rows
      .filter(row => row.number(key) !== null)
      .map(row => point(row, row.number(key) ?? 0, row.average(key), row.passed(key)))
    drawGrades(plot, host, chart, { title: `${title}: grade over time`, height: PANEL_HEIGHT, points })
  },
}

/** @param {readonly Column[]} columns */
export function kindsOf(columns) {
  return columns.filter(({ key }) => key.startsWith('kind-'))
}

/** @typedef {ReturnType<typeof point>} Point */

/**
 * @param {Row} row
 * @param {number} grade
 * @param {number} average
 * @param {boolean} passed
 */
function point(row, grade, average, passed) {
  const at = row.instant('at')
  return {
    at,
    grade,
    average,
    href: row.href,
    fill: passed ? ACCENT : CARD,
    opacity: passed ? 0.85 : 1,
    tip: `${dateTimeText(at)}\n${grade} % · ${passed ? 'Passed' : 'Not passed'}\nOpen session`,
  }
}

/**
 * @param {Plot} plot
 * @param {HTMLElement} host
 * @param {Chart} chart
 * @param {{ title: string; height: number; points: readonly Point[]; overlay?: Chart['overlay'] }} panel
 */
function drawGrades(plot, host, chart, panel) {
  const { height, points } = panel
  // Of all rows, so that panels beside each other have dots of one size.
  const r = radiusFor(chart.rows.length / host.clientWidth)
  drawOverTime(plot, host, chart, panel, 0, before => [
    height < HEIGHT
      ? dotPaths(points, r)
      : plot.dot(points, { x: 'at', y: 'grade', r, fill: 'fill', fillOpacity: 'opacity', ...DOT_STROKE }),
    before,
    points.filter(({ average }) => !Number.isNaN(average)).length > 1
      ? plot.lineY(broken(points), { x: 'at', y: 'average', stroke: INK, strokeWidth: 1.75, strokeOpacity: 0.7 })
      : null,
    plot.tip(points, plot.pointer({ ...TIP, x: 'at', y: 'grade', title: 'tip' })),
  ])
}

/**
 * Draws grades over the time that the page shows. The axis says where it starts, unless that is zero.
 *
 * @template {{ readonly at: Date }} Point
 * @param {Plot} plot
 * @param {HTMLElement} host
 * @param {Chart} chart
 * @param {{ title: string; height: number; points: readonly Point[]; overlay?: Chart['overlay'] }} panel
 * @param {number} days the days that a point stands for
 * @param {(before: Markish) => Markish[]} marksWith the marks of the points, with the line of the compared period
 */
export function drawOverTime(plot, host, { data, empty }, { title, height, points, overlay = [] }, days, marksWith) {
  const [low, high] = [Number(data.low ?? 0), Number(data.high ?? 100)]
  const isWhole = low === 0 && high === 100
  const label = isWhole || height < HEIGHT ? null : `Grade, ${low} to ${high} %`
  const [start, end] = [new Date(`${data.from}Z`), new Date(`${data.to}Z`)]
  const line = broken(overlay, periodWords(data.period).days)
  draw(plot, host, {
    title,
    height,
    x: { type: 'utc', domain: [start, end], label: null, ...timeTicks(start, end, widthForLetters(host)) },
    marginTop: label === null ? 12 : 30,
    y: { domain: [low, high], ticks: 4, grid: true, label },
    marks: [
      breakMark(plot, points, [low, high], days),
      plot.ruleY([low], { stroke: LINE }),
      points.length === 0 ? emptyNote(plot, empty) : null,
      ...marksWith(overlay.length > 1 ? plot.lineY(line, { x: 'at', y: 'value', ...BEFORE_LINE, clip: true }) : null),
    ],
  })
}

/**
 * All dots of a look as one path. Several panels with an element for each dot keep a phone busy for twice as long.
 *
 * @param {readonly Point[]} points
 * @param {number} r
 * @returns {RenderFunction}
 */
function dotPaths(points, r) {
  return (_index, { x, y }) => {
    const group = svgElement('g', { stroke: DOT_STROKE.stroke, 'stroke-width': DOT_STROKE.strokeWidth })
    for (const [fill, dots] of Map.groupBy(points, point => point.fill)) {
      const circles = dots.map(({ at, grade }) => {
        const [left, middle] = [Number(x?.(at)) - r, Number(y?.(grade))]
        return `M${left.toFixed(1)},${middle.toFixed(1)}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0`
      })
      group.append(svgElement('path', { d: circles.join(''), fill, 'fill-opacity': dots[0]?.opacity ?? 1 }))
    }
    return group
  }
}

/** @param {number} density in points a pixel */
function radiusFor(density) {
  if (density > 0.5) return 1.75
  return density > 0.2 ? 2.5 : 3.5
}
