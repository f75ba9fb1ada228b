import type { TrainingTemplate } from '../../../contract/training-templates.ts'
import type { TrainerSegment, TrainingSession } from '../../../contract/training-sessions.ts'
import type { SessionStats } from '../../../stats/training.ts'
import { trainingRecords } from '../../../stats/training-queries.ts'
import { html, type Html, nothing } from '../../html.ts'
import { card, emptyState, type TableColumn, table } from '../../layout/components.ts'
import type { Viewer, Visit } from '../../page.ts'
import { paginate, pageNumber, RECORD_ROWS, recordTableFoot } from '../../paging.ts'
import { kindName } from '../../text/names.ts'
import { clockText, countText, dateText, NONE, numberText, partText } from '../../text/text.ts'

/** A program over time: its segments in the last sessions with it, against the targets that they had then. */

const MAX_RUNS = 10

interface Run {
  readonly session: SessionStats
  readonly segments: readonly TrainerSegment[]
}

/** `sessions` are all of the viewer's choice with the program, the oldest first. */
export async function programRuns(visit: Visit, program: TrainingTemplate, sessions: readonly SessionStats[]) {
  if (sessions.length === 0) return emptyState('No sessions with this program yet', 'They will be listed here.')
  const { store, viewer, pageAccess, path, query } = visit
  const newest = sessions.slice(-MAX_RUNS).toReversed()
  const ids = newest.map(({ id }) => id)
  const records = await trainingRecords(store, pageAccess.sessions('dtt'), ids)
  const runs = newest.map((session): Run => {
    const document = records.get(session.id)
    // The archive wrote it in the form of the contract. A session that was removed meanwhile has no segments.
    return { session, segments: document === undefined ? [] : (JSON.parse(document) as TrainingSession).TrainerSegment }
  })
  const length = Math.max(...runs.map(({ segments }) => segments.length))
  const paged = paginate(
    Array.from({ length }, (_, position) => position),
    pageNumber(query),
    RECORD_ROWS,
  )
  const total = sessions.length
  const passed = sessions.filter(({ passed }) => passed).length
  return card(
    'Sessions with this program',
    html`
      <p class="summary">${passed} of ${countText(total, 'session')} passed (${partText(passed, total)}). ${changesText(viewer, runs)}</p>
      ${table('Segments in the last sessions, the newest first', runColumns(visit, runs), paged.rows, { look: 'runs' })}
      <ul class="legend"><li>Repetitions, and the time below</li><li><i class="mark hollow"></i>Not passed</li></ul>
      ${recordTableFoot(path, query, paged, 'runs')}
      <p><a href="/training?range=all&amp;program=${program.id}">All ${numberText(total)} sessions with this program</a></p>
    `,
    { id: 'runs' },
  )
}

/** A column for each session; the rows are positions of segments. */
function runColumns({ viewer, now }: Visit, runs: readonly Run[]): TableColumn<number>[] {
  const year = dateText(viewer, now).slice(-5)
  /** The newest of the segments at a position: sessions that ended early have fewer. */
  const newestAt = (position: number) => runs.find(({ segments }) => position < segments.length)?.segments[position]
  return [
    {
      title: 'Segment',
      cell: position => html`<span class="when">${segmentName(viewer, position, newestAt(position))}</span>`,
    },
    { title: 'Target', numeric: true, cell: position => lines(targetsOf(newestAt(position))) },
    ...runs.map(({ session, segments }): TableColumn<number> => {
      const day = dateText(viewer, session.at)
      return {
        title: html`<a href="/training/${session.id}">${day.endsWith(year) ? day.slice(0, -5) : day}</a><br>${
          session.grade === null ? NONE : `${session.grade}\u00a0%`
        }`,
        numeric: true,
        cell: position => measuredText(segments[position], newestAt(position)),
      }
    }),
  ]
}

/** What a segment reached, and its targets where they were others than they are now. */
function measuredText(segment: TrainerSegment | undefined, newest: TrainerSegment | undefined): Html {
  if (segment === undefined) return html`${NONE}`
  const [targets, now] = [targetsOf(segment), targetsOf(newest)]
  const measured = [numberText(segment.repsMeasured), clockText(segment.durationMeasured)]
  const mark = segment.passed ? nothing : html`<span class="mark hollow"></span><span class="hidden">Not passed </span>`
  return html`${mark}${lines(measured.map((text, line) => (targets[line] === now[line] ? text : `${text} of ${targets[line]}`)))}`
}

function lines([first, second]: readonly string[]): Html {
  return html`${first}<br><small class="muted">${second}</small>`
}

/** Repetitions and time; a dash where there is no target. */
function targetsOf(segment: TrainerSegment | undefined): readonly [reps: string, time: string] {
  const { repsTarget = 0, durationTarget = 0 } = segment ?? {}
  return [repsTarget === 0 ? NONE : numberText(repsTarget), durationTarget === 0 ? NONE : clockText(durationTarget)]
}

function segmentName(viewer: Viewer, position: number, segment: TrainerSegment | undefined): string {
  return `${position + 1} ${kindName(viewer, segment?.type ?? '')}`
}

/** What changed in the program from one session to the next, the newest change first: `4 Nov: 2 Training 80 → 90`. */
function changesText(viewer: Viewer, runs: readonly Run[]): string {
  const last: TrainerSegment[] = []
  const changes: string[] = []
  for (const { session, segments } of runs.toReversed()) {
    const changed = segments.flatMap((segment, position) => {
      const before = last[position]
      last[position] = segment
      const difference = before === undefined ? undefined : differenceText(viewer, before, segment)
      return difference === undefined ? [] : `${segmentName(viewer, position, segment)} ${difference}`
    })
    const others = changed.length > MAX_CHANGES ? `, ${changed.length - MAX_CHANGES} more` : ''
    if (changed.length > 0) {
      changes.push(`${dateText(viewer, session.at)}: ${changed.slice(0, MAX_CHANGES).join(', ')}${others}`)
    }
  }
  const newest = changes.at(-1)
  if (runs.length === 1) return ''
  if (newest === undefined) return `The targets of the last ${runs.length} are the same.`
  return `Changed ${newest}${changes.length > 1 ? `, after ${countText(changes.length - 1, 'earlier change')}` : ''}.`
}

const MAX_CHANGES = 3

function differenceText(viewer: Viewer, before: TrainerSegment, after: TrainerSegment): string | undefined {
  if (before.type !== after.type) return `instead of ${kindName(viewer, before.type)}`
  const [old, now] = [targetsOf(before), targetsOf(after)]
  const changed = [0, 1].flatMap(line => (old[line] === now[line] ? [] : `${old[line]} → ${now[line]}`))
  return changed.length === 0 ? undefined : changed.join(' and ')
}
