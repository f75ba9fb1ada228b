import { fieldValues, trainingFields, trainingWriter } from '../../../archive/formats/tables.ts'
import { PartSize } from '../../../archive/part-size.ts'
import { csvFile, ndjsonFile } from '../../files.ts'
import { type TrainingHistory, trainingHistory } from '../../../stats/training-history.ts'
import { trainingRecords } from '../../../stats/training-queries.ts'
import { pause } from '../../../fairness.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import { kindName } from '../../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../../page.ts'
import { emptyState, noRecords } from '../../layout/components.ts'
import { readPrograms } from '../../text/program-names.ts'
import {
  comparedDays,
  comparisons,
  movedTo,
  type Period,
  periodFor,
  periodProblem,
  timeOfDays,
} from '../../text/period.ts'
import { clearLink, filterBar, isFiltered, readTrainingQuery, type TrainingQuery, weekAddress } from './filters.ts'
import { changeText, type Compared, totalTiles } from './comparison.ts'
import { boundaries, inParts, isLongerThanWeek, partPictures, type TimeInParts, timeSince } from '../parts.ts'
import { gradePicture, type ShownSessions } from './grades.ts'
import { type SessionRow, sessionsTable, sortedBy, withRecords } from './table.ts'
import { distancePicture, repetitionsPicture } from './weeks.ts'

const OF_TRAINING = { section: 'training', area: 'dtt' } as const

export const trainingPages: readonly DashboardPage[] = [
  { ...OF_TRAINING, path: '/training', reads: 'list', handler: showTraining },
  { ...OF_TRAINING, path: '/training.csv', reads: 'export', isDownload: true, handler: downloadCsv },
  { ...OF_TRAINING, path: '/training.ndjson', reads: 'export', isDownload: true, handler: downloadRecords },
]

async function showTraining(visit: Visit) {
  const { store, viewer, pageAccess, now } = visit
  const filters = readTrainingQuery(visit)
  const period = periodFor(filters, now, viewer.timeZone)
  const span = period && timeOfDays(period, viewer.timeZone)
  const problem = period && periodProblem(period)
  const [history, programs] = await Promise.all([
    trainingHistory(store, pageAccess.sessions('dtt')),
    readPrograms(visit),
  ])
  if (history.sessions.length === 0) return view({ title: 'Training', body: noTraining(viewer) })
  const within = await history.select({}, span?.from, span?.to)
  const selection = await history.select(filters, span?.from, span?.to)
  const { sessions } = selection
  const time = inParts(span ?? timeSince(sessions, now, viewer), now, viewer)
  const summary = await history.summary(selection, boundaries(time.parts))
  const before = period && problem === undefined ? await compareWith(visit, history, filters, period, time) : undefined
  const shown: ShownSessions = {
    sessions,
    summary,
    time,
    earlier: await earlierThan(history, filters, time),
    compared: filters.compare === undefined ? undefined : before,
    daysAddress: weekAddress(filters),
  }
  const { kinds } = selection.name === within.name ? summary : await history.summary(within)
  const isOneDay = period !== undefined && period.first === period.last
  const change = changeText(viewer, { query: filters, period, sessions, totals: summary.totals }, before)
  return view({
    title: 'Training',
    lead: sessions.length === 0 ? undefined : change,
    body: html`
      ${filterBar(visit, filters, period, programs, within.sessions, kinds)}
      ${problem === undefined || sessions.length === 0 ? nothing : html`<p class="problem" role="alert">${problem}</p>`}
      ${filters.kind === undefined ? nothing : kindNote(viewer, filters.kind)}
      ${totalTiles(viewer, filters, summary.totals, shown.compared)}
      ${isOneDay || sessions.length === 0 ? nothing : pictures(visit, filters, shown)}
      ${sessions.length === 0 ? noSession(filters, problem ?? change) : await sessionsTable(visit, filters, sessions, programs)}
    `,
  })
}

function noSession(filters: TrainingQuery, text: Part): Html {
  return isFiltered(filters)
    ? emptyState('No session matches', text, clearLink(filters))
    : emptyState('No sessions', text)
}

function noTraining(viewer: Viewer): Html {
  return noRecords(
    viewer,
    'No training sessions yet',
    'This page will show your sessions with their grades, repetitions and distances over time.',
  )
}

