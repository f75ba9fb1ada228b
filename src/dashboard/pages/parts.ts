import { sum } from '../../contract/numbers.ts'
import { DAY_MS, addBuckets, bucketStart, formatDate } from '../../contract/time.ts'
import type { Bucket, Periods } from '../../stats/buckets.ts'
import type { SessionStats } from '../../stats/training.ts'
import { beyondUsual, isJudged, type Judged, MAX_USUAL_PARTS, type Usual, usualRanges } from '../../stats/usual.ts'
import { endOfTomorrow, type ZoneClock, zoneClock } from '../../stats/zone-clock.ts'
import { WEEKDAYS } from '../charts/days.ts'
import {
  band,
  type Box,
  boxes,
  breakBoxes,
  type Edges,
  edgeOf,
  levels,
  linePath,
  markText,
  percent,
  type Plane,
  plane,
  type Range,
  resultDots,
} from '../charts/plane.ts'
import { figuresTable, type LegendItem, picture } from '../charts/picture.ts'
import { html, type Html, nothing, type Part } from '../html.ts'
import { dotted, type TableColumn } from '../layout/components.ts'
import type { Viewer } from '../page.ts'
import { daysText } from '../text/period.ts'
import {
  capital,
  countText,
  dateText,
  monthName,
  monthText,
  NONE,
  numberFormat,
  numberText,
  partText,
  percentText,
  unbroken,
} from '../text/text.ts'

/** The time that a page shows, in parts that are few enough for a mark each, and pictures of a bar for each part. */
export type Unit = 'week' | 'month' | 'quarter' | 'year'

export interface Time {
  readonly from: number
  readonly to: number
}

/** A whole week, month, quarter or year, and which of its days are shown. */
export interface TimePart {
  readonly begin: number
  readonly until: number
  /** As far as it is shown; one that is running, up to its end. */
  readonly start: number
  readonly end: number
  readonly isCurrent: boolean
  /** Whether it is over, and all of its days are shown. */
  readonly isWhole: boolean
}

export interface TimeInParts extends Time {
  readonly unit: Unit
  readonly parts: readonly TimePart[]
  /** Those before, which say what is usual; none of quarters and years. */
  readonly earlier: readonly TimePart[]
}

/** The time from the first of some sessions on, in whole weeks, up to now, or to the last one where that is tomorrow. */
export function timeSince(sessions: readonly Pick<SessionStats, 'at'>[], now: number, { timeZone }: Viewer): Time {
  const clock = zoneClock(timeZone)
  const today = clock.dayOf(now)
  const end = endOfTomorrow(clock, today)
  const [first = now, last = now] = [sessions[0]?.at, sessions.findLast(({ at }) => at < end)?.at]
  const monday = bucketStart('week', 'monday', Math.min(clock.dayOf(first), today))
  return { from: clock.startOf(monday), to: Math.max(now, last) + 1 }
}

export function inParts(
  { from, to }: Time,
  now: number,
  { timeZone }: Viewer,
  unit = unitOf((to - from) / DAY_MS),
): TimeInParts {
  const clock = zoneClock(timeZone)
  const first = unitStart(unit, clock.dayOf(from))
  const last = clock.dayOf(to - 1)
  const partFrom = (day: number): TimePart => {
    const [begin, until] = [clock.startOf(day), clock.startOf(addUnits(unit, day, 1))]
    const isCurrent = begin <= now && now < Math.min(until, to)
    const [start, end] = [Math.max(begin, from), isCurrent ? until : Math.min(until, to)]
    return { begin, until, start, end, isCurrent, isWhole: !isCurrent && begin >= from && until <= to }
  }
  const parts: TimePart[] = []
  for (let day = first; day <= last; day = addUnits(unit, day, 1)) parts.push(partFrom(day))
  // A quarter is too long to say what is usual.
  const isCompared = unit === 'week' || unit === 'month'
  const earlier = Array.from({ length: isCompared ? MAX_USUAL_PARTS : 0 }, (_, index) => {
    const { begin, until } = partFrom(addUnits(unit, first, index - MAX_USUAL_PARTS))
    return { begin, until, start: begin, end: until, isCurrent: false, isWhole: until <= now }
  })
  return { from, to, unit, parts, earlier }
}

