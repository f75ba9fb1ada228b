import { PartSize } from '../../archive/part-size.ts'
import type { TrainingSession } from '../../contract/training-sessions.ts'
import { totalsOf } from '../../stats/intervals.ts'
import { lockRecords, locksSince } from '../../stats/lock-queries.ts'
import { lockTemplates, type TemplateUse } from '../../stats/lock-template-queries.ts'
import { programPage } from '../../stats/program-queries.ts'
import { countedUntil } from '../../stats/status.ts'
import { trainingHistory } from '../../stats/training-history.ts'
import { trainingRecords } from '../../stats/training-queries.ts'
import type { SessionStats } from '../../stats/training.ts'
import { pause } from '../../fairness.ts'
import { html, type Part } from '../html.ts'
import type { TableColumn } from '../layout/components.ts'
import type { Reader } from '../page.ts'
import { lockColumns, recordOf } from '../pages/locks/table.ts'
import { lockTemplateColumns, shownRules } from '../pages/locks/templates.ts'
import { programColumns } from '../pages/training/programs.ts'
import { sessionColumns, withRecords } from '../pages/training/table.ts'
import { eventLabels, label } from '../text/labels.ts'
import { kindName } from '../text/names.ts'
import type { Programs } from '../text/program-names.ts'
import { dateTimeText, numberText } from '../text/text.ts'

/** The tables of a file to keep: cells are the texts that pages show. */
export interface KeptTable {
  readonly name: string
  readonly columns: readonly { readonly title: string; readonly numeric: boolean }[]
  readonly rows: readonly (readonly string[])[]
}

/** The rows of each are in the order of time, the newest first. */
export async function* keptTables(
  reader: Reader,
  programs: Programs,
  sessions: readonly SessionStats[],
): AsyncGenerator<KeptTable> {
  const { store, viewer, pageAccess, now } = reader
  const newest = sessions.toReversed()
  yield await tableOf('Training sessions', sessionColumns(reader, programs), withRecords(reader, newest))
  yield await segmentTable(reader, newest)
  const history = await trainingHistory(store, pageAccess.sessions('dtt'))
  const all = await programPage(store, pageAccess.templates('training_template'), {
    limit: Number.MAX_SAFE_INTEGER,
    offset: 0,
  })
  yield await tableOf('Programs', programColumns(viewer, await history.programUses(), now), all)
  const access = pageAccess.sessions('lkbx')
  const locks = (await locksSince(store, access, countedUntil(viewer.asOf, now))).toReversed()
  const names = await lockRecords(
    store,
    access,
    locks.map(({ id }) => id),
  )
  const rows = locks.map(lock => ({ ...lock, ...totalsOf(lock.intervals), record: recordOf(names.get(lock.id)) }))
  yield await tableOf('Lock sessions', lockColumns(reader), rows)
  const templates = await lockTemplates(store, pageAccess.templates('lock_template'), pageAccess.ofAll('lock_session'))
  const rules = { title: 'Rules', cell: ({ record }: TemplateUse) => shownRules(viewer, record).join('; ') }
  yield await tableOf('Lock templates', [...lockTemplateColumns(viewer), rules], templates)
  yield {
    name: 'Lock events',
    columns: [
      { title: 'When', numeric: false },
      { title: 'Lock session', numeric: true },
      { title: 'Event', numeric: false },
    ],
    rows: locks.flatMap(({ id, events }) =>
      events.toReversed().map(([at, , kind]) => [dateTimeText(viewer, at), String(id), eventName(reader, kind)]),
    ),
  }
}

function eventName({ viewer }: Reader, kind: string): string {
  return viewer.discreet ? 'Event' : (eventLabels[kind] ?? kind)
}

async function tableOf<Row>(
  name: string,
  columns: readonly TableColumn<Row>[],
  items: readonly Row[] | AsyncIterable<Row>,
): Promise<KeptTable> {
  const rows: string[][] = []
  for await (const item of items) {
    if (rows.length % ROWS_AT_ONCE === 0) await pause()
    rows.push(columns.map(({ cell }) => textOf(cell(item))))
  }
  return {
    name,
    columns: columns.map(({ title, numeric = false }) => ({ title: textOf(title), numeric })),
    rows,
  }
}

/** Each segment as the API sends it. */
async function segmentTable(
  { store, viewer, pageAccess }: Reader,
  sessions: readonly SessionStats[],
): Promise<KeptTable> {
  const access = pageAccess.sessions('dtt')
  const rows: string[][] = []
  const size = new PartSize()
  for (let start = 0; start < sessions.length;) {
    const some = sessions.slice(start, start + size.rows)
    start += some.length
    const records = await trainingRecords(
      store,
      access,
      some.map(({ id }) => id),
    )
    size.adaptTo(records)
    for (const { id, at } of some) {
      const document = records.get(id)
      // A record that was removed in the meantime is left out.
      if (document === undefined) continue
      const { TrainerSegment } = JSON.parse(document) as TrainingSession
      const when = dateTimeText(viewer, at)
      for (const segment of TrainerSegment) {
        const { type, passed, percentGrade, points, durationMeasured, repsMeasured, distanceTravelled } = segment
        rows.push([
          when,
          kindName(viewer, type),
          passed ? 'Passed' : 'Not passed',
          ...[percentGrade, points, durationMeasured, repsMeasured, distanceTravelled].map(known),
        ])
      }
    }
    await pause()
  }
  const numbers = [label('percentGrade'), label('points'), 'Time (s)', label('repsMeasured'), 'Distance (m)']
  return {
    name: 'Segments',
    columns: [
      ...['Session', label('type'), label('passed')].map(title => ({ title, numeric: false })),
      ...numbers.map(title => ({ title, numeric: true })),
    ],
    rows,
  }
}

/** Others have their turns after as many rows. */
export const ROWS_AT_ONCE = 100

function known(value: number | null | undefined): string {
  return value == null ? '–' : numberText(value)
}

/** The text of a cell without its markup. */
function textOf(cell: Part): string {
  return html`${cell}`
    .toString()
    .replaceAll(/<svg[^>]*aria-label="([^"]*)"[^>]*>.*?<\/svg>/gs, '$1')
    .replaceAll(/<time[^>]*data-exact="([^"]*)"[^>]*>.*?<\/time>/gs, '$1')
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
