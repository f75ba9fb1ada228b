import { scaleLinear, scaleUtc } from 'd3-scale'
import { area, curveMonotoneX, line } from 'd3-shape'
import { DAY_MS, addBuckets, bucketStart } from '../../contract/time.ts'
import { BREAK_DAYS } from '../../stats/training.ts'
import { zoneClock } from '../../stats/zone-clock.ts'
import { html, type Html, nothing, type Part } from '../html.ts'
import { isThisYear, monthName, shortDay, yearOf, type Zoned } from '../text/text.ts'

/**
 * What pictures are drawn with. Positions are per cent of the plane, so that one drawing fits every width: bars, dots and letters keep
 * their shape, and only lines and areas are stretched.
 */

export type Range = readonly [start: number, end: number]

export interface Plane {
  /** Where an instant is, from 0 at the left to 100. */
  readonly x: (at: number) => number
  /** Where a value is, from 0 at the top to 100. */
  readonly y: (value: number) => number
  readonly axes: Html
}

interface Values {
  readonly values: Range
  readonly isNice?: boolean
  readonly text: (value: number) => string
}

/** The plane of some whole parts of time. */
export function plane(
  { timeZone }: Zoned,
  parts: readonly { readonly begin: number; readonly until: number }[],
  { values, isNice, text }: Values,
): Plane {
  const { begin = 0, until = 0 } = parts.at(-1) ?? {}
  const time: Range = [parts[0]?.begin ?? 0, until]
  // A name stands below the middle of the first bar of its time.
  const part = until - begin
  const x = scaleUtc(time, [0, 100])
  const scale = valueScale(values, text, isNice)
  const ticks = timeTicks(time, timeZone, part)
  const isMany = ticks.length > MANY
  const areMonths = isMany && part >= MONTH_MS && until - time[0] <= 366 * DAY_MS
  const times = ticks.map(({ at, name }, index) => {
    const text = areMonths ? name.replace(/^(\p{L}).*/u, '$1') : name
    const isMain = areMonths || ticks.length <= FITS_EVERYWHERE || index % (isMany ? 3 : 2) === 0
    return html`<text${isMain && html` class="main${text.length > 6 ? edgeOf(x(at)) : ''}"`} x="${percent(x(at + part / 2))}">${text}</text>`
  })
  return { x, y: scale.y, axes: html`${scale.axes}<svg class="times" y="100%">${times}</svg>` }
}

export function valueScale(values: Range, text: Values['text'], isNice = false): Omit<Plane, 'x'> {
  const y = scaleLinear(values, [100, 0])
  if (isNice) y.nice(VALUE_TICKS)
  const steps = y.ticks(VALUE_TICKS).filter(Number.isInteger)
  const lines = levels(
    'grid',
    steps.map(value => ({ x: [0, 100], y: y(value) })),
  )
  const names = steps.map(value => html`<text y="${percent(y(value))}">${text(value)}</text>`)
  return { y, axes: html`${lines}<svg class="values" x="-0.6em">${names}</svg>` }
}

const VALUE_TICKS = 4
const MAX_TIME_TICKS = 12
/** Narrow pictures show one of two or three names on the axis of time, if there are more than fit; those of months of a year are letters. */
const FITS_EVERYWHERE = 5
const MANY = 7

/** Days, Mondays, firsts of months in a time zone, whichever are few enough, and not below a part; from two years on, firsts of years. */
export function timeTicks([from, to]: Range, timeZone: string, part = 0) {
  const clock = zoneClock(timeZone)
  const [first, last] = [clock.dayOf(from), clock.dayOf(to - 1)]
  const length = last - first
  const [unit, size] =
    length < MAX_TIME_TICKS
      ? (['day', 1] as const)
      : length <= MAX_DAYS_BY_WEEK && part < MONTH_MS
        ? (['week', 7] as const)
        : (['month', 31] as const)
  const wanted = Math.max(1, Math.ceil(length / size / MAX_TIME_TICKS))
  const isYearly = length > MAX_DAYS_BY_MONTH
  const step = isYearly ? Math.ceil(wanted / 12) * 12 : wanted
  const ticks: { readonly at: number; readonly name: string }[] = []
  let day = bucketStart(unit, 'monday', first)
  // A year is cut at January.
  if (isYearly) while (new Date(day * DAY_MS).getUTCMonth() > 0) day = addBuckets('month', day, -1)
  for (; day <= last; day = addBuckets(unit, day, step)) {
    if (day < first) continue
    const date = day * DAY_MS
    const name = isYearly
      ? yearOf(UTC, date)
      : unit === 'month'
        ? monthAndYear(date, length > 366 && ticks.length === 0)
        : shortDay(date)
    ticks.push({ at: clock.startOf(day), name })
  }
  return ticks
}

const MAX_DAYS_BY_WEEK = 150
const MONTH_MS = 28 * DAY_MS
const MAX_DAYS_BY_MONTH = 728
const UTC = { timeZone: 'UTC' }

function monthAndYear(date: number, isFirst: boolean): string {
  if (isThisYear(UTC, date)) return monthName(date)
  return isFirst || new Date(date).getUTCMonth() === 0 ? `${monthName(date)} ${yearOf(UTC, date)}` : monthName(date)
}

/** With one decimal, which is less than a pixel. */
export function round(position: number): number {
  return Math.round(position * 10) / 10
}

export function percent(position: number): string {
  return `${round(position)}%`
}