/** Whether the last of some weeks is this one. */
export function endsThisWeek({ unit, parts }: TimeInParts): boolean {
  return unit === 'week' && parts.at(-1)?.isCurrent === true
}

/** So that a picture has at most 60 marks. */
function unitOf(days: number): Unit {
  if (days <= MAX_DAYS_BY_WEEK) return 'week'
  if (days <= MAX_DAYS_BY_MONTH) return 'month'
  return days <= MAX_DAYS_BY_QUARTER ? 'quarter' : 'year'
}

const MAX_DAYS_BY_WEEK = 372
const MAX_DAYS_BY_MONTH = 1795
const MAX_DAYS_BY_QUARTER = 5385

const MONTHS = { month: 1, quarter: 3, year: 12 } as const

function unitStart(unit: Unit, day: number): number {
  if (unit === 'week') return bucketStart('week', 'monday', day)
  const month = bucketStart('month', 'monday', day)
  return addBuckets('month', month, -(new Date(month * DAY_MS).getUTCMonth() % MONTHS[unit]))
}

function addUnits(unit: Unit, day: number, count: number): number {
  return unit === 'week' ? addBuckets('week', day, count) : addBuckets('month', day, MONTHS[unit] * count)
}

/** The instants between whole parts. */
export function boundaries(parts: readonly TimePart[]): Periods {
  return [...parts.map(({ begin }) => begin), ...parts.slice(-1).map(({ until }) => until)]
}

/** The days of parts that are shown, up to the end of them. */
export function bucketsOfParts(parts: readonly TimePart[], { to }: Pick<Time, 'to'>, clock: ZoneClock): Bucket[] {
  return parts.map(({ begin, start, end, isCurrent }) => {
    return { day: clock.dayOf(begin), start, end: Math.min(end, to), partial: isCurrent }
  })
}

/** Whether there are several weeks, which can be compared. */
export function isLongerThanWeek({ from, to }: Time): boolean {
  return Math.round((to - from) / DAY_MS) > 7
}

export interface Measured {
  /** Null if it is not known. */
  readonly value: number | null
  readonly isEmpty: boolean
}

/** What is usual at each of the shown parts, with `isDrawnNow` also at the running one; empty without what was before, and where one alone would be a speck. */
export function usualOf(
  time: TimeInParts,
  earlier: readonly Measured[] | undefined,
  shown: readonly Measured[],
  isDrawnNow = false,
): (Usual | undefined)[] {
  if (earlier === undefined || time.earlier.length === 0) return []
  const measured = [...earlier, ...shown]
  const parts = [...time.earlier.slice(time.earlier.length - earlier.length), ...time.parts]
  const usual = usualRanges(
    parts.map(({ begin, until, isWhole, isCurrent }, index) => {
      const { value = null, isEmpty = true } = measured[index] ?? {}
      const isDrawn = isWhole || (isDrawnNow && isCurrent)
      return { value, isEmpty, isWhole: isDrawn, days: Math.round((until - begin) / DAY_MS) }
    }),
  ).slice(earlier.length)
  return usual.filter(range => range !== undefined).length < 2 ? [] : usual
}

export interface Words {
  readonly text: (value: number) => string
  /** Of differences; as values if not given. */
  readonly differenceText?: (value: number) => string
  /** In the cell of a column that says what it is; as elsewhere if not given. */
  readonly cellText?: (value: number) => string
}

/** Of percentages: they differ by points. */
export const GRADES: Words = {
  text: value => percentText(Math.round(value)),
  differenceText: points => unbroken(countText(Math.round(points), 'point')),
}

