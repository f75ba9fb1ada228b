import { chart, type Column } from '../charts.ts'
import { type Periods, periodsBetween, wallClock } from '../../stats/periods.ts'
import {
  gradeOfKind,
  type KindTotals,
  movingAverage,
  type SessionFigures,
  type Totals,
  totalsByKind,
  totalsByPeriod,
} from '../../stats/training.ts'
import { html, type Html, nothing, type Part } from '../html.ts'
import { kindName } from '../names.ts'
import type { Viewer } from '../page.ts'
import { countText, dateText, dateTimeText, distanceIn, distanceText, NONE, numberText } from '../text.ts'
import {
  FEW,
  gradeReading,
  kindReading,
  NO_SESSIONS,
  percentText,
  rateReading,
  weekReading,
} from './training-readings.ts'

/** Training sessions as pictures. */

/** Sessions, the oldest first, and the time they were looked for in. */
export interface Shown {
  readonly sessions: readonly SessionFigures[]
  readonly from: number
  readonly to: number
  readonly now: number
}

/** The grade of each session, and their moving average. */
export function gradeChart(viewer: Viewer, { sessions, from, to }: Shown, kinds: readonly string[] = []): Html {
  const { timeZone } = viewer
  const averages = movingAverage(sessions.map(({ grade }) => grade))
  const rows = sessions.map((session, index) => ({ ...session, average: averages[index] ?? null }))
  type Row = (typeof rows)[number]
  return chart<Row>({
    id: 'grades',
    picture: 'grade',
    title: 'Grade over time',
    reading: gradeReading(sessions, averages),
    empty: NO_SESSIONS,
    wide: true,
    data: { from: wallClock(from, timeZone), to: wallClock(to, timeZone) },
    key: [
      ['filled', 'Passed'],
      ['hollow', 'Not passed'],
      ['line', 'Average over seven sessions'],
    ],
    columns: [
      whenColumn(viewer),
      {
        key: 'passed',
        title: 'Result',
        cell: ({ passed }) => (passed ? 'Passed' : 'Not passed'),
        value: ({ passed }) => (passed ? 1 : 0),
      },
      { key: 'grade', title: 'Grade', numeric: true, cell: ({ grade }) => grade ?? NONE, value: ({ grade }) => grade },
      {
        key: 'average',
        title: 'Average over seven',
        numeric: true,
        cell: ({ average }) => (average === null ? NONE : average.toFixed(1)),
        value: ({ average }) => (average === null ? null : Math.round(average * 10) / 10),
      },
      ...kinds.map((kind, index): Column<Row> => ({
        key: `kind-${index}`,
        title: kindName(viewer, kind),
        numeric: true,
        cell: session => gradeText(session, kind),
        value: session => gradeOfKind(session, kind),
        passed: session => allPassed(session, kind),
      })),
    ],
    rows,
  })
}

/** The same for each kind of segment. It draws from the table of the chart before it. */
export function kindCharts(viewer: Viewer, { sessions, from, to }: Shown, kinds: readonly string[]): Html {
  const { timeZone } = viewer
  return chart<never>({
    picture: 'grade-by-kind',
    title: 'Grade by kind',
    reading: html`${kindReading(
      viewer,
      totalsByKind(sessions).filter(({ kind }) => kinds.includes(kind)),
    )}${
      kinds.length === 0
        ? nothing
        : html` Kinds measure different things, so each has a picture of its own; filled is a session in which all segments of the kind were passed. <a href="#grades">The table</a> is the one above.`
    }`,
    empty: NO_SESSIONS,
    wide: true,
    data: { from: wallClock(from, timeZone), to: wallClock(to, timeZone) },
    from: 'grades',
    columns: [],
    rows: [],
  })
}

interface Week extends Totals {
  readonly start: number
  readonly end: number
  readonly isCurrent: boolean
}

/** Sums by week over the time that is shown. */
export function weeksOf({ sessions, from, to, now }: Shown, { timeZone }: Viewer): Week[] {
  const periods: Periods = periodsBetween('week', from, to - 1, timeZone)
  return totalsByPeriod(sessions, periods).map((totals, index) => {
    const [start = 0, end = 0] = periods.slice(index, index + 2)
    return { ...totals, start, end, isCurrent: start <= now && now < end }
  })
}

export function repetitionsChart(viewer: Viewer, weeks: readonly Week[]): Html {
  const average = averageOf(weeks, ({ reps }) => reps)
  const current = weeks.find(({ isCurrent }) => isCurrent)
  return chart<Week>({
    picture: 'bars',
    title: 'Repetitions per week',
    reading: weekReading(average, current?.reps, value => countText(value, 'repetition')),
    empty: 'No repetitions in this time',
    data: { average: average === null ? undefined : Math.round(average) },
    key: weekKey(average === null ? null : numberText(Math.round(average))),
    columns: [
      ...weekColumns<Week>(viewer),
      {
        key: 'reps',
        title: 'Repetitions',
        numeric: true,
        series: 'solid',
        cell: ({ reps }) => numberText(reps),
        value: ({ reps }) => reps,
      },
    ],
    rows: weeks,
  })
}

