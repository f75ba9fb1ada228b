import { raw } from 'hono/html'
import type { TrainerSegment, TrainingSession } from '../../contract/training-sessions.ts'
import { lockRecords, locksSince } from '../../stats/lock-queries.ts'
import { lockTemplates, type TemplateUse, withUses } from '../../stats/lock-template-queries.ts'
import { programs } from '../../stats/program-queries.ts'
import { countedUntil } from '../../stats/known-time.ts'
import { trainingHistory } from '../../stats/training-history.ts'
import { trainingRecords } from '../../stats/training-queries.ts'
import type { SessionStats } from '../../stats/training.ts'
import { zoneClock } from '../../stats/zone-clock.ts'
import { formatDate } from '../../contract/time.ts'
import { pause } from '../../fairness.ts'
import { html, type Html, nothing, type Part } from '../html.ts'
import type { TableColumn } from '../layout/components.ts'
import type { Reader, Viewer } from '../page.ts'
import { fewAtOnce } from '../pages/area.ts'
import { lockColumns, lockRow, type LockRow } from '../pages/locks/list.ts'
import { lockTemplateColumns, shownRules } from '../pages/locks/templates.ts'
import { programColumns } from '../pages/training/programs.ts'
import { sessionColumns, withRecords } from '../pages/training/list.ts'
import { lockEventLabels, label } from '../text/labels.ts'
import { typeName, type Programs } from '../text/names.ts'
import { dateTimeText, NONE, numberText } from '../text/text.ts'

/** The tables of a file to keep, by the anchor of each. The anchors of the rows of two of them begin with it. */
export const keptTableNames = {
  training: 'Training sessions',
  segments: 'Segments',
  programs: 'Programs',
  locks: 'Lock sessions',
  'lock-templates': 'Lock templates',
  'lock-events': 'Lock events',
} as const

/** The tables as markup. The rows of each are in the order of time, the newest first. */
export async function* keptTables(
  reader: Reader,
  names: Programs,
  sessions: readonly SessionStats[],
): AsyncGenerator<string> {
  const { store, viewer, pageAccess, now } = reader
  const newest = sessions.toReversed()
  const newestOfDay = new Map(sessions.map(({ id, at }) => [dayOf(reader, at), id]))
  yield* tableOf('training', sessionColumns(reader, names), withRecords(reader, newest), ({ id, at }) => {
    const day = dayOf(reader, at)
    return newestOfDay.get(day) === id ? html` id="day-${day}"` : nothing
  })
  yield* tableOf('segments', segmentColumns(viewer), segmentsOf(reader, newest))
  const history = await trainingHistory(store, pageAccess.sessions('dtt'))
  const programRows = await programs.all(store, pageAccess.templates('training_template'))
  const all = programRows.map(({ record }) => record)
  yield* tableOf('programs', programColumns(viewer, await history.programUses(viewer.timeZone, now), now), all)
  const access = pageAccess.sessions('lkbx')
  const locks = (await locksSince(store, access, countedUntil(viewer.asOf, now))).toReversed()
  const lockRows: LockRow[] = []
  for await (const { session, document } of fewAtOnce(locks, ids => lockRecords(store, access, ids))) {
    lockRows.push(lockRow(session, document))
  }
  yield* tableOf('locks', lockColumns(reader), lockRows)
  const stored = await lockTemplates.all(store, pageAccess.templates('lock_template'))
  const templates = await withUses(store, stored, pageAccess.ofAll('lock_session'))
  const rulesOf = ({ record }: TemplateUse) => shownRules(viewer, record).map(rule => rule.join(': '))
  const rules = { title: 'Rules', cell: (use: TemplateUse) => rulesOf(use).join('; ') }
  const columns = [...lockTemplateColumns(viewer, countedUntil(viewer.asOf, now)), rules]
  yield* tableOf('lock-templates', columns, templates)
  yield* tableOf(
    'lock-events',
    [
      { title: 'When', cell: ({ at }) => dateTimeText(viewer, at) },
      { title: 'Lock session', numeric: true, cell: ({ session }) => String(session) },
      { title: 'Event', cell: ({ type }) => (viewer.discreet ? 'Event' : (lockEventLabels[type] ?? type)) },
    ],
    locks.flatMap(({ id, events }) => events.toReversed().map(([at, , type]) => ({ session: id, at, type }))),
  )
}

