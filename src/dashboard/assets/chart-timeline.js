import { ACCENT, CARD, draw, emptyNote, pointsAlong, INK, LINE, OPEN_PATTERN, TIP, WARN } from './chart-draw.js'
import { clockText, dateTimeText, dayText } from './chart-format.js'
import { parseInstant } from './chart-data.js'

/**
 * @import { ChartType, Plot } from './chart-draw.js'
 * @import { Row } from './chart-data.js'
 */

const EMPTY_HEIGHT = 80
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/**
 * Locked and open intervals on one line, or on one line for each day where they take more than 24 hours.
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
    const { days, wraps, positionOf } = layout
    const blocks = rows.flatMap(row => blocksOf(row, layout))
    const events = ticks.map(positionOf)
    draw(plot, host, {
      title,
      height: heightOf(layout),
      marginTop: 4,
      marginLeft: wraps ? 84 : 12,
      marginRight: 24,
      x: xAxis(layout, host.clientWidth),
      y: {
        type: 'band',
        domain: days,
        axis: wraps ? 'left' : null,
        tickFormat: dayText,
        tickSize: 0,
        label: null,
        padding: 0.25,
      },
      marks: [
        plot.rect(blocks, {
          x1: 'x1',
          x2: 'x2',
          y: 'day',
          fill: 'fill',
          stroke: ACCENT,
          strokeWidth: 'strokeWidth',
        }),
        plot.tickX(events, { x: 'x', y: 'day', stroke: INK, strokeWidth: 1.5, inset: -2 }),
        ...nowMarks(plot, layout, parseInstant(data.now)),
        plot.tip(
          pointsAlong(blocks, ({ x1, x2 }) => [Number(x1), Number(x2)], stepOf(layout, host.clientWidth)),
          plot.pointer({ ...TIP, x: 'along', y: 'day', title: 'tip' }),
        ),
      ],
    })
  },
}

/**
 * @typedef {object} Layout
 * @property {Date} first
 * @property {Date} last
 * @property {boolean} wraps Whether each day has a line of its own, with hours as positions; otherwise instants are.
 * @property {readonly Date[]} days
 * @property {(time: Date) => Position} positionOf
 */

/** @typedef {{ readonly day: Date; readonly x: Date | number }} Position */

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
    const day = startOfDay(first)
    return { first, last, wraps, days: [day], positionOf: time => ({ day, x: time }) }
  }
  const days = []
  for (let day = startOfDay(first); day < last; day = nextDay(day)) days.push(day)
  const positionOf = (/** @type {Date} */ time) => {
    const day = startOfDay(time)
    return { day, x: (time.getTime() - day.getTime()) / HOUR_MS }
  }
  return { first, last, wraps, days, positionOf }
}

/** @param {Date} time */
function startOfDay(time) {
  return new Date(Math.floor(time.getTime() / DAY_MS) * DAY_MS)
}

/** @param {Date} day */
function nextDay(day) {
  return new Date(day.getTime() + DAY_MS)
}

/**
 * Eight pixels on the axis.
 *
 * @param {Layout} layout
 * @param {number} width
 */
function stepOf({ first, last, wraps }, width) {
  return ((wraps ? 24 : last.getTime() - first.getTime()) * 8) / width
}

/** @param {Layout | undefined} layout */
function heightOf(layout) {
  return layout === undefined ? EMPTY_HEIGHT : layout.days.length * (layout.wraps ? 22 : 44) + 32
}

/**
 * The blocks of an interval: one, or one for each day it touches.
 *
 * @param {Row} row
 * @param {Layout} layout
 */
function blocksOf(row, { wraps, positionOf }) {
  const end = row.instant('end')
  const look = row.flag('locked') ? { fill: ACCENT, strokeWidth: 0 } : { fill: OPEN_PATTERN, strokeWidth: 0.75 }
  const tip = `${row.text('label')}\n${dateTimeText(row.instant('start'))} – ${dateTimeText(end)}`
  const blocks = []
  for (let start = row.instant('start'); start < end;) {
    const midnight = nextDay(startOfDay(start))
    const stop = wraps && midnight < end ? midnight : end
    const { day, x: x1 } = positionOf(start)
    // A block that ends at midnight ends on its own line.
    const x2 = wraps ? (stop.getTime() - day.getTime()) / HOUR_MS : stop
    const middle = positionOf(new Date((start.getTime() + stop.getTime()) / 2)).x
    blocks.push({ day, x1, x2, middle, tip, ...look })
    start = stop
  }
  return blocks
}

/**
 * @param {Layout} layout
 * @param {number} width
 */
function xAxis({ first, last, wraps }, width) {
  if (!wraps) {
    const ticks = Math.max(2, width / 100)
    return /** @type {const} */ ({ type: 'utc', domain: [first, last], label: null, ticks, tickFormat: clockText })
  }
  return {
    domain: [0, 24],
    ticks: width < 400 ? [0, 12, 24] : [0, 6, 12, 18, 24],
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
function nowMarks(plot, { last, wraps, positionOf }, now) {
  if (now === undefined || last.getTime() !== now.getTime()) return []
  // The instant before belongs to the last line also at midnight.
  const { day } = positionOf(new Date(now.getTime() - 1))
  const x = wraps ? (now.getTime() - day.getTime()) / HOUR_MS : now
  const isAtEnd = typeof x !== 'number' || x > 20
  return [
    plot.tickX([{ day, x }], { x: 'x', y: 'day', stroke: WARN, strokeWidth: 2.5, inset: -4 }),
    plot.text([{ day, x }], {
      x: 'x',
      y: 'day',
      text: () => 'now',
      dx: wraps && isAtEnd ? -6 : 6,
      textAnchor: isAtEnd ? 'end' : 'start',
      fill: INK,
      stroke: CARD,
      strokeWidth: 4,
    }),
  ]
}
