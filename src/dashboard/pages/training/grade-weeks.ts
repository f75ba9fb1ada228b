import { DAY_MS } from '../../../contract/time.ts'
import { type Periods, wallClock } from '../../../stats/periods.ts'
import {
  BREAK_DAYS,
  type GradeSpread,
  movingAverage,
  type SessionStats,
  type TrainingSummary,
} from '../../../stats/training.ts'
import { chart, type ChartColumn, type LegendItem } from '../../charts/charts.ts'
import { html, type Html, nothing } from '../../html.ts'
import { kindName } from '../../text/names.ts'
import type { Chart, Viewer } from '../../page.ts'
import { countText, NONE, numberText, round1 } from '../../text/text.ts'
import { chartUnit, unitText, unitTitles } from '../chart-unit.ts'
import type { TrainingQuery } from './filters.ts'
import type { Compared } from './comparison.ts'
import { allSteadyText, drawnKinds, kindSummary, NO_GRADES, steadyText } from './summaries.ts'

/** Charts of grades by week or month, where there are too many sessions for a mark each. */

/** Where more sessions have a grade, weeks or months are drawn. */
export const MAX_DRAWN_SESSIONS = 400

/** Sessions, the oldest first, and the time that the charts show. */
export interface ShownSessions {
  readonly sessions: readonly SessionStats[]
  readonly summary: TrainingSummary
  readonly periods: Periods
  readonly from: number
  readonly to: number
  readonly now: number
  readonly compared?: Compared | undefined
  /** Whether grades are drawn from 0 to 100. */
  readonly isFullScale?: boolean
  /** The address of the page with changes; undefined where it has none. */
  readonly addressOf?: (changes: Partial<TrainingQuery>) => string
}

/** The spread of the grades of each kind, drawn from the table of the chart of all grades. */
export function spreadsByKind(viewer: Viewer, shown: ShownSessions): Chart {
  const { summary } = shown
  const grades = [...drawnKinds(summary.kinds)].flatMap(kind => gradesIn(summary.kindSpreads.get(kind) ?? []))
  return chart<never>({
    id: 'grades-by-kind',
    chartType: 'spread-by-kind',
    title: 'Grade by kind',
    summary: html`${kindSummary(viewer, summary.kinds)}${steadyText(viewer, summary.kinds)} <a href="#grades">Show the figures</a>`,
    empty: NO_GRADES,
    wide: true,
    data: axes(viewer, shown, grades),
    legend: legendOf(shown),
    source: 'grades',
    columns: [],
    rows: [],
  })
}

/** A week, or a month where weeks would be too many. */
interface Week {
  readonly start: number
  readonly isCurrent: boolean
  readonly all: GradeSpread | null
  readonly kinds: readonly (GradeSpread | null)[]
}

/** The spread of the grades of each week; its table also has those of some kinds. */
export function weeklyGrades(viewer: Viewer, shown: ShownSessions, kinds: readonly string[]): Chart {
  const weeks = weeksOf(shown, kinds)
  const drawn = drawnKinds(shown.summary.kinds)
  const overlay = comparedGrades(viewer, shown)
  const unit = chartUnit(shown)
  return chart<Week>({
    id: 'grades',
    chartType: 'spread',
    title: 'Grade over time',
    summary: `${spreadSummary(viewer, shown, weeks)}${kinds.length === 0 ? '' : allSteadyText(shown.summary.kinds)}`,
    empty: NO_GRADES,
    wide: true,
    data: axes(viewer, shown, [...gradesIn(weeks.map(({ all }) => all)), ...(overlay?.values ?? [])]),
    actions: scaleSwitch(shown),
    overlay,
    legend: [
      ...legendOf(shown),
      ...breakLegend([weeks.flatMap(({ start, all }) => (all === null ? [] : start))], UNIT_DAYS[unit]),
      ...comparedLegend(shown, overlay),
    ],
    columns: [
      {
        key: 'at',
        title: unitTitles[unit],
        cell: ({ start, isCurrent }) => `${unitText(viewer, unit, start)}${isCurrent ? ' (so far)' : ''}`,
        value: ({ start }) => wallClock(start, viewer.timeZone),
      },
      { title: 'Sessions', numeric: true, cell: ({ all }) => numberText(all?.sessions ?? 0) },
      ...spreadColumns(['median', 'low', 'high'], 'Grade', ({ all }) => all),
      ...kinds.flatMap((kind, index) =>
        spreadColumns(
          [`kind-${index}`, `low-${index}`, `high-${index}`],
          kindName(viewer, kind),
          ({ kinds }) => kinds[index] ?? null,
          drawn.has(kind),
        ),
      ),
    ],
    rows: weeks,
  })
}

/** The ends of both axes: grades are drawn where they are, in tens, or from 0 to 100. */
export function axes({ timeZone }: Viewer, shown: ShownSessions, grades: readonly number[]) {
  const { from, to, isFullScale = false } = shown
  const unit = chartUnit(shown)
  const ends = {
    from: wallClock(from, timeZone),
    to: wallClock(to, timeZone),
    period: unit === 'week' ? undefined : unit,
  }
  if (grades.length === 0) return { ...ends, low: 0, high: 100 }
  // Without a part above 100, unless a grade is there.
  const low = Math.floor(Math.min(...grades, 99) / 10) * 10
  const high = Math.max(Math.ceil(Math.max(...grades, 0) / 10) * 10, low + 10)
  return isFullScale ? { ...ends, low: Math.min(0, low), high: Math.max(100, high) } : { ...ends, low, high }
}

