import type { TrainingSession } from '../../contract/training-sessions.ts'
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
import { html, type Part } from '../html.ts'
import type { TableColumn } from '../layout/components.ts'
import type { Reader } from '../page.ts'
import { fewAtOnce } from '../pages/area.ts'
import { lockColumns, lockRow, type LockRow } from '../pages/locks/list.ts'
import { lockTemplateColumns, shownRules } from '../pages/locks/templates.ts'
import { programColumns } from '../pages/training/programs.ts'
import { sessionColumns, withRecords } from '../pages/training/list.ts'
import { lockEventLabels, label } from '../text/labels.ts'
import { typeName, type Programs } from '../text/names.ts'
import { dateTimeText, numberText } from '../text/text.ts'

/** The tables of a file to keep, by the anchor of each. The anchors of the rows of two of them begin with it. */
export const keptTableNames = {
  training: 'Training sessions',
  segments: 'Segments',
  programs: 'Programs',
  locks: 'Lock sessions',
  'lock-templates': 'Lock templates',
  'lock-events': 'Lock events',
} as const

/** Cells are the texts that pages show. */
export interface KeptTable {
  readonly id: keyof typeof keptTableNames
  readonly columns: readonly { readonly title: string; readonly numeric: boolean }[]
  readonly rows: readonly KeptRow[]
}

interface KeptRow {
  /** Undefined if no mark of a picture leads to it. */
  readonly id?: string
  /** For the newest training session of a day. */
  readonly day?: string | undefined
  readonly cells: readonly string[]
}

/** The rows of each are in the order of time, the newest first. */
export async function* keptTables(
  reader: Reader,
  names: Programs,
  sessions: readonly SessionStats[],
): AsyncGenerator<KeptTable> {
  const { store, viewer, pageAccess, now } = reader
  const newest = sessions.toReversed()
  const training = await tableOf('training', sessionColumns(reader, names), withRecords(reader, newest))
  const days = newest.map(({ at }) => dayOf(reader, at))
  const rows = training.rows.map((row, index) => (days[index] === days[index - 1] ? row : { ...row, day: days[index] }))
  yield { ...training, rows }
  yield await segmentTable(reader, newest)
  const history = await trainingHistory(store, pageAccess.sessions('dtt'))
  const programRows = await programs.all(store, pageAccess.templates('training_template'))
  const all = programRows.map(({ record }) => record)
  yield await tableOf('programs', programColumns(viewer, await history.programUses(viewer.timeZone, now), now), all)
  const access = pageAccess.sessions('lkbx')
  const locks = (await locksSince(store, access, countedUntil(viewer.asOf, now))).toReversed()
  const lockRows: LockRow[] = []
  for await (const { session, document } of fewAtOnce(locks, ids => lockRecords(store, access, ids))) {
    lockRows.push(lockRow(session, document))
  }
  yield await tableOf('locks', lockColumns(reader), lockRows)
  const stored = await lockTemplates.all(store, pageAccess.templates('lock_template'))
  const templates = await withUses(store, stored, pageAccess.ofAll('lock_session'))
  const rulesOf = ({ record }: TemplateUse) => shownRules(viewer, record).map(rule => rule.join(': '))
  const rules = { title: 'Rules', cell: (use: TemplateUse) => rulesOf(use).join('; ') }
  const columns = [...lockTemplateColumns(viewer, countedUntil(viewer.asOf, now)), rules]
  yield await tableOf('lock-templates', columns, templates)
  yield await tableOf(
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

async function tableOf<Row>(
  id: KeptTable['id'],
  columns: readonly TableColumn<Row>[],
  items: readonly Row[] | AsyncIterable<Row>,
): Promise<KeptTable> {
  const rows: KeptRow[] = []
  for await (const item of items) {
    if (rows.length % MAX_BATCH_ROWS === 0) await pause()
    const cells = columns.map(({ cell }) => cellText(cell(item)))
    rows.push(isRecord(item) ? { id: `${id}-${item.id}`, cells } : { cells })
  }
  return {
    id,
    columns: columns.map(({ title, numeric = false }) => ({ title: cellText(title), numeric })),
    rows,
  }
}

/** Whether it is a session, to which marks of pictures lead. */
function isRecord(item: unknown): item is { readonly id: number } {
  return typeof item === 'object' && item !== null && 'id' in item
}

async function segmentTable(
  { store, viewer, pageAccess }: Reader,
  sessions: readonly SessionStats[],
): Promise<KeptTable> {
  const access = pageAccess.sessions('dtt')
  const rows: KeptRow[] = []
  for await (const { session, document } of fewAtOnce(sessions, ids => trainingRecords(store, access, ids))) {
    // A record that was removed in the meantime is left out.
    if (document === undefined) continue
    const when = dateTimeText(viewer, session.at)
    for (const segment of (JSON.parse(document) as TrainingSession).TrainerSegment) {
      const { type, passed, percentGrade, points, durationMeasured, repsMeasured, distanceTravelled } = segment
      const numbers = [percentGrade, points, durationMeasured, repsMeasured, distanceTravelled].map(known)
      rows.push({ cells: [when, typeName(viewer, type), passed ? 'Passed' : 'Not passed', ...numbers] })
    }
  }
  const numbers = [label('percentGrade'), label('points'), 'Time (s)', label('repsMeasured'), 'Distance (m)']
  return {
    id: 'segments',
    columns: [
      ...['Session', label('type'), label('passed')].map(title => ({ title, numeric: false })),
      ...numbers.map(title => ({ title, numeric: true })),
    ],
    rows,
  }
}

/** Others have their turns after as many rows. */
export const MAX_BATCH_ROWS = 100

function known(value: number | null | undefined): string {
  return value == null ? '–' : numberText(value)
}

/** The text of a cell without its markup. */
function cellText(cell: Part): string {
  return html`${cell}`
    .toString()
    .replaceAll(/<time[^>]*title="([^"]*)"[^>]*>.*?<\/time>/gs, '$1')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&(?:amp|lt|gt|quot|#39);/g, entity => ENTITIES[entity] ?? entity)
    .replaceAll(/ +/g, ' ')
    .replaceAll(' ,', ',')
    .trim()
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
}
