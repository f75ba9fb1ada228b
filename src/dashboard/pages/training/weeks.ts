import { sum } from '../../../contract/numbers.ts'
import { wallClock } from '../../../stats/periods.ts'
import { countedUntil } from '../../../stats/status.ts'
import type { Totals } from '../../../stats/training.ts'
import { chart, type ChartOptions, type LegendItem } from '../../charts/charts.ts'
import type { Chart, Viewer } from '../../page.ts'
import { countText, distanceIn, distanceText, numberText } from '../../text/text.ts'
import { chartUnit, type ChartUnit, partLegend, unitColumns } from '../chart-unit.ts'
import type { ShownSessions } from './grade-weeks.ts'
import type { Compared } from './comparison.ts'
import { weekSummary } from './summaries.ts'

/** Charts of training by week, or by month where there would be too many weeks. */

interface Week extends Totals {
  readonly unit: ChartUnit
  /** The totals of the week or month that it is compared with. */
  readonly compared: Totals | undefined
  readonly start: number
  readonly end: number
  readonly isCurrent: boolean
  /** As in `unitColumns`. */
  readonly isWhole: boolean
  /** Whether the records are known up to a time in it, or later. */
  readonly isKnown: boolean
}

/** Sums by week or month over the time that is shown. */
export function weeksOf(shown: ShownSessions, viewer: Viewer): Week[] {
  const { summary, periods, from, to, now, compared } = shown
  const unit = chartUnit(shown)
  const knownUntil = countedUntil(viewer.asOf, now)
  return summary.periods.map((totals, index) => {
    const [begin = 0, end = 0] = periods.slice(index, index + 2)
    const isCurrent = begin <= now && now < end
    // The range may begin or end within a period.
    const [start, until] = [Math.max(begin, from), isCurrent ? end : Math.min(end, to)]
    const isKnown = begin <= knownUntil || totals.sessions > 0
    const isWhole = !isCurrent && begin >= from && end <= to
    const before = compared?.summary.periods[index]
    return { ...totals, unit, start, end: until, isCurrent, isWhole, isKnown, compared: before }
  })
}

/** Where bars lead, and the goal of the account. */
interface WeekOptions {
  readonly href: string
  readonly goal?: number | undefined
  readonly compared?: Compared | undefined
}

export function repetitionsChart(viewer: Viewer, weeks: readonly Week[], options: WeekOptions): Chart {
  const average = averageOf(weeks, ({ reps }) => reps)
  const current = weeks.find(({ isCurrent, isKnown }) => isCurrent && isKnown)
  const unit = unitOf(weeks)
  const goal = unit === 'week' ? options.goal : undefined
  return weekChart(viewer, weeks, options, {
    id: 'repetitions',
    title: `Repetitions per ${unit}`,
    summary: weekSummary(
      unit,
      { average, current: current?.reps, hasParts: hasParts(weeks) },
      value => countText(value, 'repetition'),
      numberText,
    ),
    empty: 'No repetitions in this period',
    average: average === null ? null : Math.round(average),
    data: { goal },
    legend: goal === undefined ? [] : [['goal', `Weekly goal: ${numberText(goal)}`]],
    columns: [{ key: 'reps', title: 'Repetitions', series: 'solid', value: ({ reps }) => reps }],
    comparedBy: ({ reps }) => reps,
  })
}