export interface Box {
  readonly x: Range
  /** From the top to the bottom. */
  readonly y: Range
}

/** Nothing but breaks, and time without records, is hatched, and nothing but plans is dashed. */
export function textureOf(look: string): Html | undefined {
  const hatch = html` fill="url(#hatch)"`
  return { break: hatch, gap: hatch, ahead: html` stroke-dasharray="4 3"` }[look]
}

/** Boxes of one look. */
export function boxes(look: string, all: readonly Box[]): Html {
  return html`${all.map(
    ({ x: [left, right], y: [top, bottom] }) =>
      html`<rect class="${look}"${textureOf(look)} x="${percent(left)}" y="${percent(top)}" width="${percent(right - left)}" height="${percent(bottom - top)}"/>`,
  )}`
}

/** An upright mark across a bar, of the same width everywhere. */
export function tickAt(x: number, look = 'tick'): Html {
  return html`<line class="${look}" x1="${percent(x)}" x2="${percent(x)}" y1="-20%" y2="120%"/>`
}

/** An area between two values at some places, broken at null. */
export function band(look: string, edges: readonly (Edges | null)[]): Html {
  const path = area<Edges | null>(
    edge => unit(edge?.x ?? 0),
    edge => unit(edge?.low ?? 0),
    edge => unit(edge?.high ?? 0),
  )
    .defined(edge => edge !== null)
    .curve(curveMonotoneX)
  return stretched(html`<path class="${look}" d="${path(edges) ?? ''}"/>`)
}

export interface Edges {
  readonly x: number
  readonly low: number
  readonly high: number
}

export function levels(look: string, all: readonly { readonly x: Range; readonly y: number }[]): Html {
  const path = all.map(({ x: [left, right], y }) => `M${unit(left)} ${unit(y)}H${unit(right)}`)
  return stretched(html`<path class="${look}" d="${path.join('')}"/>`)
}

/** Dots, which are round in every width: a path of points with round ends. A hollow one is a smaller dot on a larger one, one so far a square on a square. */
export function dots(
  look: 'filled' | 'hollow' | 'current' | 'so-far',
  { x, y }: Pick<Plane, 'x' | 'y'>,
  points: readonly Point[],
): Html {
  if (points.length === 0) return nothing
  const path = points.map(({ at, value }) => `M${unit(x(at))} ${unit(y(value))}h0`).join('')
  return stretched(
    html`<path class="dots ${look}" d="${path}"/>${['hollow', 'so-far'].includes(look) ? html`<path class="dots inner" d="${path}"/>` : nothing}`,
  )
}

/** Grades: filled dots of what was passed, hollow ones of what was not, squares behind them of what is so far. */
export function resultDots(
  space: Pick<Plane, 'x' | 'y'>,
  points: readonly (Point & { readonly isPassed: boolean; readonly isCurrent?: boolean })[],
): Html {
  const looks = Map.groupBy(points, ({ isPassed, isCurrent = false }) =>
    isCurrent ? 'so-far' : isPassed ? 'filled' : 'hollow',
  )
  return html`${[...looks].map(([look, ofLook]) => dots(look, space, ofLook))}`
}

/** What a mark says, above or below it. */
export function markText(x: number, y: number, text: Part, look = ''): Html {
  return html`<text class="label${look}" x="${percent(x)}" y="${percent(y)}">${text}</text>`
}

/** A text of more than a number stays within the width of the plane. */
export function edgeOf(x: number, edge = 10): string {
  return x < edge ? ' begin' : x > 100 - edge ? ' end' : ''
}

export interface Point {
  readonly at: number
  readonly value: number
}

/** In the thousandths of stretched drawings. */
function unit(position: number): number {
  return Math.round(position * 10)
}

/** Lines and areas, in the size of the plane. */
export function stretched(path: Html): Html {
  return html`<svg viewBox="0 0 1000 1000" preserveAspectRatio="none">${path}</svg>`
}

/** A line, broken at null. */
export function linePath(look: string, { x, y }: Pick<Plane, 'x' | 'y'>, points: readonly (Point | null)[]): Html {
  const path = line<Point | null>(
    point => unit(x(point?.at ?? 0)),
    point => unit(y(point?.value ?? 0)),
  ).defined(point => point !== null)
  return stretched(html`<path class="${look}" d="${path(points) ?? ''}"/>`)
}

/** Hatched boxes where nothing was recorded for two weeks and the time that a point stands for. */
export function breakBoxes(
  { x }: Plane,
  points: readonly Point[],
  { begin, until }: { readonly begin: number; readonly until: number } = { begin: 0, until: 0 },
): Html {
  const half = (until - begin) / 2
  const breaks = points.flatMap((point, index) => {
    const before = points[index - 1]
    return before !== undefined && point.at - before.at >= BREAK_DAYS * DAY_MS + 2 * half
      ? [{ x: [x(before.at + half), x(point.at - half)], y: [0, 100] } as const]
      : []
  })
  return boxes('gap', breaks)
}

/** From 90, 80 or less to 100, whichever is below the lowest grade. */
export function gradeRange(grades: readonly number[]): Range {
  return [Math.max(0, Math.floor((Math.min(...grades, 92) - 2) / 10) * 10), Math.max(100, ...grades)]
}

/** The pattern of breaks, once for a page. */
export const patterns: Html = html`<svg class="patterns" width="0" height="0" aria-hidden="true"><defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="1"/></pattern></defs></svg>`
