import {
  ACCENT,
  BEFORE_LINE,
  CARD,
  INK,
  letterScale,
  APPROXIMATE_PATTERN,
  draw,
  emptyNote,
  middleOf,
  MUTED,
  OPEN_PATTERN,
  SO_FAR_PATTERN,
  svgElement,
  TIP,
  widthForLetters,
} from './chart-draw.js'
import { parseInstant } from './chart-data.js'
import { amountText, dayMonthText, percentText, periodName, shortMonthText } from './chart-format.js'

/**
 * @import { RenderFunction } from '@observablehq/plot'
 * @import { Chart, ChartType, Plot } from './chart-draw.js'
 * @import { Column, Row } from './chart-data.js'
 */

const HEIGHT = 200
/** Left and right of the bars together. */
const AXIS_WIDTH = 100
const DAY_MS = 86_400_000
/** More months are too many for names. */
const MAX_MONTHS = 36

/** @type {Readonly<Record<string, string>>} */
const FILLS = { solid: ACCENT, open: OPEN_PATTERN, approximate: APPROXIMATE_PATTERN }

const BLOCK = {
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
}

/**
 * Sums by week or month as stacked bars from zero, with their average. A part of a period is hatched.
 *
 * @type {ChartType}
 */
export const bars = {
  height: () => HEIGHT,
  draw(plot, host, { columns, rows, title, data, empty }) {
    const periods = rows.map(row => periodOf(row, data.period))
    const isWeekly = data.period === undefined
    const { first, last } = domainOf(periods)
    const levels = levelsOf(data, { first, last })
    const { blocks, tops } = stack(periods, columns, data)
    const before = periods.flatMap(({ row, from, until }) =>
      row.number('before') === null ? [] : [{ middle: middleOf(from, until), before: row.number('before') ?? 0 }],
    )
    const highest = Math.max(
      0,
      ...tops.map(({ top }) => top),
      ...before.map(({ before }) => before),
      Number(data.goal ?? 0),
    )
    draw(plot, host, {
      title,
      height: HEIGHT,
      marginLeft: Math.max(44, 14 + widthOf(highest * 1.2)),
      marginRight: levels.length > 0 ? 56 : 12,
      x: {
        type: 'utc',
        domain: [first, last],
        label: null,
        axis: null,
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
        isWeekly ? weekNames(plot, periods, widthForLetters(host)) : monthNames(plot, periods, widthForLetters(host)),
        highest === 0 ? emptyNote(plot, empty) : null,
        ...levels.map(line => plot.ruleY([line], { y: 'level', x1: 'from', x2: 'to', ...line.look })),
        before.length > 1 ? plot.lineY(before, { x: 'middle', y: 'before', curve: 'step', ...BEFORE_LINE }) : null,
        plot.rectY(blocks, BLOCK),
        ...overMarks(plot, blocks, levels),
        endLabels(levels),
        plot.ruleY([0], { stroke: MUTED }),
        plot.tip(tops, plot.pointerX({ ...TIP, x: 'middle', y: 'top', title: 'tip' })),
      ],
    })
  },
}

/**
 * About how wide a number is at the axis, in pixels.
 *
 * @param {number} value
 */
function widthOf(value) {
  return amountText(value).length * 7
}

/** @typedef {ReturnType<typeof periodOf>} Period */

/**
 * The days that a bar counts, and the whole week, month or quarter as which it is drawn: a part of one, hatched, is as wide as the others.
 *
 * @param {Row} row
 * @param {string | undefined} period a week if not given
 */
function periodOf(row, period) {
  const [start, end] = [row.instant('start'), row.instant('end')]
  const [year, month, day] = [start.getUTCFullYear(), start.getUTCMonth(), start.getUTCDate()]
  const months = period === 'quarter' ? 3 : 1
  const first = month - (month % months)
  const monday = day - ((start.getUTCDay() + 6) % 7)
  const [from, until] =
    period === undefined
      ? [Date.UTC(year, month, monday), Date.UTC(year, month, monday + 7)]
      : [Date.UTC(year, first), Date.UTC(year, first + months)]
  // Where clocks change at midnight, a day may begin at one.
  const isPart = start.getTime() - from > DAY_MS / 2 || until - end.getTime() > DAY_MS / 2
  return { row, start, end, from: new Date(from), until: new Date(until), isPart }
}

