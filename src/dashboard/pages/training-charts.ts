import { wallClock } from '../../stats/periods.ts'
import { gradeOfKind, type KindTotals, movingAverage, type SessionStats, totalsByKind } from '../../stats/training.ts'
import { chart, type Column, type LegendItem } from '../charts.ts'
import { html, nothing, type Part } from '../html.ts'
import { kindName } from '../names.ts'
import type { Chart, Viewer } from '../page.ts'
import { dateTimeText, NONE, numberText, round1 } from '../text.ts'
import { constantGrades, constantText } from './grade-kinds.ts'
import {
  axes,
  comparedGrades,
  comparedLegend,
  MAX_DRAWN_SESSIONS,
  scaleSwitch,
  type ShownSessions,
  spreadCharts,
  weeklyGrades,
} from './grade-weeks.ts'
import { FEW, gradeSummary, kindSummary, NO_GRADES, percentText, rateSummary } from './training-summaries.ts'

/** Charts of grades and pass rates. */

/**
 * Grades over time, and those of each kind: of each session, or of each week where there are too many sessions. Of one kind that
 * was chosen, both would be the same.
 */
export function gradeCharts(viewer: Viewer, shown: ShownSessions, kinds: readonly string[], chosen?: string): Chart[] {
  if (chosen !== undefined) return [gradeChart(viewer, shown)]
  return isDense(shown)
    ? spreadCharts(viewer, shown, kinds)
    : [sessionGrades(viewer, shown, kinds), gradesByKind(viewer, shown, kinds)]
}

/** Grades over time. */
export function gradeChart(viewer: Viewer, shown: ShownSessions): Chart {
  return isDense(shown) ? weeklyGrades(viewer, shown, []) : sessionGrades(viewer, shown, [])
}

function isDense({ sessions }: ShownSessions): boolean {
  return sessions.length > MAX_DRAWN_SESSIONS
}

/** The grade of each session with the moving average; its table also has the grades of some kinds. */
function sessionGrades(viewer: Viewer, shown: ShownSessions, kinds: readonly string[]): Chart {
  const averages = movingAverage(shown.sessions.map(({ grade }) => grade))
  const rows = shown.sessions.map((session, index) => {
    const { id, at, passed, grade } = session
    return { session, index, id, at, passed, grade, average: averages[index] ?? null }
  })
  type Row = (typeof rows)[number]
  const overlay = comparedGrades(viewer, shown)
  const grades = shown.sessions.flatMap(({ grade }) => grade ?? [])
  return chart<Row>({
    id: 'grades',
    chartType: 'grade',
    title: 'Grade over time',
    summary: gradeSummary(shown.sessions, averages),
    empty: NO_GRADES,
    wide: true,
    data: axes(viewer, shown, [...grades, ...(overlay?.values ?? [])]),
    actions: scaleSwitch(shown),
    overlay,
    link: { path: '/training/', id: ({ id }) => id },
    legend: [...(grades.length === 0 ? [] : SESSION_LEGEND), ...comparedLegend(shown)],
    columns: [
      {
        key: 'at',
        title: 'When',
        cell: ({ id, at }) => html`<a href="/training/${id}">${dateTimeText(viewer, at)}</a>`,
        value: ({ at }) => wallClock(at, viewer.timeZone),
      },
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
        value: ({ average }) => (average === null ? null : round1(average)),
      },
      ...kinds.map((kind, index) => kindColumn(viewer, shown.sessions, kind, index)),
    ],
    rows,
  })
}

const SESSION_LEGEND: readonly LegendItem[] = [
  ['filled', 'Passed'],
  ['hollow', 'Not passed'],
  ['line', 'Average over seven sessions'],
]

/** The grades of each kind, drawn from the table of the chart above. */
function gradesByKind(viewer: Viewer, shown: ShownSessions, kinds: readonly string[]): Chart {
  const totals = totalsByKind(shown.sessions).filter(({ kind }) => kinds.includes(kind))
  const constant = constantGrades(shown.sessions, kinds)
  const grades = shown.sessions.flatMap(session => kinds.flatMap(kind => gradeOfKind(session, kind) ?? []))
  return chart<never>({
    id: 'grades-by-kind',
    chartType: 'grade-by-kind',
    title: 'Grade by kind',
    summary: html`${kindSummary(viewer, totals)}${
      kinds.length === 0
        ? nothing
        : html` Kinds measure different things, so each has its own chart; a dot is filled if all segments of the kind were passed.${constantText(viewer, constant)} <a href="#grades">Table above</a>`
    }`,
    empty: NO_GRADES,
    wide: true,
    data: axes(viewer, shown, grades),
    source: 'grades',
    columns: [],
    rows: [],
  })
}

export function rateChart(viewer: Viewer, kinds: readonly KindTotals[]): Chart {
  return chart<KindTotals>({
    id: 'rates',
    chartType: 'rates',
    title: 'Pass rate by kind',
    summary: rateSummary(viewer, kinds),
    empty: 'No segments in this period',
    wide: true,
    data: { few: FEW },
    legend: kinds.some(({ total }) => total < FEW) ? [['few', `Fewer than ${FEW} segments`]] : [],
    columns: [
      { key: 'label', title: 'Kind', cell: ({ kind }) => kindName(viewer, kind) },
      {
        key: 'passed',
        title: 'Passed',
        numeric: true,
        cell: ({ passed }) => numberText(passed),
        value: ({ passed }) => passed,
      },
      {
        key: 'total',
        title: 'Segments',
        numeric: true,
        cell: ({ total }) => numberText(total),
        value: ({ total }) => total,
      },
      { key: 'rate', title: 'Pass rate', numeric: true, cell: ({ passed, total }) => percentText(passed, total) },
      { title: 'Mean grade', numeric: true, cell: ({ grade }) => grade ?? NONE },
    ],
    rows: kinds,
  })
}

interface IndexedSession {
  readonly session: SessionStats
  readonly index: number
}

function kindColumn(
  viewer: Viewer,
  sessions: readonly SessionStats[],
  kind: string,
  kindIndex: number,
): Column<IndexedSession> {
  const grades = sessions.map(session => gradeOfKind(session, kind))
  const averages = movingAverage(grades)
  return {
    // Grades that are all the same are not drawn; a sentence says it.
    ...(constantGrades(sessions, [kind]).size > 0 ? {} : { key: `kind-${kindIndex}` }),
    title: kindName(viewer, kind),
    numeric: true,
    cell: ({ session, index }) => gradeText(grades[index] ?? null, allPassed(session, kind)),
    value: ({ index }) => grades[index] ?? null,
    passed: ({ session }) => allPassed(session, kind),
    average: ({ index }) => round1(averages[index] ?? 0),
  }
}

function gradeText(grade: number | null, passed: boolean): Part {
  return grade === null ? NONE : `${passed ? '●' : '○'} ${grade}`
}

function allPassed({ kinds }: SessionStats, kind: string): boolean {
  const results = kinds.find(one => one.kind === kind)
  return results !== undefined && results.passed === results.segments
}