export function distanceChart(viewer: Viewer, weeks: readonly Week[]): Html {
  const inUnits = (micrometres: number) => distanceIn(viewer.units, micrometres)
  const [, unit] = inUnits(0)
  const average = averageOf(weeks, ({ measured, approximate }) => measured + approximate)
  const current = weeks.find(({ isCurrent }) => isCurrent)
  const isApproximate = weeks.some(({ approximate }) => approximate > 0)
  const textOf = (micrometres: number) => distanceText(viewer, micrometres)
  const reading = weekReading(
    average,
    current === undefined ? undefined : current.measured + current.approximate,
    textOf,
  )
  return chart<Week>({
    picture: 'bars',
    title: `Distance per week (${unit})`,
    reading: isApproximate ? `${reading} Hatched light: distances that may have been estimated.` : reading,
    empty: 'No distance known in this time',
    data: { average: average === null ? undefined : inUnits(average)[0], unit },
    key: [
      ...weekKey(average === null ? null : textOf(average)),
      ...(isApproximate ? ([['approximate', 'Approximate']] as const) : []),
    ],
    columns: [
      ...weekColumns<Week>(viewer),
      {
        key: 'measured',
        title: isApproximate ? `Measured (${unit})` : `Distance (${unit})`,
        numeric: true,
        series: 'solid',
        cell: ({ measured }) => numberText(inUnits(measured)[0]),
        value: ({ measured }) => inUnits(measured)[0],
      },
      ...(isApproximate
        ? [
            {
              key: 'approximate',
              title: `Approximate (${unit})`,
              numeric: true,
              series: 'approximate' as const,
              cell: ({ approximate }: Week) => numberText(inUnits(approximate)[0]),
              value: ({ approximate }: Week) => inUnits(approximate)[0],
            },
          ]
        : []),
    ],
    rows: weeks,
  })
}

export function rateChart(viewer: Viewer, kinds: readonly KindTotals[]): Html {
  return chart<KindTotals>({
    picture: 'rates',
    title: 'Pass rate by kind',
    reading: rateReading(viewer, kinds),
    empty: 'No segments in this time',
    wide: true,
    key: kinds.some(({ total }) => total < FEW) ? [['few', `Fewer than ${FEW} segments`]] : [],
    columns: [
      { key: 'label', title: 'Kind', cell: ({ kind }) => kindName(viewer, kind) },
      {
        key: 'passed',
        title: 'Passed',
        numeric: true,
        cell: ({ passed }) => numberText(passed),
        value: row => row.passed,
      },
      {
        key: 'total',
        title: 'Segments',
        numeric: true,
        cell: ({ total }) => numberText(total),
        value: row => row.total,
      },
      { title: 'Pass rate', numeric: true, cell: ({ passed, total }) => percentText(passed, total) },
      { title: 'Mean grade', numeric: true, cell: ({ grade }) => grade ?? NONE },
    ],
    rows: kinds,
  })
}

function whenColumn<Row extends { readonly id: number; readonly at: number }>(viewer: Viewer): Column<Row> {
  return {
    key: 'at',
    title: 'When',
    cell: ({ id, at }) => html`<a href="/training/${id}">${dateTimeText(viewer, at)}</a>`,
    value: ({ at }) => wallClock(at, viewer.timeZone),
  }
}

function weekColumns<Row extends Week>(viewer: Viewer): Column<Row>[] {
  const { timeZone } = viewer
  return [
    {
      key: 'start',
      title: 'Week of',
      cell: ({ start, isCurrent }) => `${dateText(viewer, start)}${isCurrent ? ' (so far)' : ''}`,
      value: ({ start }) => wallClock(start, timeZone),
    },
    // For the picture; what readers want to know of a week is when it begins.
    {
      key: 'end',
      title: 'Until',
      cell: ({ end }) => dateText(viewer, end - 1),
      value: ({ end }) => wallClock(end, timeZone),
    },
    {
      key: 'current',
      title: 'Sessions',
      numeric: true,
      cell: ({ sessions }) => numberText(sessions),
      value: ({ isCurrent }) => (isCurrent ? 1 : 0),
    },
  ]
}

function weekKey(average: string | null) {
  return [
    ['so-far', 'This week so far'],
    ...(average === null ? [] : ([['average', `Average of whole weeks: ${average}`]] as const)),
  ] as const
}

/** Of whole weeks: one that is not over would pull it down. */
function averageOf(weeks: readonly Week[], value: (week: Week) => number): number | null {
  const whole = weeks.filter(({ isCurrent }) => !isCurrent)
  // Weeks before the first session are none without one.
  const first = whole.findIndex(({ sessions }) => sessions > 0)
  if (first === -1) return null
  const counted = whole.slice(first)
  return counted.reduce((sum, week) => sum + value(week), 0) / counted.length
}

function gradeText(session: SessionFigures, kind: string): Part {
  const grade = gradeOfKind(session, kind)
  if (grade === null) return NONE
  return `${allPassed(session, kind) ? '●' : '○'} ${grade}`
}

function allPassed({ kinds }: SessionFigures, kind: string): boolean {
  const figures = kinds.find(one => one.kind === kind)
  return figures !== undefined && figures.passed === figures.segments
}