export function dayOf({ viewer }: Reader, at: number): string {
  return formatDate(zoneClock(viewer.timeZone).dayOf(at))
}

/**
 * Cells are the texts that pages show; `marked` is what the first one has. End tags that HTML does not need are left out, because rows
 * are most of the file.
 */
async function* tableOf<Row extends object>(
  id: keyof typeof keptTableNames,
  columns: readonly TableColumn<Row>[],
  items: readonly Row[] | AsyncIterable<Row>,
  marked: (item: Row) => Html = () => nothing,
): AsyncGenerator<string> {
  const rows: string[] = []
  for await (const item of items) {
    if (rows.length % MAX_BATCH_ROWS === 0) await pause()
    // Marks of pictures lead to sessions.
    const anchor = 'id' in item ? html` id="${id}-${String(item.id)}"` : nothing
    const cells = columns.map(({ cell }, at) => html`<td${at === 0 ? marked(item) : nothing}>${textOf(cell(item))}`)
    rows.push(html`<tr${anchor}>${cells}`.toString())
  }
  const heads = columns.map(
    ({ title, numeric = false }) => html`<th scope="col"${numeric ? html` class="number"` : nothing}>${textOf(title)}`,
  )
  const name = keptTableNames[id]
  yield html`
    <section class="card" id="${id}">
      <div class="card-head"><h2>${name}</h2><span class="muted">${numberText(rows.length)} rows</span></div>
      <div class="scroll" role="region" aria-label="${name}" tabindex="0"><table class="compact"><thead><tr>${heads}<tbody>
  `
    .toString()
    .trimEnd()
  while (rows.length > 0) {
    await pause()
    yield rows.splice(0, MAX_BATCH_ROWS).join('')
  }
  yield '</table></div></section>\n'
}

/** Others have their turns after as many rows. */
const MAX_BATCH_ROWS = 100

interface SegmentRow {
  readonly at: number
  readonly segment: TrainerSegment
}

async function* segmentsOf({ store, pageAccess }: Reader, sessions: readonly SessionStats[]) {
  const access = pageAccess.sessions('dtt')
  for await (const { session, document } of fewAtOnce(sessions, ids => trainingRecords(store, access, ids))) {
    // A record that was removed in the meantime is left out.
    if (document === undefined) continue
    for (const segment of (JSON.parse(document) as TrainingSession).TrainerSegment) yield { at: session.at, segment }
  }
}

function segmentColumns(viewer: Viewer): TableColumn<SegmentRow>[] {
  const numbers = [
    [label('percentGrade'), 'percentGrade'],
    [label('points'), 'points'],
    ['Time (s)', 'durationMeasured'],
    [label('repsMeasured'), 'repsMeasured'],
    ['Distance (m)', 'distanceTravelled'],
  ] as const
  return [
    { title: 'Session', cell: ({ at }) => dateTimeText(viewer, at) },
    { title: label('type'), cell: ({ segment }) => typeName(viewer, segment.type) },
    { title: label('passed'), cell: ({ segment }) => (segment.passed ? 'Passed' : 'Not passed') },
    ...numbers.map(([title, field]): TableColumn<SegmentRow> => {
      return {
        title,
        numeric: true,
        cell: ({ segment }) => (segment[field] == null ? NONE : numberText(segment[field])),
      }
    }),
  ]
}

/** The text of a cell without its markup. */
function textOf(cell: Part): Html {
  const text = html`${cell}`
    .toString()
    .replaceAll(/<time[^>]*title="([^"]*)"[^>]*>.*?<\/time>/gs, '$1')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/ +/g, ' ')
    .replaceAll(' ,', ',')
    .trim()
  return raw(text)
}