/** `90 to 94` */
export function rangeText({ low, high }: Usual): string {
  return low === high ? numberText(low) : unbroken(`${numberText(low)} to ${numberText(high)}`)
}

/** `So far this week: 3,004 repetitions, ▲ above usual`, on Mondays `Last week: …`; undefined without verdicts. */
export function weekVerdicts(viewer: Viewer, now: number, ...verdicts: readonly (string | undefined)[]) {
  const [first, ...others] = viewer.copied === null ? verdicts.filter(one => one !== undefined) : []
  const week = isJudged(zoneClock(viewer.timeZone), now) ? 'So far this week' : 'Last week'
  return first === undefined ? undefined : html`<span class="verdict">${dotted(`${week}: ${first}`, ...others)}</span>`
}

/** `3,004 repetitions, ▲ above usual` */
export function verdictText({ value, usual }: Judged, amount: string): string {
  const beyond = beyondUsual(value, usual)
  return `${unbroken(amount)}, ${beyond === 0 ? '◆\u00a0as' : beyond > 0 ? '▲\u00a0above' : '▼\u00a0below'}\u00a0usual`
}

/** `▼ 36 below usual`, `◆ as usual` */
export function beyondText(value: number, usual: Usual, { text, differenceText = text }: Words): string {
  const beyond = beyondUsual(value, usual)
  if (beyond === 0) return '◆\u00a0as usual'
  return `${beyond > 0 ? '▲' : '▼'}\u00a0${differenceText(Math.abs(beyond))} ${beyond > 0 ? 'above' : 'below'} usual`
}

/** `6–12 Apr`, `April 2026`, `Q2 2026`; says if it is not over, or if some of its days are not shown. */
function timePartText(viewer: Viewer, unit: Unit, part: TimePart): string {
  const [first, last] = daysOf(viewer, part)
  const month = monthText(viewer, part.begin)
  const year = month.slice(-4)
  const texts = {
    week: daysText({ first, last }),
    month,
    quarter: `Q${Math.floor(new Date(first * DAY_MS).getUTCMonth() / 3) + 1} ${year}`,
    year,
  }
  return `${texts[unit]}${part.isCurrent ? ' (so far)' : part.isWhole ? '' : ' (in part)'}`
}

/** The days of a part that are shown, with those to come. */
function daysOf(
  { timeZone }: Viewer,
  { start, end }: Pick<TimePart, 'start' | 'end'>,
): readonly [first: number, last: number] {
  const clock = zoneClock(timeZone)
  return [clock.dayOf(start), clock.dayOf(end - 1)]
}

type Place = Pick<TimePart, 'begin' | 'until'>

function placeOf({ x }: Pick<Plane, 'x'>, { begin, until }: Place): Range {
  return [x(begin), x(until)]
}

export interface PartRow {
  readonly part: TimePart
  readonly index: number
}

/** `Least completed in the last ten: Five day lock, 6 of 10 (60 %)`: that with the smallest share. */
export function leastNews(
  all: readonly { readonly name: () => Html; readonly done: number; readonly of: number }[],
  [done, allDone]: readonly [done: string, allDone: string],
): Html | undefined {
  const [least, ...others] = all.filter(one => one.of > 0).toSorted((a, b) => a.done / a.of - b.done / b.of)
  if (least === undefined || others.length === 0) return undefined
  if (least.done === least.of) return html`<span class="news">${allDone}</span>`
  const alike = others.filter(({ done, of }) => done === least.done && of === least.of)
  const also = alike.length > 1 ? ` and ${alike.length} more` : alike.map(({ name }) => html` and ${name()}`)
  const ofAll = unbroken(`${numberText(least.done)} of ${numberText(least.of)} (${partText(least.done, least.of)})`)
  return html`<span class="news">Least ${done}: ${least.name()}${also}, ${ofAll}</span>`
}