/**
 * The blocks that bars consist of, and the top of each bar with its tooltip.
 *
 * @param {readonly Period[]} periods
 * @param {readonly Column[]} columns
 * @param {DOMStringMap} data
 */
function stack(periods, columns, data) {
  const { unit, period, href } = data
  const amount = (/** @type {number} */ value) => amountIn(unit, value)
  const series = columns.filter(column => column.series !== undefined)
  const blocks = []
  const tops = []
  for (const { row, start, end, from, until, isPart } of periods) {
    let top = 0
    const counted = series.filter(({ series }) => series !== 'open').map(({ key }) => row.number(key) ?? 0)
    const sum = counted.reduce((all, value) => all + value, 0)
    const name = periodName(period, start, end)
    const lines = row.flag('current')
      ? [`${name}, so far · ${amount(sum)}`]
      : isPart
        ? [`${name}, in part · ${amount(sum)}`]
        : [`${name} · ${amount(sum)}`, ...besideAverage(data, start, sum)]
    for (const { key, title, series: look = '' } of series) {
      const value = row.number(key) ?? 0
      // The first line has the only one that counts.
      if (look === 'open' || counted.length > 1) lines.push(`${title.replace(' (%)', '')}: ${amount(value)}`)
      const bottom = top
      top += value
      if (value <= 0) continue
      const fill = (isPart || row.flag('current')) && look === 'solid' ? SO_FAR_PATTERN : FILLS[look]
      blocks.push({
        start: from,
        end: until,
        bottom,
        top,
        before: row.number('before'),
        fill,
        stroke: fill === ACCENT ? 'none' : ACCENT,
      })
    }
    const before = row.number('before')
    if (before !== null) lines.push(`Compared: ${amount(before)}`)
    if (href !== undefined) lines.push(`Open ${period ?? 'week'}`)
    tops.push({ middle: middleOf(from, until), top, href: addressOf(href, start, end), tip: lines.join('\n') })
  }
  return { blocks, tops }
}

/**
 * `36 under average`; nothing where the average does not hold.
 *
 * @param {DOMStringMap} data
 * @param {Date} start
 * @param {number} sum
 */
function besideAverage({ average, averageFrom, unit }, start, sum) {
  const from = parseInstant(averageFrom)
  if (average === undefined || (from !== undefined && start < from)) return []
  const difference = sum - Number(average)
  const amount = unit === '%' ? `${amountText(Math.abs(difference))} points` : amountIn(unit, Math.abs(difference))
  return [`${amount} ${difference < 0 ? 'under' : 'over'} average`]
}

/**
 * @param {string | undefined} unit
 * @param {number} value
 */
function amountIn(unit, value) {
  if (unit === '%') return percentText(value)
  return `${amountText(value)}${unit === undefined ? '' : ` ${unit}`}`
}

/**
 * The address of the page that covers a period.
 *
 * @param {string | undefined} href
 * @param {Date} start
 * @param {Date} end
 */
function addressOf(href, start, end) {
  const dayOf = (/** @type {number} */ time) => new Date(time).toISOString().slice(0, 10)
  return href?.replace('{from}', dayOf(start.getTime())).replace('{to}', dayOf(end.getTime() - 1))
}

/**
 * The lines at a level, each from where it holds.
 *
 * @param {DOMStringMap} data
 * @param {{ first: Date; last: Date }} domain
 */
function levelsOf({ average, averageFrom, goal }, { first, last }) {
  return [
    {
      level: Number(average ?? 0),
      name: 'average',
      from: parseInstant(averageFrom) ?? first,
      to: last,
      look: { stroke: MUTED, strokeDasharray: '2 3', strokeWidth: 1.5 },
    },
    { level: Number(goal ?? 0), name: 'goal', from: first, to: last, look: { stroke: INK, strokeWidth: 1.25 } },
  ].filter(({ level }) => level > 0)
}

/**
 * All lines where they cross bars.
 *
 * @param {Plot} plot
 * @param {ReturnType<typeof stack>['blocks']} blocks
 * @param {ReturnType<typeof levelsOf>} levels
 */