/** With a filter by kind, the page shows that kind alone, except for results. */
function kindNote(viewer: Viewer, kind: string): Html {
  return html`<p class="muted">Grades, repetitions and distances are of segments of the kind ${kindName(viewer, kind)} only. Results are of whole sessions.</p>`
}

/** The sessions that a period is compared with, summed up by the weeks or months of its charts. */
async function compareWith(
  { viewer: { timeZone } }: Visit,
  history: TrainingHistory,
  filters: TrainingQuery,
  period: Period,
  { parts }: TimeInParts,
): Promise<Compared> {
  const days = comparedDays(period, filters.compare)
  const { from, to } = timeOfDays(days, timeZone)
  const selection = await history.select(filters, from, to)
  const summary = await history.summary(selection, movedTo(days, period, boundaries(parts), timeZone))
  return {
    days,
    sessions: selection.sessions,
    summary,
    title: comparisons[filters.compare ?? 'before'],
  }
}

/** The sessions of the parts before, which say what is usual. */
async function earlierThan(history: TrainingHistory, filters: TrainingQuery, { earlier }: TimeInParts) {
  const periods = boundaries(earlier)
  return history.summary(await history.select(filters, periods[0], periods.at(-1)), periods)
}

function pictures({ viewer, now }: Visit, { kind }: TrainingQuery, shown: ShownSessions): Html {
  // Of one kind that was chosen, its grades are those of all.
  const kinds = kind === undefined ? shown.summary.kinds.map(one => one.kind) : []
  const isOwn = viewer.subject.id === viewer.session.accountId
  const goal = isOwn ? (viewer.session.weeklyGoal ?? undefined) : undefined
  const byPart = isLongerThanWeek(shown.time)
    ? [repetitionsPicture(viewer, shown, goal, now), distancePicture(viewer, shown, now)]
    : []
  const cards = partPictures(viewer, shown.time, shown.daysAddress, [gradePicture(viewer, shown, kinds), ...byPart])
  return html`<div class="charts">${cards}</div>`
}

async function filteredSessions(visit: Visit) {
  const { store, viewer, pageAccess, now } = visit
  const filters = readTrainingQuery(visit)
  const period = periodFor(filters, now, viewer.timeZone)
  const span = period && timeOfDays(period, viewer.timeZone)
  const history = await trainingHistory(store, pageAccess.sessions('dtt'))
  const { sessions } = await history.select(filters, span?.from, span?.to)
  const programs = await readPrograms(visit)
  return { programs, sessions: await sortedBy(filters, sessions, programs) }
}

async function downloadCsv(visit: Visit) {
  const { sessions, programs } = await filteredSessions(visit)
  const rowOf = (session: SessionRow) => {
    const cells = {
      number: session.id,
      recorded: session.at,
      programNumber: session.program,
      program: programs.nameOf(session.program),
      passed: session.passed,
      grade: session.grade,
      segments: session.segments,
      repetitions: session.reps,
      distance: session.distance === null ? null : session.distance / 1_000_000,
      approximate: session.approximate,
    }
    return trainingWriter.cells(cells, fieldValues(trainingFields, session.record, visit.viewer.discreet))
  }
  return csvFile(visit, 'training', trainingWriter.header, withRecords(visit, sessions), rowOf)
}

/** The records as the API sends them, one a line. */
async function downloadRecords(visit: Visit) {
  const { sessions } = await filteredSessions(visit)
  const ids = sessions.map(({ id }) => id)
  return ndjsonFile(visit, 'training', recordLines(visit, ids))
}

async function* recordLines({ store, pageAccess }: Visit, ids: readonly number[]): AsyncGenerator<string> {
  const access = pageAccess.sessions('dtt')
  const size = new PartSize()
  for (let start = 0; start < ids.length;) {
    const some = ids.slice(start, start + size.rows)
    start += some.length
    const records = await trainingRecords(store, access, some)
    // Records that were removed in the meantime are left out.
    yield some
      .map(id => records.get(id))
      .filter(record => record !== undefined)
      .map(record => `${record}\n`)
      .join('')
    size.adaptTo(records)
    await pause()
  }
}