/** `6 of 10` of the last ten, and below it `67 % of all 12` where there are more. */
export function doneText(ten: { readonly done: number; readonly of: number }, done: number, of: number): Html {
  return html`<b>${ten.done} of ${ten.of}</b>${of > ten.of && html`<br><small class="wide muted nowrap">${partText(done, of)} of all ${numberText(of)}</small>`}`
}

/** Marks without axes. */
export function strip(marks: Html, height = 40): Html {
  return html`<svg class="plane" height="${height}" aria-hidden="true">${marks}</svg>`
}

/** A bar of some per cent for each day, of which `today` is not over, and what stands above and below them. */
export function dayBars(shares: readonly number[], today = shares.length - 1, more: Html = nothing): Html {
  const step = 100 / shares.length
  const bars = shares.map((share, index): Box => {
    const height = share > 0 ? Math.min(100, Math.max(2, share)) : 0
    return { x: [(index + 1 / 8) * step, (index + 7 / 8) * step], y: [100 - height, 100] }
  })
  const ends = [...(more === nothing ? [0] : []), 100].map(y => ({ x: [0, 100], y }) as const)
  return strip(
    html`${more}${levels('grid', ends)}${boxes('solid', bars.toSpliced(today, 1))}${boxes('so-far', bars.slice(today, today + 1))}`,
    88,
  )
}

/** A bar for each day of a week, from Monday on, of which `today` is not over. */
export function weekBars(reps: readonly number[], today: number): Html {
  const shares = reps.map(value => (value * 82) / Math.max(...reps, 1))
  const x = (day: number) => ((day + 0.5) * 100) / WEEKDAYS.length
  const values = shares.map((share, day) => share > 0 && markText(x(day), 100 - share, numberText(reps[day] ?? 0)))
  const names = WEEKDAYS.map((name, day) => html`<text class="main" x="${percent(x(day))}">${name}</text>`)
  return dayBars(shares, today, html`${values}<svg class="times" y="100%">${names}</svg>`)
}

/** In a list, up to ten results as dots on a line, the last one at the right with its text; `behind` is below them. */
export function lastResults(
  results: readonly { readonly value: number; readonly isPassed: boolean }[],
  y: (value: number) => number,
  text: string,
  behind: Html,
  height = 48,
): Html {
  const points = results.map((result, index) => ({ ...result, at: index + 10 - results.length }))
  const space = { x: (at: number) => 2 + at * 10.6, y }
  const end = points.slice(-1).map(({ value }) => markText(100, y(value), text, ' at-end'))
  return strip(html`${behind}${linePath('line', space, points)}${resultDots(space, points)}${end}`, height)
}

/** Below a drawing, a link for each of up to ten records, of which it says only the date; `current` is the one of the page. */
export function tenLinks<One extends { readonly id: number; readonly at: number }>(
  viewer: Viewer,
  path: string,
  ten: readonly One[],
  nameOf: (one: One) => string,
  current?: number,
): Html {
  const dayOf = ({ at }: One) => zoneClock(viewer.timeZone).dayOf(at) * DAY_MS
  return html`<ol class="last-ten">${ten.map((one, index) => {
    const before = ten[index - 1]
    const month = monthName(dayOf(one))
    const isNamed = before === undefined || monthName(dayOf(before)) !== month
    const name = `${dateText(viewer, one.at)}, ${nameOf(one)}`
    return html`<li><a href="${path}/${one.id}" title="${name}"${one.id === current && html` aria-current="true"`}><span class="hidden">${name}</span><span aria-hidden="true">${new Date(dayOf(one)).getUTCDate()}${isNamed && html`<br>${month}`}</span></a></li>`
  })}</ol>`
}

/** In a cell, a value and beside it its bar. */
export function spanCell(text: Part, marks: Part): Html {
  return html`<div class="span"><span class="nowrap">${text}</span>${strip(html`${marks}`, 14)}</div>`
}

/** Above such bars, from what to what they go. */
export function barEnds(...ends: readonly string[]): Html {
  return html`<span class="ends">${ends.map(end => html`<span>${end}</span>`)}</span>`
}

