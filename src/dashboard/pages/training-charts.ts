import { wallClock } from '../../stats/periods.ts'
import { gradeOfKind, type KindTotals, movingAverage, type SessionStats, totalsByKind } from '../../stats/training.ts'
import { chart, type Column } from '../charts.ts'
import { html, type Html, nothing, type Part } from '../html.ts'
import { kindName } from '../names.ts'
import type { Viewer } from '../page.ts'
import { dateTimeText, NONE, numberText, round1 } from '../text.ts'
import { FEW, gradeSummary, kindSummary, NO_SESSIONS, percentText, rateSummary } from './training-summaries.ts'

/** Charts of grades and pass rates. */

/** Sessions, the oldest first, and the time that the charts show. */
export interface Shown {
  readonly sessions: readonly SessionStats[]
  readonly from: number
  readonly to: number
  readonly now: number
}

/** The grade of each session with the moving average; its table also has the grades of some kinds. */
export function gradeChart(viewer: Viewer, shown: Shown, kinds: readonly string[] = []): Html {
  const averages = movingAverage(shown.sessions.map(({ grade }) => grade))
  const rows = shown.sessions.map((session, index) => ({ ...session, index, average: averages[index] ?? null }))
  type Row = (typeof rows)[number]
  return chart<Row>({
    id: 'grades',
    chartType: 'grade',
    title: 'Grade over time',
    summary: gradeSummary(shown.sessions, averages),
    empty: NO_SESSIONS,
    wide: true,
    data: rangeData(viewer, shown),
    legend: [
      ['filled', 'Passed'],
      ['hollow', 'Not passed'],
      ['line', 'Average over seven sessions'],
    ],
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
      ...kinds.map((kind, place) => kindColumn(viewer, shown.sessions, kind, place)),
    ],
    rows,
  })
}

/** The grades of each kind, drawn from the table of the chart above. */
export function gradeByKindChart(viewer: Viewer, shown: Shown, kinds: readonly string[]): Html {
  const totals = totalsByKind(shown.sessions).filter(({ kind }) => kinds.includes(kind))
  return chart<never>({
    chartType: 'grade-by-kind',
    title: 'Grade by kind',
    summary: html`${kindSummary(viewer, totals)}${
      kinds.length === 0
        ? nothing
        : html` Kinds measure different things, so each has a chart of its own. A dot is filled if all segments of the kind were passed in that session. <a href="#grades">The table</a> is the one above.`
    }`,
    empty: NO_SESSIONS,
    wide: true,
    data: rangeData(viewer, shown),
    source: 'grades',
    columns: [],
    rows: [],
  })
}

export function rateChart(viewer: Viewer, kinds: readonly KindTotals[]): Html {
  return chart<KindTotals>({
    chartType: 'rates',
    title: 'Pass rate by kind',
    summary: rateSummary(viewer, kinds),
    empty: 'No segments in this time',
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

function rangeData({ timeZone }: Viewer, { from, to }: Shown) {
  return { from: wallClock(from, timeZone), to: wallClock(to, timeZone) }
}

type IndexedSession = SessionStats & { readonly index: number }

function kindColumn(
  viewer: Viewer,
  sessions: readonly SessionStats[],
  kind: string,
  place: number,
): Column<IndexedSession> {
  const grades = sessions.map(session => gradeOfKind(session, kind))
  const averages = movingAverage(grades)
  return {
    key: `kind-${place}`,
    title: kindName(viewer, kind),
    numeric: true,
    cell: session => gradeText(grades[session.index] ?? null, allPassed(session, kind)),
    value: ({ index }) => grades[index] ?? null,
    passed: session => allPassed(session, kind),
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
