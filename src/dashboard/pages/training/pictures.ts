import { formatDate } from '../../../contract/time.ts'
import { countedUntil } from '../../../stats/known-time.ts'
import type { SessionStats, Totals, TrainingSummary } from '../../../stats/training.ts'
import { type Usual, usualOfProgram } from '../../../stats/usual.ts'
import { zoneClock } from '../../../stats/zone-clock.ts'
import { breakBoxes, edgeOf, gradeRange, linePath, markText, resultDots, plane } from '../../charts/plane.ts'
import { figuresTable, type LegendItem, picture, resultLegend } from '../../charts/picture.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import type { TableColumn } from '../../layout/components.ts'
import type { Viewer } from '../../page.ts'
import { countText, dateTimeText, distanceIn, distanceText, NONE, numberText, percentText } from '../../text/text.ts'
import {
  type Bars,
  breakLegend,
  GRADES,
  isLongerThanWeek,
  type Measured,
  partFigures,
  type PartRow,
  rangeBand,
  strip,
  summaryOf,
  type TimeInParts,
  usualColumn,
  usualLegend,
  usualOf,
} from '../parts.ts'

/** The picture of grades: of each session, or of each week, month or quarter where there are too many sessions. */

/** More sessions are too many for a mark each. */
const MAX_DRAWN_SESSIONS = 60

/** Sessions, the oldest first, and the time that pictures show. */
export interface ShownSessions {
  readonly sessions: readonly SessionStats[]
  /** By the parts of the time. */
  readonly summary: TrainingSummary
  readonly time: TimeInParts
  /** By the parts before, where grades are compared with what is usual. */
  readonly earlier?: TrainingSummary
  /** The address of some days, with `{from}` and `{to}`. */
  readonly daysAddress: string
  /** Ends the names of their pictures, of which a page has several. */
  readonly suffix?: string
  /** All of them have this program: the time between them is no break. */
  readonly program?: number | undefined
}

/** Grades over time; `byType` stands above its table. */
export function gradePicture(viewer: Viewer, shown: ShownSessions, byType: Html = nothing): Html {
  const { summary, time, program } = shown
  const sessions = shown.sessions.filter(({ at }) => at < time.to)
  const isDense = sessions.length > MAX_DRAWN_SESSIONS
  // The page of a program has nothing before, and its sessions are alike.
  const isOfProgram = program !== undefined && shown.earlier === undefined && !isDense
  const usual = isOfProgram
    ? sessions.map((_, index) => usualOfProgram(sessions, index, ({ grade }) => grade))
    : usualOf(time, shown.earlier && medians(shown.earlier), medians(summary), true)
  const places = isOfProgram ? sessions.map(({ at }) => ({ begin: at, until: at })) : time.parts
  const marks = isDense ? [] : sessionPoints(sessions)
  const points = isOfProgram ? marks : medianPoints(shown)
  const line = points.filter(point => point !== null)
  const end = line.at(-1)
  const running = isOfProgram ? [] : line.filter(({ isCurrent }) => isCurrent)
  const spread = line.filter(({ count }) => isDense && count >= 10)
  const spreads = spread.flatMap(({ at, low, high }) => [{ at, value: low }, { at, value: high }, null])
  const drawn = [...spreads, ...line, ...marks].flatMap(one => one?.value ?? [])
  const space = planeOf(viewer, shown, [...drawn, ...ends(usual)])
  // The time between sessions with a program is no break.
  const breaks =
    program === undefined ? breakBoxes(space, isDense ? line : marks, isDense ? time.parts[0] : undefined) : nothing
  const legend: (LegendItem | false)[] = [
    !isOfProgram && ['line', `Median of a ${time.unit}`],
    spreads.length > 0 && ['spread', '10th to 90th percentile'],
    ...resultLegend(marks.map(({ isPassed }) => isPassed)),
    running.length > 0 && ['running', `This ${time.unit} so far`],
    ...usualLegend(isOfProgram ? 'session' : time.unit, usual),
    ...breakLegend(breaks),
  ]
  return picture({
    id: `grades${shown.suffix ?? ''}`,
    title: 'Grade',
    summary:
      isOfProgram || !isLongerThanWeek(time)
        ? medianText(summary)
        : summaryOf(GRADES, { time, measured: medians(summary), empty: NO_GRADES }, usual),
    drawing:
      drawn.length === 0
        ? undefined
        : html`${space.axes}${rangeBand(space, places, usual)}${linePath('spread', space, spreads)}${breaks}${linePath('line', space, points)}${resultDots(space, [...running, ...marks])}${end && markText(space.x(end.until), space.y(end.value), numberText(end.value), ' at-end')}`,
    empty: `${NO_GRADES}.`,
    legend: drawn.length === 0 ? [] : legend,
    figures: isDense
      ? partFigures(viewer, shown, space, gradeColumns(summary, usual), byType)
      : sessionFigures(viewer, shown, sessions, space, byType),
  })
}

function gradeColumns(summary: TrainingSummary, usual: readonly (Usual | undefined)[]): TableColumn<PartRow>[] {
  const column: TableColumn<PartRow> = {
    title: 'Median grade',
    cell({ index }) {
      const spread = summary.spreads[index] ?? null
      return spread === null ? NONE : `${percentText(spread.median)} (${spread.low}–${spread.high})`
    },
  }
  return [column, ...usualColumn({ text: percentText, differenceText: numberText }, medians(summary), usual)]
}

function medianText({ grade }: TrainingSummary): Part {
  if (grade === null) return `${NO_GRADES}.`
  return html`<b>${percentText(grade.median)}</b> median of ${countText(grade.sessions, 'grade')}`
}