/** The table of a picture of parts; `note` stands above it. */
export function partFigures(
  viewer: Viewer,
  { time: { unit, parts }, daysAddress }: { readonly time: TimeInParts; readonly daysAddress: string },
  space: Plane,
  columns: readonly TableColumn<PartRow>[],
  note: Html = nothing,
): Html {
  const first: TableColumn<PartRow> = {
    title: capital(unit),
    cell({ part }) {
      const [from, to] = daysOf(viewer, part).map(formatDate)
      const address = daysAddress.replace('{from}', from ?? '').replace('{to}', to ?? '')
      return html`<a href="${address}">${timePartText(viewer, unit, part)}</a>`
    },
  }
  return figuresTable<PartRow>({
    title: `Figures by ${unit}`,
    note,
    columns: [first, ...columns],
    rows: parts.map((part, index) => ({ part, index })),
    placeOf: ({ part }) => placeOf(space, part),
    daysAddress,
  })
}

/** The pale band behind marks: at the middle of each part, what is usual there. */
export function rangeBand(space: Plane, parts: readonly Place[], ranges: readonly (Usual | undefined)[]): Html {
  const edges = ranges.flatMap((range, index): (Edges | null)[] => {
    const part = parts[index]
    if (range === undefined || part === undefined) return [null]
    const [left, right] = placeOf(space, part)
    const [low, high] = [space.y(range.low), space.y(range.high)]
    const isEnd = (beside: number) => ranges[beside] === undefined
    const places = [...(isEnd(index - 1) ? [left] : []), (left + right) / 2, ...(isEnd(index + 1) ? [right] : [])]
    return places.map(x => ({ x, low, high }))
  })
  return edges.length === 0 ? nothing : band('usual', edges)
}

export function breakLegend(breaks: Html): LegendItem[] {
  return breaks.toString() === '' ? [] : [['gap', 'No training for two weeks or more']]
}

export function usualLegend(unit: Unit | 'session', usual: readonly (Usual | undefined)[]): LegendItem[] {
  const before = unit === 'session' ? 'before each session' : `in the ${MAX_USUAL_PARTS} ${unit}s before`
  return usual.every(range => range === undefined) ? [] : [['usual', `Usual ${before}`]]
}

/** The values of some parts of a bar, which are stacked. */
interface Series {
  readonly title: string
  readonly look: 'solid' | 'break'
  readonly values: readonly (number | null)[]
}

export interface Bars extends Words, MeasuredTime {
  readonly id: string
  readonly title: string
  readonly actions?: Html | undefined
  readonly series: readonly Series[]
  /** What was before the shown time, where bars are compared with what is usual. */
  readonly earlier?: readonly Measured[] | undefined
  readonly axisText?: (value: number) => string
  readonly goal?: { readonly value: number; readonly text: string } | undefined
  /** The address of some days, with `{from}` and `{to}` for them. */
  readonly daysAddress: string
}

/** A bar for each part of the time, behind it what was usual before it, and a tick at the goal of the last one. */
export function barPicture(viewer: Viewer, bars: Bars): Html {
  const { id, title, actions, empty, time, series, measured, goal, text, cellText = text } = bars
  const { unit, parts } = time
  const usual = usualOf(time, bars.earlier, measured)
  const filled = series.filter(({ values }) => values.some(value => (value ?? 0) > 0))
  const drawn = parts.filter((_, index) => series.some(({ values }) => (values[index] ?? 0) > 0))
  const space = planeOf(viewer, bars, usual)
  const middles = drawn.map(({ begin, until }) => ({ at: (begin + until) / 2, value: 0 }))
  const breaks = bars.isShare === true ? nothing : breakBoxes(space, middles, parts[0])
  const legend: (LegendItem | false)[] = [
    ...(series.length === 1 ? [] : filled).map(({ look, title }): LegendItem => [look, title]),
    ...partLegend(unit, drawn),
    ...usualLegend(unit, usual),
    ...breakLegend(breaks),
    goal !== undefined && ['goal', goal.text],
  ]
  const columns = series.map(({ title, values }): TableColumn<PartRow> => {
    return { title, cell: ({ index }) => (values[index] == null ? NONE : cellText(values[index])) }
  })
  return picture({
    id,
    title,
    summary: summaryOf(bars, bars, usual),
    actions,
    drawing: filled.length === 0 ? undefined : html`${space.axes}${breaks}${drawingOf(space, bars, usual)}`,
    empty: `${empty}.`,
    legend,
    figures: partFigures(viewer, bars, space, [...columns, ...usualColumn(bars, measured, usual)]),
  })
}

