import {
  ACCENT,
  CARD,
  draw,
  emptyNote,
  pointsAlong,
  INK,
  LINE,
  OPEN_PATTERN,
  TIP,
  WARN,
  widthForLetters,
} from './chart-draw.js'
import { clockText, dateText, dateTimeText, dayMonthText, dayText } from './chart-format.js'
import { parseInstant } from './chart-data.js'

/**
 * @import { ChartType, Plot } from './chart-draw.js'
 * @import { Row } from './chart-data.js'
 */

const EMPTY_HEIGHT = 80
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** How many days are on a line; the first that needs no more lines than MAX_LINES. */
const LINE_DAYS = [1, 7, 28, 91]
const MAX_LINES = 60

/** In pixels of letters of the usual size. */
const NARROW = 220

/** Lines of weeks begin on Mondays. */
const FIRST_MONDAY = new Date(4 * DAY_MS)

/**
 * Locked and open intervals on one line, or on one line for each day where they take more than 24 hours. Where there would be too
 * many lines, each has several weeks.
 *
 * @type {ChartType}
 */
export const timeline = {
  height: ({ rows }) => heightOf(layOut(rows)),
  draw(plot, host, { rows, ticks, title, data, empty }) {
    const layout = layOut(rows)
    if (layout === undefined) {
      draw(plot, host, {
        title,
        height: EMPTY_HEIGHT,
        x: { axis: null },
        marks: [plot.frame({ stroke: LINE }), emptyNote(plot, empty)],
      })
      return
    }
    const { lines, lineDays, wraps, positionOf } = layout
    const width = widthForLetters(host)
    // With large text on a phone, the names of weekdays would leave no room.
    const isShort = width < NARROW
    const nameOfDay = isShort ? dayMonthText : dayText
    const blocks = rows.flatMap(row => blocksOf(row, layout))
    const events = ticks.map(positionOf)
    draw(plot, host, {
      title,
      height: heightOf(layout),
      marginTop: 4,
      marginLeft: wraps ? (lineDays > 1 ? 92 : isShort ? 52 : 84) : 12,
      marginRight: 24,
      x: xAxis(layout, width),
      y: {
        type: 'band',
        domain: lines,
        axis: wraps ? 'left' : null,
        tickFormat: lineDays > 1 ? dateText : nameOfDay,
        tickSize: 0,
        label: null,
        padding: 0.25,
      },
      marks: [
        plot.rect(blocks, {
          x1: 'x1',
          x2: 'x2',
          y: 'line',
          fill: 'fill',
          stroke: ACCENT,
          strokeWidth: 'strokeWidth',
        }),
        plot.tickX(events, { x: 'x', y: 'line', stroke: INK, strokeWidth: 1.5, inset: -2 }),
        ...nowMarks(plot, layout, parseInstant(data.now)),
        plot.tip(
          pointsAlong(blocks, ({ x1, x2 }) => [Number(x1), Number(x2)], stepOf(layout, host.clientWidth)),
          plot.pointer({ ...TIP, x: 'along', y: 'line', title: 'tip' }),
        ),
      ],
    })
  },
}

/**
 * @typedef {object} Layout
 * @property {Date} first
 * @property {Date} last
 * @property {boolean} wraps Whether there are several lines, with hours as positions; otherwise instants are.
 * @property {number} lineDays How many days are on a line.
 * @property {readonly Date[]} lines The first day of each line.
 * @property {(time: Date) => Position} positionOf
 */

/** @typedef {{ readonly line: Date; readonly x: Date | number }} Position */

/**
 * The lines of a timeline; undefined without intervals.
 *
 * @param {readonly Row[]} rows
 * @returns {Layout | undefined}
 */
function layOut(rows) {
  const first = rows[0]?.instant('start')
  const last = rows.at(-1)?.instant('end')
  if (first === undefined || last === undefined) return undefined
  const wraps = last.getTime() - first.getTime() > DAY_MS
  if (!wraps) {
    const line = startOfLine(first, 1, FIRST_MONDAY)
    return { first, last, wraps, lineDays: 1, lines: [line], positionOf: time => ({ line, x: time }) }
  }
  const length = (last.getTime() - first.getTime()) / DAY_MS
  const lineDays = LINE_DAYS.find(days => length / days <= MAX_LINES) ?? Math.ceil(length / MAX_LINES / 7) * 7
  const origin = startOfLine(first, lineDays === 1 ? 1 : 7, FIRST_MONDAY)
  /** @type {Date[]} */
  const lines = []
  for (let line = origin; line < last; line = nextLine(line, lineDays)) lines.push(line)
  const positionOf = (/** @type {Date} */ time) => {
    const line = startOfLine(time, lineDays, origin)
    return { line, x: (time.getTime() - line.getTime()) / HOUR_MS }
  }
  return { first, last, wraps, lineDays, lines, positionOf }
}

