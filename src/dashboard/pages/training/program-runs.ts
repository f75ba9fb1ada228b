import type { TrainingTemplate } from '../../../contract/training-templates.ts'
import type { TrainerSegment, TrainingSession } from '../../../contract/training-sessions.ts'
import type { SessionStats } from '../../../stats/training.ts'
import { trainingRecords } from '../../../stats/training-queries.ts'
import { SHADES } from '../../charts/days.ts'
import { legendMark } from '../../charts/picture.ts'
import { html, type Html, nothing } from '../../html.ts'
import { card, stat, type TableColumn, table, paginate, RECORD_ROWS, tableFoot } from '../../layout/components.ts'
import type { Viewer, Visit } from '../../page.ts'
import { typeName } from '../../text/names.ts'
import { countText, dateText, NONE, percentText } from '../../text/text.ts'

/** A program over time: its segments in the last sessions with it, against the targets that they had then. */

const MAX_RUNS = 10

interface Run {
  readonly session: SessionStats
  readonly segments: readonly TrainerSegment[]
}

/** What fails, and the grades of all segments. `sessions` are all of the viewer's choice with the program, the oldest first. */
export async function programRuns(visit: Visit, program: TrainingTemplate, sessions: readonly SessionStats[]) {
  const { store, viewer, pageAccess, path, query } = visit
  const last = sessions.slice(-MAX_RUNS)
  const ids = last.map(({ id }) => id)
  const records = await trainingRecords(store, pageAccess.sessions('dtt'), ids)
  const runs = last.map((session): Run => {
    const document = records.get(session.id)
    // The archive wrote it in the form of the contract. A session that was removed meanwhile has no segments.
    return { session, segments: document === undefined ? [] : (JSON.parse(document) as TrainingSession).TrainerSegment }
  })
  const length = Math.max(...runs.map(({ segments }) => segments.length))
  const paged = paginate(
    Array.from({ length }, (_, position) => position),
    query,
    RECORD_ROWS,
  )
  const failed = failedText(viewer, runs, length)
  const passing = passingGrades(program)
  const graded = [...new Set(passing.map(({ grade }) => grade))].filter(grade => grade > 0)
  const [from, to] = graded.length === 1 ? [percentText(graded[0] ?? 0), percentText(100)] : ['least', 'most']
  const shades = html`<li>Above the passing grade: <span class="nowrap">${from}\u00a0${SHADES.map(shade => html`<i class="day run ${shade}"></i>`)}\u00a0${to}</span></li>`
  const body = html`
    ${table('Segments in the last sessions', runColumns(visit, runs, passing), paged.rows, { look: 'runs' })}
    <ul class="legend">${graded.length > 0 && shades}${failed.length > 0 && html`<li>${legendMark('hollow')}Not passed</li>`}</ul>
    ${tableFoot(path, query, paged, 'runs')}
  `
  const name = `Last ${countText(runs.length, 'session')}`
  const [most = 'Every segment passed', ...others] = failed
  const verdict = stat(name, most, others.length === 0 ? undefined : `also ${others.join(', ')}`, 'stat main verdict')
  return { verdict, card: card('Grades of segments', body, { id: 'runs' }) }
}

/** `7 Endurance not passed in 2 of 10`, and then `2 Training in 1`: the segments that failed most. */
function failedText(viewer: Viewer, runs: readonly Run[], length: number): string[] {
  const failed = Array.from({ length }, (_, position) => {
    const results = runs.flatMap(({ segments }) => segments[position] ?? [])
    const count = results.filter(({ passed }) => !passed).length
    return { count, of: results.length, name: segmentName(viewer, position, results[0]) }
  }).filter(({ count }) => count > 0)
  const most = failed.toSorted((a, b) => b.count - a.count).slice(0, MAX_FAILED)
  return most.map(({ count, of, name }, index) =>
    index === 0 ? `${name} not passed in ${count} of ${of}` : `${name} in ${count}`,
  )
}

const MAX_FAILED = 3

/** The passing grades of today, by position from 0; 0 where there is none. */
export function passingGrades({ Segment }: TrainingTemplate): { readonly type: string; readonly grade: number }[] {
  return Segment.flatMap(({ type, repeat, passFailEnabled, passGradeThreshold = 0 }) => {
    const passing = { type, grade: passFailEnabled === false ? 0 : passGradeThreshold }
    return Array.from({ length: Math.min(Math.max(1, repeat), MAX_POSITIONS) }, () => passing)
  }).slice(0, MAX_POSITIONS)
}

const MAX_POSITIONS = 1000

export type Passing = ReturnType<typeof passingGrades>

/** That of a segment, 0 if it has none; undefined if the program has other segments now. */
export function passingAt(passing: Passing, position: number, type: string | undefined): number | undefined {
  const one = passing[position]
  return one?.type === type ? one?.grade : undefined
}

/** A column for each session; the rows are positions of segments. */
function runColumns({ viewer }: Visit, runs: readonly Run[], passing: Passing): TableColumn<number>[] {
  /** The newest of the segments at a position: sessions that ended early have fewer. */
  const newestAt = (position: number) => runs.findLast(({ segments }) => position < segments.length)?.segments[position]
  const gradeAt = (position: number) => passingAt(passing, position, newestAt(position)?.type) ?? 0
  return [
    {
      title: 'Segment',
      cell: position => html`<span class="when">${segmentName(viewer, position, newestAt(position))}</span>`,
    },
    {
      title: 'Passes at',
      numeric: true,
      cell: position => (gradeAt(position) === 0 ? NONE : percentText(gradeAt(position))),
    },
    ...runs.map(({ session, segments }): TableColumn<number> => {
      return {
        title: html`<a href="/training/${session.id}">${dateText(viewer, session.at)}</a><br>${percentText(
          session.grade,
        )}`,
        numeric: true,
        cell: position => runCell(segments[position], gradeAt(position)),
      }
    }),
  ]
}

/** The grade of a segment, shaded by how far it is above the passing grade, if there is one. */
function runCell(segment: TrainerSegment | undefined, passing: number): Html {
  if (segment === undefined) return html`${NONE}`
  const { passed, percentGrade: grade } = segment
  const above = Math.max(0, grade - passing) / Math.max(1, 100 - passing)
  const shade =
    passed && passing > 0 ? (SHADES[Math.min(SHADES.length - 1, Math.floor(above * SHADES.length))] ?? 'one') : 'none'
  const mark = passed ? nothing : html`${legendMark('hollow')}<span class="hidden">Not passed </span>`
  return html`<span class="day run ${shade}">${mark}${grade === 0 && passed ? NONE : grade}</span>`
}

function segmentName(viewer: Viewer, position: number, segment: TrainerSegment | undefined): string {
  return `${position + 1} ${typeName(viewer, segment?.type ?? '')}`
}
