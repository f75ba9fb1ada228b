import { trainingFields } from '../../../archive/formats/tables.ts'
import { trainingRecords } from '../../../stats/training-queries.ts'
import type { SessionStats } from '../../../stats/training.ts'
import { html, type Html } from '../../html.ts'
import type { Reader, Viewer, Visit } from '../../page.ts'
import { type TableColumn, fieldColumns, recordLink, resultMark, table } from '../../layout/components.ts'
import { type Paged, tableFoot } from '../../paging.ts'
import type { Programs } from '../../text/program-names.ts'
import { distanceText, NONE, numberText } from '../../text/text.ts'
import { addressOf, fewAtOnce } from '../area.ts'
import { type Sort, trainingAddresses, type TrainingQuery } from './filters.ts'

/** Training sessions as a table that its headings sort. */

export async function sessionRows(
  visit: Visit,
  query: TrainingQuery,
  paged: Paged<SessionStats>,
  programs: Programs,
): Promise<Html> {
  const rows = await Array.fromAsync(withRecords(visit, paged.rows))
  return html`${table('Sessions', sessionColumns(visit, programs, query), rows, { id: 'session-table' })}${tableFoot(visit.path, visit.query, paged)}`
}

/** The headings sort the table. */
export function sessionColumns(
  visit: Pick<Reader, 'viewer' | 'now'>,
  programs: Programs,
  filters?: TrainingQuery,
): TableColumn<SessionRow>[] {
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
    { ...head('program', 'Program'), line: 'second', cell: ({ program }) => programs.nameOf(program) },
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
    ...fieldColumns<SessionRow>(visit.viewer, trainingFields),
  ]
}

export interface SessionRow extends SessionStats {
  readonly record?: object | undefined
}

/** Sessions with their records, which are read only if tables show fields of them; a few at a time, because records can be long. */
export async function* withRecords(
  { store, pageAccess }: Pick<Reader, 'store' | 'pageAccess'>,
  sessions: readonly SessionStats[],
): AsyncGenerator<SessionRow> {
  if (trainingFields.length === 0) return yield* sessions
  const access = pageAccess.sessions('dtt')
  for await (const { session, document = '{}' } of fewAtOnce(sessions, ids => trainingRecords(store, access, ids))) {
    yield { ...session, record: JSON.parse(document) as object }
  }
}

/** A distance, marked if it may be an estimate. */
export function distanceOf(viewer: Viewer, { distance, approximate }: SessionStats): string {
  if (distance === null) return NONE
  return `${approximate ? '≈ ' : ''}${distanceText(viewer, distance)}`
}

function directionOf({ sort, descending }: TrainingQuery, column: Sort): 'ascending' | 'descending' | undefined {
  if (sort !== column) return undefined
  return descending ? 'descending' : 'ascending'
}

function sortLink(filters: TrainingQuery, sort: Sort, text: string): Html {
  const isSorted = filters.sort === sort
  // Names begin with A, all else with what is newest or largest.
  const descending = isSorted ? !filters.descending : sort !== 'program'
  const mark = isSorted ? (filters.descending ? '↓' : '↑') : ''
  return html`<a class="sort" data-keep="${sort}" href="${addressOf(trainingAddresses, filters, { sort, descending })}#sessions">${text}<span aria-hidden="true"> ${mark}</span></a>`
}

/** Sessions in the order of the table; equal ones the newest first. */
export function sortedBy(
  { sort, descending }: TrainingQuery,
  sessions: readonly SessionStats[],
  programs: Programs,
): readonly SessionStats[] {
  if (sort === 'at') return descending ? sessions.toReversed() : sessions
  const nameOf = ({ program }: SessionStats) => programs.nameOf(program).toLowerCase()
  const names = sort === 'program' ? [...new Set(sessions.map(nameOf))].toSorted() : []
  const ranks = new Map(names.map((name, rank) => [name, rank]))
  const keyOf: Record<typeof sort, (session: SessionStats) => number> = {
    program: session => ranks.get(nameOf(session)) ?? 0,
    result: ({ passed }) => (passed ? 1 : 0),
    grade: ({ grade }) => grade ?? -1,
    segments: ({ segments }) => segments,
    reps: ({ reps }) => reps,
    distance: ({ distance }) => distance ?? -1,
  }
  const keyed = sessions.toReversed().map(session => ({ session, key: keyOf[sort](session) }))
  const sign = descending ? -1 : 1
  return keyed.toSorted((a, b) => sign * (a.key - b.key)).map(({ session }) => session)
}
