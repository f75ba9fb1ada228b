import { setImmediate as nextTurn } from 'node:timers/promises'
import { formatTimestamp } from '../../contract/time.ts'
import { chartCards } from '../charts.ts'
import { csv } from '../csv.ts'
import { keptTrainings } from '../../stats/kept-history.ts'
import { newestTrainings, trainingRecords } from '../../stats/training-queries.ts'
import { spreadsInParts } from '../../stats/grade-spread.ts'
import {
  filtered,
  sessionsBetween,
  type SessionStats,
  totalsByKind,
  totalsByKindInParts,
  totalsByPeriodInParts,
  totalsInParts,
} from '../../stats/training.ts'
import { inTurns } from '../../stats/turns.ts'
import { html, type Html, nothing } from '../html.ts'
import { kindName } from '../names.ts'
import { type Chart, datedFile, download, type Page, view, type Viewer, type Visit } from '../page.ts'
import { emptyState, WAYS_IN } from '../components.ts'
import { readPrograms } from '../program-names.ts'
import { addressOf, type TrainingQuery, filterBar, weekAddress, readTrainingQuery } from './training-filters.ts'
import { comparisons, spanOf } from './training-period.ts'
import { changeText, totalTiles } from './training-comparison.ts'
import { chartPeriods, chartUnit, wholeTime } from './chart-unit.ts'
import type { ShownSessions } from './grade-weeks.ts'
import { gradeCharts, rateChart } from './training-charts.ts'
import { sessionsTable, sortedBy } from './training-table.ts'
import { distanceChart, repetitionsChart, weeksOf } from './training-weeks.ts'

export const trainingPages: readonly Page[] = [
  { path: '/training', handler: showTraining },
  { path: '/training.csv', isDownload: true, handler: downloadCsv },
  { path: '/training.ndjson', isDownload: true, handler: downloadRecords },
]

async function showTraining(visit: Visit) {
  const { store, viewer, pageAccess, now, query } = visit
  const filters = readTrainingQuery(query, viewer)
  const span = spanOf(filters, now, viewer.timeZone)
  const [history, programs] = await Promise.all([
    keptTrainings(store, pageAccess.sessions('dtt'), span?.compared.from),
    readPrograms(visit),
  ])
  const within = span === undefined ? history : sessionsBetween(history, span.from, span.to)
  // The filters show the kinds.
  await inTurns(() => totalsByKindInParts(within))
  const sessions = await filtered(within, filters)
  const bar = filterBar(visit, filters, programs, within)
  if (history.length === 0 && (span === undefined || (await isWithout(visit)))) {
    return view({ section: 'training', title: 'Training', body: noTraining })
  }
  const before = await filtered(
    span === undefined ? [] : sessionsBetween(history, span.compared.from, span.compared.to),
    filters,
  )
  const compared =
    filters.compare === undefined || span === undefined
      ? undefined
      : { sessions: before, offset: span.from - span.compared.from, title: comparisons[filters.compare].title }
  const shown: ShownSessions = {
    ...(span ?? wholeTime(sessions, now, viewer.timeZone)),
    sessions,
    now,
    compared,
    isFullScale: filters.isFullScale,
    addressOf: changes => addressOf(filters, changes),
  }
  await summarize(viewer, shown)
  const charts = filters.day === undefined ? chartsOf(viewer, filters, shown) : []
  const table = await sessionsTable(visit, filters, sessions, programs)
  return view({
    section: 'training',
    title: 'Training',
    actions: html`<a class="button" href="/bests">Bests</a>`,
    lead: changeText(viewer, filters, sessions, before),
    charts,
    body: html`
      ${bar}
      ${filters.kind === undefined ? nothing : kindNote(viewer, filters.kind)}
      ${totalTiles(viewer, sessions, compared)}
      ${charts.length === 0 ? nothing : html`<div class="charts">${chartCards(visit, charts)}</div>`}
      ${table}
    `,
  })
}

/** With a filter by kind, the page shows that kind alone, except for results. */
function kindNote(viewer: Viewer, kind: string): Html {
  return html`<p class="muted">Grades, repetitions and distances are of segments of the kind ${kindName(viewer, kind)} only. Results are of whole sessions.</p>`
}

