import { DAY_MS, formatDate } from '../../../contract/time.ts'
import { countedUntil } from '../../../stats/known-time.ts'
import {
  BREAK_DAYS,
  type GradeSpread,
  gradeOfKind,
  type KindTotals,
  type SessionStats,
  type Totals,
  type TrainingSummary,
} from '../../../stats/training.ts'
import type { Usual } from '../../../stats/usual.ts'
import { zoneClock } from '../../../stats/zone-clock.ts'
import { breakBoxes, dots, linePath, type Plane, stretched, uprights } from '../../charts/plane.ts'
import { figuresTable, type LegendItem, picture, type Plot } from '../../charts/picture.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import type { TableColumn } from '../../layout/components.ts'
import type { Viewer } from '../../page.ts'
import { kindName } from '../../text/names.ts'
import {
  countText,
  dateTimeText,
  distanceIn,
  distanceText,
  NONE,
  numberText,
  percentText,
  unbroken,
} from '../../text/text.ts'
import {
  barPicture,
  isLongerThanWeek,
  type Measured,
  type PartPicture,
  type PartRow,
  planeOfTime,
  strip,
  summaryOf,
  type TimeInParts,
  type TimePart,
  usualBand,
  usualColumn,
  usualLegend,
  usualOf,
} from '../parts.ts'

/** The picture of grades: of each session, or of each week, month or quarter where there are too many sessions; and those of kinds. */

/** More sessions are too many for a mark each. */
const MAX_DRAWN_SESSIONS = 60

/** Sessions, the oldest first, and the time that pictures show. */
export interface ShownSessions {
  readonly sessions: readonly SessionStats[]
  /** By the parts of the time. */
  readonly summary: TrainingSummary
  readonly time: TimeInParts
  /** By the parts before. */
  readonly earlier: TrainingSummary
  /** The address of some days, with `{from}` and `{to}`. */
  readonly daysAddress: string
}

/** A mark: a session, or a part of the time. */
interface Mark {
  readonly at: number
  readonly session?: SessionStats
  readonly part?: TimePart
  readonly grade: GradeSpread | null
  readonly kinds: readonly (GradeSpread | null)[]
}

/** A mark that has a grade. */
interface Point {
  readonly at: number
  readonly value: number
  readonly grade: GradeSpread
  readonly part: TimePart | undefined
  readonly isPassed: boolean
}

const GRADES = { text: percentText, differenceText: (points: number) => unbroken(countText(points, 'point')) }

/** Grades over time, with those of each kind where kinds differ. */
export function gradePicture(viewer: Viewer, shown: ShownSessions, note: Part = nothing): PartPicture {
  const { sessions, summary, time } = shown
  const kinds = drawnKinds(summary.kinds)
  const isDense = sessions.length > MAX_DRAWN_SESSIONS
  const usual = usualOf(time, medians(shown.earlier), medians(summary))
  const marks = isDense ? partMarks(shown, kinds) : sessionMarks(shown, kinds)
  const points = pointsOf(marks)
  const space = planeOf(viewer, shown, points, ends(usual))
  const band = usualBand(space, time.parts, usual)
  const columns = isDense ? partColumns(summary, usual) : []
  const own = sessionColumns(viewer)
  const kindColumns = kinds.map((kind, index) => ({
    title: `${kindName(viewer, kind)} (%)`,
    cell({ kinds }: Mark) {
      const grade = kinds[index] ?? null
      return grade === null ? NONE : numberText(grade.median)
    },
  }))
  return {
    columns: [
      ...columns,
      ...(isDense ? kindColumns : []).map(({ title, cell }) => ({
        title,
        cell: ({ index }: PartRow) => cell(marks[index] ?? NO_MARK),
      })),
    ],
    strip: gradeStrip(viewer, shown, usual),
    card: (column, figuresId, figures) => {
      const firstKind = isDense ? column + columns.length : own.length
      const plotted = isDense ? columns.map((_, index) => column + index) : [1, 2]
      return picture({
        id: 'grades',
        title: 'Grade',
        summary: gradeSummary(shown, usual),
        note,
        plots: [
          {
            title: 'All kinds',
            drawing: points.length === 0 ? undefined : html`${space.axes}${band}${marksOf(space, points)}`,
            empty: `${NO_GRADES}.`,
            cells: [0, ...plotted],
          },
          ...kinds.map((kind, index) => kindPlot(viewer, shown, marks, { kind, index, column: firstKind + index })),
        ],
        legend: legendOf(time, points, usual),
        ...(isDense
          ? { figuresId, figures }
          : { figures: html`${sessionFigures(viewer, shown, space, marks, [...own, ...kindColumns])}${figures}` }),
      })
    },
  }
}

function gradeSummary({ time, summary }: ShownSessions, usual: readonly (Usual | undefined)[]): string {
  const { grade } = summary
  if (isLongerThanWeek(time)) return summaryOf(GRADES, { time, measured: medians(summary), empty: NO_GRADES }, usual)
  if (grade === null) return `${NO_GRADES}.`
  return `Median ${percentText(grade.median)} of ${countText(grade.sessions, 'grade')}.`
}