export function distanceChart(viewer: Viewer, weeks: readonly Week[], options: WeekOptions): Chart {
  const inUnits = (micrometres: number) => distanceIn(viewer.units, micrometres)
  const [, measure] = inUnits(0)
  const unit = unitOf(weeks)
  const average = averageOf(weeks, ({ distance }) => distance)
  const current = weeks.find(({ isCurrent, isKnown }) => isCurrent && isKnown)
  const isKnown = weeks.some(({ sessions, distance }) => sessions > 0 && distance !== null)
  const isApproximate = weeks.some(({ approximate }) => approximate > 0)
  const textOf = (micrometres: number) => distanceText(viewer, micrometres)
  const summary = isKnown
    ? weekSummary(unit, { average, current: current?.distance ?? undefined, hasParts: hasParts(weeks) }, textOf)
    : UNKNOWN_DISTANCE
  return weekChart(viewer, weeks, options, {
    id: 'distance',
    title: `Distance per ${unit} (${measure})`,
    summary: isApproximate ? `${summary} Lightly hatched distances may have been estimated.` : summary,
    empty: 'No distance is known in this period',
    average: average === null || !isKnown ? null : inUnits(average)[0],
    data: { unit: measure },
    legend: isApproximate ? [['approximate', 'Approximate']] : [],
    columns: [
      {
        key: 'measured',
        title: isApproximate ? `Measured (${measure})` : `Distance (${measure})`,
        series: 'solid',
        value: ({ measured, distance }) => (distance === null ? null : inUnits(measured)[0]),
      },
      ...(isApproximate
        ? [
            {
              key: 'approximate',
              title: `Approximate (${measure})`,
              series: 'approximate' as const,
              value: ({ approximate, distance }: Week) => (distance === null ? null : inUnits(approximate)[0]),
            },
          ]
        : []),
    ],
    comparedBy: ({ distance }) => (distance === null ? null : inUnits(distance)[0]),
  })
}

const UNKNOWN_DISTANCE = 'No distance is known in this period.'

/** What one of these charts has of its own. */
interface WeekChart extends Pick<ChartOptions<Week>, 'id' | 'title' | 'summary' | 'empty' | 'data' | 'columns'> {
  readonly average: number | null
  readonly legend: readonly LegendItem[]
  readonly comparedBy: (totals: Totals) => number | null
}

function weekChart(viewer: Viewer, weeks: readonly Week[], { href, compared }: WeekOptions, own: WeekChart): Chart {
  const { average, data, legend, columns, comparedBy, ...texts } = own
  const unit = unitOf(weeks)
  // There may be nothing to compare with.
  const title = weeks.some(({ compared }) => (compared?.sessions ?? 0) > 0) ? compared?.title : undefined
  const before = ({ compared }: Week) => (compared === undefined ? null : comparedBy(compared))
  return chart<Week>({
    ...texts,
    chartType: 'bars',
    data: { ...averageData(viewer, weeks, average), ...data, href, period: unit === 'week' ? undefined : unit },
    legend: [
      ...partLegend(
        unit,
        weeks.filter(({ sessions }) => sessions > 0),
      ),
      ...legend,
      ...(title === undefined ? [] : ([['before', title]] as const)),
    ],
    columns: [
      ...unitColumns<Week>(viewer, unit, { title: 'Sessions', cell: ({ sessions }) => numberText(sessions) }),
      ...columns,
      ...(title === undefined ? [] : [{ key: 'before', title, value: before }]),
    ],
    rows: weeks,
  })
}

function hasParts(weeks: readonly Week[]): boolean {
  return weeks.some(({ isWhole, isCurrent, sessions }) => !isWhole && !isCurrent && sessions > 0)
}

function unitOf([first]: readonly Week[]): ChartUnit {
  return first?.unit ?? 'week'
}

/** An average as it is drawn: from the first week that it is of. */
function averageData({ timeZone }: Viewer, weeks: readonly Week[], average: number | null) {
  const [first] = countedWeeks(weeks)
  return average === null || first === undefined ? {} : { average, 'average-from': wallClock(first.start, timeZone) }
}

/** Whole weeks or months from that of the first session; parts of others would lower an average. */
function countedWeeks(weeks: readonly Week[]): readonly Week[] {
  const whole = weeks.filter(({ isWhole, isKnown }) => isWhole && isKnown)
  const first = whole.findIndex(({ sessions }) => sessions > 0)
  return first === -1 ? [] : whole.slice(first)
}

/** The average of those whose value is known. */
function averageOf(weeks: readonly Week[], value: (week: Week) => number | null): number | null {
  const counted = countedWeeks(weeks).flatMap(week => value(week) ?? [])
  return counted.length === 0 ? null : sum(counted) / counted.length
}
