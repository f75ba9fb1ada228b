import { wallClock } from '../../../stats/periods.ts'
import { gradeOfKind, movingAverage, type SessionStats } from '../../../stats/training.ts'
import { chart, type ChartColumn, type LegendItem } from '../../charts/charts.ts'
import { html, type Part } from '../../html.ts'
import { kindName } from '../../text/names.ts'
import type { Chart, Viewer } from '../../page.ts'
import { dateTimeText, NONE, round1 } from '../../text/text.ts'
import { allSteadyText, drawnKinds, gradeSummary, kindSummary, NO_GRADES, steadyText } from './summaries.ts'
import {
  axes,
  breakLegend,
  comparedGrades,
  comparedLegend,
  MAX_DRAWN_SESSIONS,
  scaleSwitch,
  type ShownSessions,
  spreadsByKind,
  weeklyGrades,
} from './grade-weeks.ts'

/** Charts of grades. */

/**
 * Grades over time, and those of each kind: of each session, or of each week where there are too many sessions. Of one kind that
 * was chosen, both would be the same.
 */
export function gradeCharts(viewer: Viewer, shown: ShownSessions, kinds: readonly string[], chosen?: string): Chart[] {
  if (chosen !== undefined) return [gradeChart(viewer, shown)]
  const [all, byKind] = isDense(shown)
    ? [weeklyGrades(viewer, shown, kinds), spreadsByKind(viewer, shown)]
    : [sessionGrades(viewer, shown, kinds), gradesByKind(viewer, shown)]
  return drawnKinds(shown.summary.kinds).size === 0 ? [all] : [all, byKind]
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
  const averages = movingAverage(shown.sessions)
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
    summary: `${gradeSummary(shown.sessions, averages)}${kinds.length === 0 ? '' : allSteadyText(shown.summary.kinds)}`,
    empty: NO_GRADES,
    wide: true,
    data: axes(viewer, shown, [...grades, ...(overlay?.values ?? [])]),
    actions: scaleSwitch(shown),
    overlay,
    link: { path: '/training/', id: ({ id }) => id },
    legend: [...sessionLegend(shown.sessions, averages), ...comparedLegend(shown, overlay)],
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
      { key: 'grade', title: 'Grade', value: ({ grade }) => grade },
      {
        key: 'average',
        title: 'Average over seven',
        numeric: true,
        cell: ({ average }) => (average === null ? NONE : average.toFixed(1)),
        value: ({ average }) => (average === null ? null : round1(average)),
      },
      ...kinds.map((kind, index) => kindColumn(viewer, shown, kind, index)),
    ],
    rows,
  })
}

function sessionLegend(sessions: readonly SessionStats[], averages: readonly (number | null)[]): LegendItem[] {
  const graded = sessions.filter(({ grade }) => grade !== null)
  if (graded.length === 0) return []
  return [
    ['filled', 'Passed'],
    ['hollow', 'Not passed'],
    ...(averages.filter(average => average !== null).length < 2
      ? []
      : ([['line', 'Average over seven sessions']] as const)),
    ...breakLegend([graded.map(({ at }) => at)]),
  ]
}

/** The grades of each kind, drawn from the table of the chart above. */
function gradesByKind(viewer: Viewer, shown: ShownSessions): Chart {
  const totals = shown.summary.kinds
  const drawn = [...drawnKinds(totals)]
  const grades = shown.sessions.flatMap(session => drawn.flatMap(kind => gradeOfKind(session, kind) ?? []))
  return chart<never>({
    id: 'grades-by-kind',
    chartType: 'grade-by-kind',
    title: 'Grade by kind',
    summary: html`${kindSummary(viewer, totals)}${steadyText(viewer, totals)} <a href="#grades">Show the figures</a>`,
    empty: NO_GRADES,
    wide: true,
    data: axes(viewer, shown, grades),
    legend: [
      ['filled', 'All segments of the kind passed'],
      ['hollow', 'Not all of them'],
      ...breakLegend(drawn.map(kind => shown.sessions.flatMap(one => (gradeOfKind(one, kind) === null ? [] : one.at)))),
    ],
    source: 'grades',
    columns: [],
    rows: [],
  })
}

interface IndexedSession {
  readonly session: SessionStats
  readonly index: number
}

function kindColumn(
  viewer: Viewer,
  { sessions, summary }: ShownSessions,
  kind: string,
  kindIndex: number,
): ChartColumn<IndexedSession> {
  const grades = sessions.map(session => gradeOfKind(session, kind))
  const averages = movingAverage(sessions.map(({ at }, index) => ({ at, grade: grades[index] ?? null })))
  return {
    // Grades that hardly differ are not drawn; a sentence says it.
    ...(drawnKinds(summary.kinds).has(kind) ? { key: `kind-${kindIndex}` } : {}),
    title: kindName(viewer, kind),
    numeric: true,
    cell: ({ session, index }) => gradeText(grades[index] ?? null, allPassed(session, kind)),
    value: ({ index }) => grades[index] ?? null,
    passed: ({ session }) => allPassed(session, kind),
    average({ index }) {
      const average = averages[index] ?? null
      return average === null ? null : round1(average)
    },
  }
}

function gradeText(grade: number | null, passed: boolean): Part {
  return grade === null ? NONE : `${passed ? '●' : '○'} ${grade}`
}

function allPassed({ kinds }: SessionStats, kind: string): boolean {
  const results = kinds.find(one => one.kind === kind)
  return results !== undefined && results.passed === results.segments
}