const noTraining = emptyState(
  'No training sessions yet',
  html`This page will show your sessions with their grades, repetitions and distances over time. ${WAYS_IN}`,
)

async function isWithout({ store, pageAccess }: Visit): Promise<boolean> {
  return (await newestTrainings(store, pageAccess.sessions('dtt'), 1)).length === 0
}

/** Computes what the charts show of a long history; it is kept for the functions that show it. */
async function summarize(viewer: Viewer, shown: ShownSessions): Promise<void> {
  const { sessions } = shown
  const periods = chartPeriods(chartUnit(shown), shown, viewer)
  await inTurns(
    () => totalsInParts(sessions),
    () => totalsByKindInParts(sessions),
    () => totalsByPeriodInParts(sessions, periods),
    () => spreadsInParts(sessions, periods),
  )
}

function chartsOf(viewer: Viewer, filters: TrainingQuery, shown: ShownSessions): Chart[] {
  const { kind } = filters
  const totals = totalsByKind(shown.sessions)
  const kinds = totals.map(one => one.kind)
  const weeks = weeksOf(shown, viewer)
  const isOwn = viewer.subject.id === viewer.session.accountId
  const options = {
    href: weekAddress(filters),
    compared: shown.compared,
    goal: isOwn ? (viewer.session.weeklyGoal ?? undefined) : undefined,
  }
  return [
    ...gradeCharts(viewer, shown, kinds, kind),
    repetitionsChart(viewer, weeks, options),
    distanceChart(viewer, weeks, options),
    rateChart(viewer, totals),
  ]
}

async function filteredSessions(visit: Visit) {
  const { store, viewer, pageAccess, now, query } = visit
  const filters = readTrainingQuery(query, viewer)
  const span = spanOf(filters, now, viewer.timeZone)
  const history = await keptTrainings(store, pageAccess.sessions('dtt'), span?.from)
  const within = span === undefined ? history : sessionsBetween(history, span.from, span.to)
  const programs = await readPrograms(visit)
  return { programs, sessions: await sortedBy(filters, await filtered(within, filters), programs) }
}

async function downloadCsv(visit: Visit) {
  const { sessions, programs } = await filteredSessions(visit)
  const header = [
    'Number',
    'Recorded',
    'Program number',
    'Program',
    'Passed',
    'Grade',
    'Segments',
    'Repetitions',
    'Distance (m)',
    'Approximate distance',
  ]
  const rowOf = (session: SessionStats) => [
    session.id,
    formatTimestamp(session.at),
    session.program,
    programs.nameOf(session.program),
    session.passed ? 'yes' : 'no',
    session.grade,
    session.segments,
    session.reps,
    session.distance === null ? null : session.distance / 1_000_000,
    session.approximate ? 'yes' : 'no',
  ]
  return download({
    file: datedFile('training', visit, 'csv'),
    type: 'text/csv; charset=utf-8',
    body: csv(header, sessions, rowOf),
  })
}

/** The records as the API sends them, one a line. */
async function downloadRecords(visit: Visit) {
  const { sessions } = await filteredSessions(visit)
  return download({
    file: datedFile('training', visit, 'ndjson'),
    type: 'application/x-ndjson',
    body: recordLines(
      visit,
      sessions.map(({ id }) => id),
    ),
  })
}

/** A few at a time: records are large. */
const RECORDS_AT_ONCE = 50

async function* recordLines({ store, pageAccess }: Visit, ids: readonly number[]): AsyncGenerator<string> {
  for (let start = 0; start < ids.length; start += RECORDS_AT_ONCE) {
    const some = ids.slice(start, start + RECORDS_AT_ONCE)
    const records = await trainingRecords(store, pageAccess.sessions('dtt'), some)
    // Records that were removed in the meantime are left out.
    yield some
      .map(id => records.get(id))
      .filter(record => record !== undefined)
      .map(record => `${record}\n`)
      .join('')
    await nextTurn()
  }
}
