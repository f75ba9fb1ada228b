import { DAY_MS } from '../../contract/time.ts'
import { type Periods, periodsBetween, wallClock } from '../../stats/periods.ts'
import type { SessionStats } from '../../stats/training.ts'
import type { ChartColumn, LegendItem } from '../charts/charts.ts'
import type { Viewer } from '../page.ts'
import { dateText, monthText } from '../text/text.ts'

/** How charts divide the time that they show, so that no chart has too many points: into weeks, months or quarters. */
export type ChartUnit = 'week' | 'month' | 'quarter'

interface Time {
  readonly from: number
  readonly to: number
}

/**
 * The time that charts show, and its periods: a span, or else whole weeks from the first of these sessions on, up to now, or to the last
 * one where that is in the future.
 */
export function timeOf(sessions: readonly SessionStats[], now: number, viewer: Viewer, span?: Time) {
  const first = sessions[0]?.at ?? now
  const from = span?.from ?? periodsBetween('week', first, first, viewer.timeZone)[0] ?? first
  const to = span?.to ?? Math.max(now, sessions.at(-1)?.at ?? now) + 1
  return { from, to, periods: chartPeriods({ from, to }, viewer) }
}

/** The largest number of weeks (four years) or months (seventeen years); beyond that, the next larger unit is used. */
const MAX_POINTS = 210

export function chartUnit({ from, to }: Time): ChartUnit {
  const days = (to - from) / DAY_MS
  if (days <= MAX_POINTS * 7) return 'week'
  return days <= MAX_POINTS * 30 ? 'month' : 'quarter'
}

/** Whether weeks are drawn: in a week or less there is nothing to compare. */
export function isDrawnByWeek({ from, to }: Time): boolean {
  return Math.round((to - from) / DAY_MS) > 7
}

/** The weeks, months or quarters from the one that holds `from` to the one before `to` that holds its last instant. */
function chartPeriods({ from, to }: Time, { timeZone }: Viewer): Periods {
  const unit = chartUnit({ from, to })
  if (unit !== 'quarter') return periodsBetween(unit, from, to - 1, timeZone)
  const months = periodsBetween('month', from - QUARTER_MS, to - 1 + QUARTER_MS, timeZone)
  const starts = months.filter(at => Number(wallClock(at, timeZone).slice(5, 7)) % 3 === 1)
  const first = starts.findLastIndex(start => start <= from)
  const last = starts.findIndex(start => start >= to)
  return starts.slice(Math.max(0, first), last === -1 ? undefined : last + 1)
}

const QUARTER_MS = 92 * DAY_MS

interface Part {
  readonly start: number
  readonly end: number
  readonly isCurrent: boolean
  /** Whether it is over, and all of its days are shown. */
  readonly isWhole: boolean
}

/** The columns of the weeks or months of a chart. The third one is shown in the table, and tells the drawing which is not over. */
export function unitColumns<Row extends Part>(
  viewer: Viewer,
  unit: ChartUnit,
  shown: Pick<ChartColumn<Row>, 'title' | 'cell'>,
): ChartColumn<Row>[] {
  const { timeZone } = viewer
  return [
    {
      key: 'start',
      title: unitTitles[unit],
      cell: ({ start, isCurrent, isWhole }) =>
        `${unitText(viewer, unit, start)}${isCurrent ? ' (so far)' : isWhole ? '' : ' (in part)'}`,
      value: ({ start }) => wallClock(start, timeZone),
    },
    {
      key: 'end',
      isDrawnOnly: true,
      title: 'Until',
      cell: ({ end }) => dateText(viewer, end - 1),
      value: ({ end }) => wallClock(end, timeZone),
    },
    { key: 'current', numeric: true, value: ({ isCurrent }) => (isCurrent ? 1 : 0), ...shown },
  ]
}

/** What a hatched bar is, where there is one. */
export function partLegend(unit: ChartUnit, drawn: readonly Part[]): LegendItem[] {
  const parts = drawn.filter(({ isWhole }) => !isWhole)
  if (parts.length === 0) return []
  return [['so-far', parts.every(({ isCurrent }) => isCurrent) ? `This ${unit} so far` : `Part of a ${unit}`]]
}

/** `16 Feb 2026` for a week, `February 2026`, `Q1 2026` */
export function unitText(viewer: Viewer, unit: ChartUnit, start: number): string {
  if (unit === 'week') return dateText(viewer, start)
  if (unit === 'month') return monthText(viewer, start)
  const [year = '', month] = wallClock(start, viewer.timeZone).split('-')
  return `Q${Math.ceil(Number(month) / 3)} ${year}`
}

/** The heading of a column of starts. */
export const unitTitles: Readonly<Record<ChartUnit, string>> = { week: 'Week of', month: 'Month', quarter: 'Quarter' }