/** A switch between the two scales, where the page has an address for it. */
export function scaleSwitch({ isFullScale = false, addressOf }: ShownSessions): Html | undefined {
  if (addressOf === undefined) return undefined
  const link = (full: boolean, text: string) =>
    html`<a href="${addressOf({ isFullScale: full })}#grades"${full === isFullScale ? html` aria-current="true"` : nothing}>${text}</a>`
  return html`<nav class="choice scale" aria-label="Scale of grades">${link(false, 'Fit')}${link(true, '0 to 100')}</nav>`
}

/**
 * The grades of the compared time, moved to the shown one: as the average over seven sessions, or as the median of each week or
 * month where these are drawn, or where the compared time has too many sessions.
 */
export function comparedGrades(viewer: Viewer, shown: ShownSessions) {
  const { compared } = shown
  if (compared === undefined) return undefined
  const { sessions, offset, title, summary } = compared
  const line = (points: readonly { readonly at: number; readonly value: number }[]) => ({
    title,
    times: points.map(({ at }) => wallClock(at, viewer.timeZone)),
    values: points.map(({ value }) => round1(value)),
  })
  if (isComparedByUnit(shown)) {
    return line(
      summary.spreads.flatMap((spread, index) => {
        const [start = 0, end = 0] = shown.periods.slice(index, index + 2)
        return spread === null ? [] : [{ at: (start + end) / 2, value: spread.median }]
      }),
    )
  }
  const graded = sessions.flatMap(({ at, grade }) => (grade === null ? [] : [{ at: at + offset, grade }]))
  const averages = movingAverage(graded)
  return line(
    graded.flatMap(({ at }, index) => {
      const value = averages[index] ?? null
      return value === null ? [] : [{ at, value }]
    }),
  )
}

export function comparedLegend(shown: ShownSessions, overlay: ReturnType<typeof comparedGrades>): LegendItem[] {
  // One point is no line.
  if (overlay === undefined || overlay.values.length < 2) return []
  return [
    [
      'before',
      `${overlay.title}, ${isComparedByUnit(shown) ? `median of a ${chartUnit(shown)}` : 'average over seven sessions'}`,
    ],
  ]
}

/** For times in order, one list for each line: whether a line has a break. Each time may stand for some days. */
export function breakLegend(lines: readonly (readonly number[])[], days = 0): LegendItem[] {
  const length = (BREAK_DAYS + days) * DAY_MS
  const hasBreak = lines.some(times => times.some((at, index) => at - (times[index - 1] ?? at) >= length))
  return hasBreak ? [['break', 'No session here for two weeks or more']] : []
}

/** As in `chart-format.js`, which draws it. */
const UNIT_DAYS = { week: 7, month: 30, quarter: 91 } as const

function isComparedByUnit({ sessions, compared }: ShownSessions): boolean {
  return Math.max(sessions.length, compared?.sessions.length ?? 0) > MAX_DRAWN_SESSIONS
}

function gradesIn(spreads: readonly (GradeSpread | null)[]): number[] {
  return spreads.flatMap(spread => (spread === null ? [] : [spread.low, spread.high]))
}

function legendOf(shown: ShownSessions): readonly LegendItem[] {
  return [
    ['line', `Median of a ${chartUnit(shown)}`],
    ['band', 'From the 10th to the 90th percentile'],
  ]
}

function weeksOf({ summary, periods, now }: ShownSessions, kinds: readonly string[]): Week[] {
  return summary.spreads.map((spread, index) => {
    const [start = 0, end = 0] = periods.slice(index, index + 2)
    return {
      start,
      isCurrent: start <= now && now < end,
      all: spread,
      kinds: kinds.map(kind => summary.kindSpreads.get(kind)?.[index] ?? null),
    }
  })
}

/** The median with its band as text, and as three columns to draw. */
function spreadColumns(
  [median, low, high]: readonly [string, string, string],
  title: string,
  of: (week: Week) => GradeSpread | null,
  isDrawn = true,
): ChartColumn<Week>[] {
  const cell = (week: Week) => {
    const spread = of(week)
    return spread === null ? NONE : `${spread.median} (${spread.low}–${spread.high})`
  }
  if (!isDrawn) return [{ title, numeric: true, cell }]
  return [
    { key: median, title, numeric: true, cell, value: week => of(week)?.median ?? null },
    { key: low, title: '', isDrawnOnly: true, cell, value: week => of(week)?.low ?? null },
    { key: high, title: '', isDrawnOnly: true, cell, value: week => of(week)?.high ?? null },
  ]
}

function spreadSummary(viewer: Viewer, shown: ShownSessions, weeks: readonly Week[]): string {
  const unit = chartUnit(shown)
  const known = weeks.flatMap(({ start, all }) => (all === null ? [] : [{ start, ...all }]))
  const [first] = known
  const last = known.at(-1)
  if (first === undefined || last === undefined) return `${NO_GRADES}.`
  const when = `${unit === 'week' ? 'the week of ' : ''}${unitText(viewer, unit, first.start)}`
  return `${countText(shown.sessions.length, 'session')}, so each ${unit} is drawn as one: its median was ${first.median}\u00a0% in ${when} and ${last.median}\u00a0% in the last one.`
}