/** The median of each part, before what is usual. */
function gradeStrip(viewer: Viewer, shown: ShownSessions, usual: readonly (Usual | undefined)[]): Html {
  const points = shown.time.parts.flatMap(({ begin, until }, index) => {
    const median = shown.summary.spreads[index]?.median
    return median === undefined ? [] : [{ at: (begin + until) / 2, value: median }]
  })
  const space = planeOf(viewer, shown, [], [...points.map(({ value }) => value), ...ends(usual)])
  return strip(html`${usualBand(space, shown.time.parts, usual)}${dots('filled', space, points)}`)
}

function ends(usual: readonly (Usual | undefined)[]): number[] {
  return usual.flatMap(range => (range === undefined ? [] : [range.low, range.high]))
}

/** Kinds that have grades, and their medians. */
export function gradedKinds(kinds: readonly KindTotals[]) {
  return kinds.flatMap(({ kind, grade }) => (grade === null ? [] : [{ kind, ...grade }]))
}

/** Those whose grades vary, where they differ by so much that a chart of each says more than one of all. */
function drawnKinds(kinds: readonly KindTotals[]): string[] {
  const varying = gradedKinds(kinds).filter(({ low, high }) => low < high)
  const medians = varying.map(({ median }) => median)
  return Math.max(...medians) - Math.min(...medians) >= MIN_DIFFERENCE ? varying.map(({ kind }) => kind) : []
}

const MIN_DIFFERENCE = 5

/** The table of sessions that have a mark each. */
function sessionFigures(
  viewer: Viewer,
  { daysAddress }: ShownSessions,
  space: Plane,
  marks: readonly Mark[],
  columns: readonly TableColumn<Mark>[],
): Html {
  return figuresTable<Mark>({
    title: 'Figures by session',
    columns,
    rows: marks,
    placeOf: ({ at }) => [space.x(at), space.x(at)],
    dayOf: ({ at }) => formatDate(zoneClock(viewer.timeZone).dayOf(at)),
    daysAddress,
  })
}

const NO_MARK: Mark = { at: 0, grade: null, kinds: [] }

function medians({ spreads }: TrainingSummary): Measured[] {
  return spreads.map(spread => ({ value: spread?.median ?? null, isEmpty: spread === null }))
}

/** Those with a date in the future have none. */
function sessionMarks({ sessions, time }: ShownSessions, kinds: readonly string[]): Mark[] {
  const alone = (grade: number | null) =>
    grade === null ? null : { sessions: 1, low: grade, median: grade, high: grade }
  const drawn = sessions.filter(({ at }) => at < time.to)
  return drawn.map(session => {
    const ofKinds = kinds.map(kind => alone(gradeOfKind(session, kind)))
    return { at: session.at, session, grade: alone(session.grade), kinds: ofKinds }
  })
}

function partMarks({ summary, time }: ShownSessions, kinds: readonly string[]): Mark[] {
  return time.parts.map((part, index) => {
    const ofKinds = kinds.map(kind => summary.kindSpreads.get(kind)?.[index] ?? null)
    return { at: (part.begin + part.until) / 2, part, grade: summary.spreads[index] ?? null, kinds: ofKinds }
  })
}

function pointsOf(marks: readonly Mark[], gradeOf = ({ grade }: Mark) => grade): Point[] {
  return marks.flatMap(mark => {
    const grade = gradeOf(mark)
    const { at, part, session } = mark
    return grade === null ? [] : [{ at, grade, value: grade.median, part, isPassed: session?.passed === true }]
  })
}

/** The axis of grades has them in tens, and no part above 100 unless a grade is there. */
function planeOf(
  viewer: Viewer,
  { time }: ShownSessions,
  points: readonly Point[],
  others: readonly (number | null)[] = [],
): Plane {
  const grades = [...points.flatMap(({ grade }) => [grade.low, grade.high]), ...others.filter(value => value !== null)]
  const low = Math.floor(Math.min(...grades, 99) / 10) * 10
  const high = Math.max(Math.ceil(Math.max(...grades, 0) / 10) * 10, low + 10)
  return planeOfTime(viewer, time, { values: [low, high] })
}

/** A dot for each session, filled if it was passed; or the spread of each part, and its median as a line. */
function marksOf(space: Plane, points: readonly Point[]): Html {
  const part = points[0]?.part
  if (part === undefined) {
    const [passed, others] = [true, false].map(wanted => points.filter(({ isPassed }) => isPassed === wanted))
    return html`${breakBoxes(space, points)}${dots('filled', space, passed ?? [])}${dots('hollow', space, others ?? [])}`
  }
  const days = daysOf(part)
  const spreads = points.map(({ at, grade }) => ({ at, low: grade.low, high: grade.high }))
  return html`${breakBoxes(space, points, days)}${uprights('spread', space, spreads)}${stretched(linePath('line', space, points, days))}`
}

function daysOf({ begin, until }: TimePart): number {
  return (until - begin) / DAY_MS
}

