import type { SessionStats } from '../../stats/training.ts'
import { html, type Html } from '../html.ts'
import type { Visit } from '../page.ts'
import { type Column, recordLink, resultMark, table } from '../components.ts'
import { paginate, tableFoot } from '../paging.ts'
import type { Programs } from '../program-names.ts'
import { distanceText, NONE, numberText } from '../text.ts'
import { addressOf, type TrainingQuery, type Sort } from './training-filters.ts'

/** Training sessions as a table that its headings sort. */

export function sessionsTable(
  visit: Visit,
  filters: TrainingQuery,
  sessions: readonly SessionStats[],
  programs: Programs,
): Html {
  const { path, query } = visit
  const paged = paginate(sortedBy(filters, sessions, programs), filters.page)
  return html`
    <section class="card" id="sessions">
      <div class="card-head">
        <h2>Sessions</h2>
        <p class="downloads">
          <a href="${addressOf(filters, {}, '/training.csv')}" download>CSV</a>
          <a href="${addressOf(filters, {}, '/training.ndjson')}" download>NDJSON</a>
        </p>
      </div>
      ${
        paged.total === 0
          ? html`<p class="muted">No session fits. <a href="/training?range=all">Show all sessions</a></p>`
          : html`
              ${table('Sessions', sessionColumns(visit, programs, filters), paged.rows, 'session-table')}
              ${tableFoot(path, query, paged)}
            `
      }
    </section>
  `
}

/** The columns of a table of sessions. With a query, their headings sort it. */
export function sessionColumns(
  visit: Pick<Visit, 'viewer' | 'now'>,
  programs: Programs | undefined,
  filters?: TrainingQuery,
): Column<SessionStats>[] {
  const head = (sort: Sort, text: string) =>
    filters === undefined
      ? { title: text }
      : { title: sortLink(filters, sort, text), sorted: directionOf(filters, sort) }
  return [
    {
      ...head('at', 'When'),
      line: 'first',
      cell: ({ id, at }) => recordLink(visit, `/training/${id}`, at),
    },
    ...(programs === undefined
      ? []
      : [
          {
            ...head('program', 'Program'),
            line: 'second' as const,
            cell: ({ program }: SessionStats) => programs.nameOf(program),
          },
        ]),
    { ...head('result', 'Result'), line: 'first', cell: ({ passed }) => resultMark(passed) },
    {
      ...head('grade', 'Grade'),
      numeric: true,
      line: 'first',
      cell: ({ grade }) => (grade === null ? NONE : `${grade}\u00a0%`),
    },
    { ...head('segments', 'Segments'), numeric: true, cell: ({ segments }) => numberText(segments) },
    {
      ...head('reps', 'Repetitions'),
      numeric: true,
      line: 'second',
      unit: ({ reps }) => (reps === 1 ? '\u00a0rep' : '\u00a0reps'),
      cell: ({ reps }) => numberText(reps),
    },
    {
      ...head('distance', 'Distance'),
      numeric: true,
      line: 'second',
      cell: session => distanceOf(visit.viewer, session),
    },
  ]
}

/** A distance, marked if it may be an estimate. */
export function distanceOf(viewer: Visit['viewer'], { distance, approximate }: SessionStats): string {
  if (distance === null) return NONE
  return `${approximate ? '≈ ' : ''}${distanceText(viewer, distance)}`
}

function directionOf({ sort, descending }: TrainingQuery, column: Sort): 'ascending' | 'descending' | undefined {
  if (sort !== column) return undefined
  return descending ? 'descending' : 'ascending'
}

function sortLink(filters: TrainingQuery, sort: Sort, text: string): Html {
  const isSorted = filters.sort === sort
  const descending = isSorted ? !filters.descending : true
  const mark = isSorted ? (filters.descending ? '↓' : '↑') : ''
  const how = isSorted ? (filters.descending ? ', largest or newest first' : ', smallest or oldest first') : ''
  return html`<a class="sort" href="${addressOf(filters, { sort, descending })}#sessions">${text}<span aria-hidden="true"> ${mark}</span><span class="hidden">${how}</span></a>`
}

export function sortedBy(
  { sort, descending }: TrainingQuery,
  sessions: readonly SessionStats[],
  programs: Programs,
): SessionStats[] {
  const keys: Record<Exclude<Sort, 'at'>, (session: SessionStats) => number | string> = {
    program: ({ program }) => programs.nameOf(program).toLowerCase(),
    result: ({ passed }) => (passed ? 1 : 0),
    grade: ({ grade }) => grade ?? -1,
    segments: ({ segments }) => segments,
    reps: ({ reps }) => reps,
    distance: ({ distance }) => distance ?? -1,
  }
  const newestFirst = sessions.toReversed()
  if (sort === 'at') return descending ? newestFirst : [...sessions]
  // Few values are compared, not many sessions.
  const groups = Map.groupBy(newestFirst, keys[sort])
  const order = descending ? -1 : 1
  return [...groups].toSorted(([a], [b]) => (a < b ? -order : order)).flatMap(([, group]) => group)
}