/**
 * The midnight that begins the line of an instant.
 *
 * @param {Date} time
 * @param {number} lineDays
 * @param {Date} origin the start of a line
 */
function startOfLine(time, lineDays, origin) {
  const step = lineDays * DAY_MS
  return new Date(origin.getTime() + Math.floor((time.getTime() - origin.getTime()) / step) * step)
}

/**
 * @param {Date} line
 * @param {number} lineDays
 */
function nextLine(line, lineDays) {
  return new Date(line.getTime() + lineDays * DAY_MS)
}

/**
 * Eight pixels on the axis.
 *
 * @param {Layout} layout
 * @param {number} width
 */
function stepOf({ first, last, wraps, lineDays }, width) {
  return ((wraps ? 24 * lineDays : last.getTime() - first.getTime()) * 8) / width
}

/** @param {Layout | undefined} layout */
function heightOf(layout) {
  return layout === undefined ? EMPTY_HEIGHT : layout.lines.length * (layout.wraps ? 22 : 44) + 32
}

/**
 * The blocks of an interval: one, or one for each line it touches.
 *
 * @param {Row} row
 * @param {Layout} layout
 */
function blocksOf(row, { wraps, lineDays, positionOf }) {
  const end = row.instant('end')
  const look = row.flag('locked') ? { fill: ACCENT, strokeWidth: 0 } : { fill: OPEN_PATTERN, strokeWidth: 0.75 }
  const tip = `${row.text('label')}\n${dateTimeText(row.instant('start'))} – ${dateTimeText(end)}`
  const blocks = []
  for (let start = row.instant('start'); start < end;) {
    const { line, x: x1 } = positionOf(start)
    const lineEnd = nextLine(line, lineDays)
    const stop = wraps && lineEnd < end ? lineEnd : end
    // A block that ends with its line ends on that line.
    const x2 = wraps ? (stop.getTime() - line.getTime()) / HOUR_MS : stop
    blocks.push({ line, x1, x2, tip, ...look })
    start = stop
  }
  return blocks
}

/**
 * @param {Layout} layout
 * @param {number} width
 */
function xAxis({ first, last, wraps, lineDays }, width) {
  if (!wraps) {
    const ticks = Math.max(2, width / 100)
    return /** @type {const} */ ({ type: 'utc', domain: [first, last], label: null, ticks, tickFormat: clockText })
  }
  if (lineDays > 1) {
    const step = (width < 400 ? lineDays : lineDays / 7) * 24
    return {
      domain: [0, 24 * lineDays],
      ticks: Array.from({ length: (24 * lineDays) / step + 1 }, (_, index) => index * step),
      tickFormat: (/** @type {number} */ hours) => `${hours / 24}\u00a0d`,
      label: null,
      grid: true,
    }
  }
  return {
    domain: [0, 24],
    ticks: width < NARROW ? [0, 24] : width < 400 ? [0, 12, 24] : [0, 6, 12, 18, 24],
    tickFormat: (/** @type {number} */ hour) => `${String(hour).padStart(2, '0')}:00`,
    label: null,
    grid: true,
  }
}

/**
 * A tick with a label where the time is now, while the session runs.
 *
 * @param {Plot} plot
 * @param {Layout} layout
 * @param {Date | undefined} now
 */
function nowMarks(plot, { last, wraps, lineDays, positionOf }, now) {
  if (now === undefined || last.getTime() !== now.getTime()) return []
  // The instant before belongs to the last line also at midnight.
  const { line } = positionOf(new Date(now.getTime() - 1))
  const x = wraps ? (now.getTime() - line.getTime()) / HOUR_MS : now
  const isAtEnd = typeof x !== 'number' || x > 20 * lineDays
  return [
    plot.tickX([{ line, x }], { x: 'x', y: 'line', stroke: WARN, strokeWidth: 2.5, inset: -4 }),
    plot.text([{ line, x }], {
      x: 'x',
      y: 'line',
      text: () => 'now',
      dx: wraps && isAtEnd ? -6 : 6,
      textAnchor: isAtEnd ? 'end' : 'start',
      fill: INK,
      stroke: CARD,
      strokeWidth: 4,
    }),
  ]
}