function kindPlot(
  viewer: Viewer,
  shown: ShownSessions,
  marks: readonly Mark[],
  { kind, index, column }: { readonly kind: string; readonly index: number; readonly column: number },
): Plot {
  const points = pointsOf(marks, ({ kinds }) => kinds[index] ?? null)
  const space = planeOf(viewer, shown, points)
  return {
    title: kindName(viewer, kind),
    drawing: points.length === 0 ? undefined : html`${space.axes}${marksOf(space, points)}`,
    empty: `${NO_GRADES}.`,
    cells: [0, column],
  }
}

function sessionColumns(viewer: Viewer): TableColumn<Mark>[] {
  return [
    {
      title: 'When',
      cell: ({ session, at }) => html`<a href="/training/${session?.id}">${dateTimeText(viewer, at)}</a>`,
    },
    { title: 'Grade', cell: ({ grade }) => (grade === null ? NONE : percentText(grade.median)) },
    { title: 'Result', cell: ({ session }) => (session?.passed === true ? 'Passed' : 'Not passed') },
  ]
}

function partColumns(summary: TrainingSummary, usual: readonly (Usual | undefined)[]): TableColumn<PartRow>[] {
  return [
    { title: 'Median grade', cell: ({ index }) => spreadText(summary.spreads[index] ?? null) },
    ...usualColumn({ text: percentText, differenceText: numberText }, medians(summary), usual),
  ]
}

/** `88 % (80–95)` */
function spreadText(spread: GradeSpread | null): string {
  return spread === null ? NONE : `${percentText(spread.median)} (${spread.low}–${spread.high})`
}

function legendOf(time: TimeInParts, points: readonly Point[], usual: readonly (Usual | undefined)[]): LegendItem[] {
  const [first] = points
  if (first === undefined) return []
  const days = first.part === undefined ? 0 : daysOf(first.part)
  const hasBreak = points.some(({ at }, index) => at - (points[index - 1]?.at ?? at) >= (BREAK_DAYS + days) * DAY_MS)
  const marks: LegendItem[] =
    first.part === undefined
      ? [
          ['filled', 'Passed'],
          ['hollow', 'Not passed'],
        ]
      : [
          ['line', `Median of a ${time.unit}`],
          ['spread', 'From the 10th to the 90th percentile'],
        ]
  return [
    ...marks,
    ...usualLegend(time.unit, usual),
    ...(hasBreak ? ([['break', 'No session here for two weeks or more']] as const) : []),
  ]
}

const NO_GRADES = 'No grades in this period'

/** Repetitions and distance by week, month, quarter or year. */

export function repetitionsPicture(
  viewer: Viewer,
  shown: ShownSessions,
  now: number,
  { goal, note }: { readonly goal?: number | undefined; readonly note?: Html },
): PartPicture {
  const { time } = shown
  return barPicture(viewer, {
    time,
    ...measuredOf(viewer, shown, now, ({ reps }) => reps),
    id: 'repetitions',
    title: `Repetitions per ${time.unit}`,
    empty: 'No repetitions in this period',
    note,
    series: [{ title: 'Repetitions', look: 'solid', values: shown.summary.periods.map(({ reps }) => reps) }],
    goal:
      goal === undefined || time.unit !== 'week'
        ? undefined
        : { value: goal, text: `Weekly goal: ${numberText(goal)}` },
    text: numberText,
  })
}

export function distancePicture(viewer: Viewer, shown: ShownSessions, now: number, note: Html): PartPicture {
  const { time, summary } = shown
  const [, measure] = distanceIn(viewer.units, 0)
  const isKnown = summary.periods.some(({ sessions, distance }) => sessions > 0 && distance !== null)
  const inUnits = ({ distance }: Totals) => (distance === null ? null : distanceIn(viewer.units, distance)[0])
  return barPicture(viewer, {
    time,
    ...measuredOf(viewer, shown, now, totals => (isKnown ? inUnits(totals) : null)),
    id: 'distance',
    title: `Distance per ${time.unit} (${measure})`,
    empty: 'No distance is known in this period',
    note,
    series: [{ title: `Distance (${measure})`, look: 'solid', values: summary.periods.map(inUnits) }],
    cellText: numberText,
    text: value => distanceText(viewer, value * (viewer.units === 'imperial' ? 304_800 : 1_000_000)),
  })
}

/** What is measured of each part, and of those before. */
export function measuredOf(
  viewer: Viewer,
  { time, summary, earlier }: ShownSessions,
  now: number,
  valueOf: (totals: Totals) => number | null,
) {
  const knownUntil = countedUntil(viewer.asOf, now)
  const measuredIn = (parts: typeof time.parts, periods: readonly Totals[]): Measured[] =>
    periods.map((totals, index) => {
      const isKnown = (parts[index]?.begin ?? 0) <= knownUntil || totals.sessions > 0
      return { value: isKnown ? valueOf(totals) : null, isEmpty: totals.sessions === 0 }
    })
  return { measured: measuredIn(time.parts, summary.periods), earlier: measuredIn(time.earlier, earlier.periods) }
}