/** The first of its series as marks without axes. */
export function barStrip(viewer: Viewer, bars: Bars): Html {
  const first: Bars = { ...bars, series: bars.series.slice(0, 1), isShare: false }
  const usual = usualOf(bars.time, bars.earlier, bars.measured)
  const line = levels('grid', [{ x: [0, 100], y: 100 }])
  return strip(html`${line}${drawingOf(planeOf(viewer, first, usual), first, usual)}`)
}

function planeOf(viewer: Viewer, bars: Bars, usual: readonly (Usual | undefined)[]): Plane {
  const { time, series, goal, byNow, isShare = false } = bars
  const sums = time.parts.map((_, index) => sum(series.map(({ values }) => values[index] ?? 0)))
  const most = Math.max(goal?.value ?? 0, byNow?.high ?? 0, ...sums, ...usual.map(range => range?.high ?? 0))
  const highest = isShare && most > 40 ? 100 : most
  // One kind of numbers on an axis.
  const { axisText = highest < MIN_SHORT ? numberText : COMPACT.format } = bars
  return plane(viewer, time.parts, { values: [0, highest || 1], isNice: true, text: axisText })
}

/** `20,000`, `20M`: there is little space. */
const MIN_SHORT = 100_000
const COMPACT = numberFormat({ notation: 'compact' })

/** What is usual is behind the bars; behind one that is running, what is usual by now. */
function drawingOf(space: Plane, shown: Bars, usual: readonly (Usual | undefined)[]): Html {
  const { y } = space
  const { series, goal, byNow } = shown
  const { parts } = shown.time
  const last = parts.at(-1)
  const ranges = byNow && last?.isCurrent && usual.length > 0 ? usual.with(parts.length - 1, byNow) : usual
  const bars = parts.flatMap((part, index) => {
    const [left, right] = placeOf(space, part)
    const inset = Math.max((right - left) * BAR_INSET, (right - left - MAX_BAR_WIDTH) / 2)
    let bottom = 0
    return series.flatMap(({ look, values }) => {
      const value = values[index] ?? 0
      if (value <= 0) return []
      const from = bottom
      bottom += value
      const drawn = { x: [left + inset, right - inset], y: [y(bottom), y(from)] } as const
      return [{ look: look === 'solid' && !part.isWhole ? 'so-far' : look, ...drawn }]
    })
  })
  const looks = [...Map.groupBy(bars, ({ look }) => look)]
  return html`${rangeBand(space, parts, ranges)}${looks.map(([look, ofLook]) => boxes(look, ofLook))}${
    goal === undefined || last === undefined ? nothing : levels('goal', [{ x: placeOf(space, last), y: y(goal.value) }])
  }${barTexts(space, shown, ranges)}`
}

const BAR_INSET = 0.12
/** In per cent of the picture. */
const MAX_BAR_WIDTH = 8

/** The highest value, above its bar and what is usual. */
function barTexts(space: Plane, { series, measured, time }: Bars, usual: readonly (Usual | undefined)[]): Html {
  const values = measured.map(({ value }) => value ?? 0)
  const value = Math.max(...values)
  const highest = values.lastIndexOf(value)
  const part = time.parts[highest]
  if (value <= 0 || part === undefined) return nothing
  const [left, right] = placeOf(space, part)
  const [x, top] = [(left + right) / 2, sum(series.map(({ values }) => values[highest] ?? 0))]
  const text = value < MIN_SHORT ? numberText : COMPACT.format
  return markText(x, space.y(Math.max(top, usual[highest]?.high ?? 0)), text(Math.round(value)), edgeOf(x, 2))
}