function overMarks(plot, blocks, levels) {
  const ofLevels = levels.map(({ level, from, look }) => {
    const reached = blocks.filter(({ start }) => start >= from)
    return overBars(
      plot,
      reached.map(block => ({ ...block, level })),
      look,
    )
  })
  const compared = blocks.map(block => ({ ...block, level: block.before ?? 0 }))
  return [...ofLevels, overBars(plot, compared, BEFORE_LINE)]
}

/**
 * Lines are drawn behind the bars, and again in the colour of the card where they cross a solid bar, which would hide them.
 *
 * @param {Plot} plot
 * @param {readonly { start: Date; end: Date; bottom: number; top: number; fill: string | undefined; level: number }[]} blocks
 * @param {object} look
 */
function overBars(plot, blocks, look) {
  const crossed = blocks.filter(({ fill, bottom, top, level }) => fill === ACCENT && bottom < level && level < top)
  return plot.ruleY(crossed, {
    y: 'level',
    x1: 'start',
    x2: 'end',
    insetLeft: 1,
    insetRight: 1,
    ...look,
    stroke: CARD,
  })
}

/**
 * The names of levels at the end of their lines, moved apart where they would overlap.
 *
 * @param {readonly { readonly level: number; readonly name: string }[]} levels
 * @returns {RenderFunction}
 */
function endLabels(levels) {
  return (_index, { y }, _values, { width, height, marginRight, marginBottom }) => {
    const group = svgElement('g', { fill: INK, 'text-anchor': 'start' })
    const highest = levels.toSorted((a, b) => b.level - a.level)
    const labelHeight = LABEL_HEIGHT * letterScale()
    let above = 0
    for (const [index, { level, name }] of highest.entries()) {
      const lowest = height - marginBottom - (highest.length - 1 - index) * labelHeight
      const middle = Math.min(lowest, Math.max(above, Number(y?.(level))))
      above = middle + labelHeight
      const label = svgElement('text', { x: width - marginRight + 5, y: middle, dy: '0.32em' })
      label.textContent = name
      group.append(label)
    }
    return group
  }
}

/** With the space below it. */
const LABEL_HEIGHT = 15

/**
 * Weeks are named by their first day.
 *
 * @param {Plot} plot
 * @param {readonly Period[]} periods
 * @param {number} width
 */
function weekNames(plot, periods, width) {
  const every = Math.max(1, Math.ceil((periods.length * 64) / (width - AXIS_WIDTH)))
  const shown = periods.filter((_, index) => (periods.length - 1 - index) % every === 0)
  return plot.axisX(
    shown.map(({ from }) => from),
    {
      label: null,
      tickSize: 4,
      textAnchor: 'start',
      dx: -4,
      tickFormat: (/** @type {Date} */ _from, /** @type {number} */ index) =>
        dayMonthText(shown[index]?.start ?? _from),
    },
  )
}

/** @param {readonly Period[]} periods */
function domainOf(periods) {
  const now = Date.now()
  return {
    first: periods[0]?.from ?? new Date(now - DAY_MS / 2),
    last: periods.at(-1)?.until ?? new Date(now + DAY_MS / 2),
  }
}

/**
 * Months, or the years of many months.
 *
 * @param {Plot} plot
 * @param {readonly Period[]} periods
 * @param {number} width
 */
function monthNames(plot, periods, width) {
  if (periods.length > MAX_MONTHS) {
    const years = periods.filter(({ start }) => start.getUTCMonth() === 0)
    const everyYear = Math.max(1, Math.ceil((years.length * 44) / (width - AXIS_WIDTH)))
    return plot.axisX(
      years.filter((_, index) => index % everyYear === 0).map(({ start }) => start),
      { label: null, tickSize: 4, tickFormat: (/** @type {Date} */ start) => String(start.getUTCFullYear()) },
    )
  }
  const every = Math.max(1, Math.ceil((periods.length * 44) / (width - AXIS_WIDTH)))
  const shown = periods.filter((_, index) => (periods.length - 1 - index) % every === 0)
  return plot.axisX(
    shown.map(({ from, until }) => middleOf(from, until)),
    {
      label: null,
      tickSize: 0,
      tickFormat(/** @type {Date} */ middle, /** @type {number} */ index) {
        const month = shortMonthText(middle)
        return index === 0 || middle.getUTCMonth() < every ? `${month}\n${middle.getUTCFullYear()}` : month
      },
    },
  )
}