/** The median of each part on what is usual, without axes. */
export function gradeStrip(viewer: Viewer, shown: ShownSessions): Html {
  const usual = usualOf(shown.time, shown.earlier && medians(shown.earlier), medians(shown.summary), true)
  const line = medianPoints(shown)
  const points = line.filter(point => point !== null)
  if (points.length === 0) return strip(nothing)
  const all = [...points.map(({ value }) => value), ...ends(usual)]
  const space = plane(viewer, shown.time.parts, { values: [Math.min(...all) - 3, Math.max(...all) + 1], text: String })
  const [most] = points.toReversed().toSorted((a, b) => b.value - a.value)
  return strip(
    html`${rangeBand(space, shown.time.parts, usual)}${linePath('line', space, line)}${resultDots(space, points)}${most && markText(space.x(most.at), space.y(most.value), numberText(most.value), edgeOf(space.x(most.at)))}`,
  )
}

function ends(usual: readonly (Usual | undefined)[]): number[] {
  return usual.flatMap(range => (range === undefined ? [] : [range.low, range.high]))
}

/** The table of sessions that have a mark each. */
function sessionFigures(
  viewer: Viewer,
  { daysAddress }: ShownSessions,
  sessions: readonly SessionStats[],
  space: ReturnType<typeof planeOf>,
  note: Html,
): Html {
  return figuresTable<SessionStats>({
    title: 'Figures by session',
    note,
    columns: [
      { title: 'When', cell: ({ id, at }) => html`<a href="/training/${id}">${dateTimeText(viewer, at)}</a>` },
      { title: 'Grade', cell: ({ grade }) => percentText(grade) },
      { title: 'Result', cell: ({ passed }) => (passed ? 'Passed' : 'Not passed') },
    ],
    rows: sessions,
    placeOf: ({ at }) => [space.x(at), space.x(at)],
    dayOf: ({ at }) => formatDate(zoneClock(viewer.timeZone).dayOf(at)),
    daysAddress,
  })
}

function medians({ spreads }: TrainingSummary): Measured[] {
  return spreads.map(spread => ({ value: spread?.median ?? null, isEmpty: spread === null }))
}

interface GradePoint {
  readonly at: number
  readonly value: number
  /** The end of what it stands for. */
  readonly until: number
  readonly low: number
  readonly high: number
  /** Of grades: of fewer than ten, the percentiles are the lowest and the highest. */
  readonly count: number
  readonly isCurrent: boolean
  readonly isPassed: boolean
}

function sessionPoints(sessions: readonly SessionStats[]): GradePoint[] {
  return sessions.flatMap(({ at, grade, passed }) =>
    grade === null
      ? []
      : [{ at, until: at, value: grade, low: grade, high: grade, count: 1, isCurrent: false, isPassed: passed }],
  )
}

function medianPoints({ summary, time }: ShownSessions): (GradePoint | null)[] {
  return time.parts.map(({ begin, until, isCurrent }, index) => {
    const grade = summary.spreads[index] ?? null
    if (grade === null) return null
    const { low, median, high, sessions } = grade
    return { at: (begin + until) / 2, until, value: median, low, high, count: sessions, isCurrent, isPassed: true }
  })
}

function planeOf(viewer: Viewer, { time }: ShownSessions, grades: readonly number[]) {
  return plane(viewer, time.parts, { values: gradeRange(grades), text: percentText })
}

const NO_GRADES = 'No grades in this period'

interface AmountOptions {
  readonly measure?: 'repetitions' | 'distance'
  readonly goal?: number | undefined
  readonly actions?: Html
}

/** Repetitions, or distance, by week, month, quarter or year. */
export function amountBars(
  viewer: Viewer,
  { time, summary, earlier, daysAddress, suffix = '' }: ShownSessions,
  now: number,
  { measure = 'repetitions', goal, actions }: AmountOptions = {},
): Bars {
  const isDistance = measure === 'distance'
  const [, unit] = distanceIn(viewer.units, 0)
  const inUnits = (distance: number | null) => (distance === null ? null : distanceIn(viewer.units, distance)[0])
  const valueOf = ({ reps, distance }: Totals) => (isDistance ? inUnits(distance) : reps)
  const isAnyKnown = summary.periods.some(totals => totals.sessions > 0 && valueOf(totals) !== null)
  const knownUntil = countedUntil(viewer.asOf, now)
  const measuredIn = (parts: typeof time.parts, periods: readonly Totals[]): Measured[] =>
    periods.map((totals, index) => {
      const isKnown = (parts[index]?.begin ?? 0) <= knownUntil || totals.sessions > 0
      const value = isKnown && (isAnyKnown || !isDistance) ? valueOf(totals) : null
      return { value, isEmpty: totals.sessions === 0 }
    })
  const title = isDistance ? `Distance (${unit})` : 'Repetitions'
  return {
    id: `${measure}${suffix}`,
    title: isDistance ? `Distance per ${time.unit} (${unit})` : `Repetitions per ${time.unit}`,
    empty: isDistance ? 'No distance is known in this period' : 'No repetitions in this period',
    time,
    daysAddress,
    actions,
    series: [{ title, look: 'solid', values: summary.periods.map(valueOf) }],
    measured: measuredIn(time.parts, summary.periods),
    earlier: earlier && measuredIn(time.earlier, earlier.periods),
    goal:
      goal === undefined || isDistance || time.unit !== 'week'
        ? undefined
        : { value: goal, text: `Weekly goal: ${numberText(goal)}` },
    cellText: numberText,
    text: value =>
      isDistance
        ? distanceText(viewer, value * (viewer.units === 'imperial' ? 304_800 : 1_000_000))
        : numberText(value),
  }
}