/** `36 under (2,480–2,900)`; no column if nothing is known to be usual. */
export function usualColumn(
  { text, differenceText = text }: Words,
  measured: readonly Measured[],
  usual: readonly (Usual | undefined)[],
): TableColumn<PartRow>[] {
  if (usual.length === 0) return []
  const cell = ({ index, part }: PartRow) => {
    const [value, range] = [measured[index]?.value ?? null, usual[index]]
    if (range === undefined || value === null || part.isCurrent) return NONE
    const beyond = beyondUsual(value, range)
    const how = beyond === 0 ? 'within' : `${differenceText(Math.abs(beyond))} ${beyond > 0 ? 'over' : 'under'}`
    return `${how} (${numberText(range.low)}–${numberText(range.high)})`
  }
  return [{ title: 'Usual', cell }]
}

interface MeasuredTime {
  readonly time: TimeInParts
  readonly measured: readonly Measured[]
  readonly empty: string
  /** Whether it is a percent of the time, so that a part that is running can be compared. */
  readonly isShare?: boolean
  /** What is usual up to now in the part that is running. */
  readonly byNow?: Usual | undefined
}

/** `96 % of this week so far, usually 25 to 54 % by now`, `90 % this week so far; last week 91 %`, with one large number. */
export function summaryOf(
  words: Words,
  { time, measured, empty, isShare = false, byNow }: MeasuredTime,
  usual: readonly (Usual | undefined)[],
): Part {
  const { text } = words
  if (measured.every(({ value }) => value === null)) return `${empty}.`
  const { unit, parts } = time
  const index = parts.findLastIndex(({ isWhole }, index) => isWhole && (measured[index]?.value ?? null) !== null)
  const [part, value = null] = [parts[index], measured[index]?.value]
  const last = part === undefined || value === null ? undefined : { part, value, usual: usual[index] }
  const current = parts.findIndex(({ isCurrent }) => isCurrent)
  const running = measured[current]?.value ?? null
  const beyond = last?.usual && beyondText(last.value, last.usual, words)
  if (running !== null && (isShare || running > 0)) {
    const isBefore = last !== undefined && last.part === parts[current - 1] && (isShare || byNow === undefined)
    // Beside a grade, a verdict on the one before would be read as its own.
    const verdict = byNow === undefined && words !== GRADES && beyond && `, ${beyond}`
    const before = isBefore && html`; <span class="nowrap">last ${unit} ${text(last.value)}</span>${verdict}`
    const range = byNow ?? (words === GRADES ? usual[current] : undefined)
    const stands =
      range && `, usually ${rangeText(range)}${isShare || !byNow ? '\u00a0%' : ''}${byNow ? ' by now' : ''}`
    return html`<b>${text(running)}</b> ${isShare ? 'of ' : ''}this ${unit} so far${stands}${before}`
  }
  if (last !== undefined) {
    const isLast = parts.some(({ isCurrent, begin }) => isCurrent && begin === last.part.until)
    return html`<b>${text(last.value)}</b> ${isLast ? 'last' : 'in the last whole'} ${unit}${beyond && `, ${beyond}`}`
  }
  return measured.some(({ value }) => (value ?? 0) > 0) ? `Nothing in a whole ${unit}.` : 'Nothing in this period.'
}

/** What a lighter bar is, where there is one. */
function partLegend(unit: Unit, drawn: readonly TimePart[]): LegendItem[] {
  const parts = drawn.filter(({ isWhole }) => !isWhole)
  if (parts.length === 0) return []
  return [['so-far', parts.every(({ isCurrent }) => isCurrent) ? `This ${unit} so far` : `Part of a ${unit}`]]
}
