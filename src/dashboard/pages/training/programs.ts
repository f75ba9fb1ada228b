import type { TrainingTemplate } from '../../../contract/training-templates.ts'
import { type ListedProgram, programs } from '../../../stats/program-queries.ts'
import { type ProgramUse, trainingHistory } from '../../../stats/training-history.ts'
import { noRecords, table, type TableColumn } from '../../layout/components.ts'
import { html, nothing, type Part } from '../../html.ts'
import { freeText, recordName } from '../../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../../page.ts'
import { paged, rowsOfPage, tableFoot } from '../../paging.ts'
import { programStrip, stripKey } from '../../charts/program-strip.ts'
import { NONE, numberText, partText, timeAgo } from '../../text/text.ts'
import { showProgram, stateMarks } from './program.ts'

const OF_PROGRAMS = { section: 'programs', area: 'dtt' } as const

export const programPages: readonly DashboardPage[] = [
  { ...OF_PROGRAMS, path: '/programs', reads: 'list', handler: showPrograms },
  { ...OF_PROGRAMS, path: '/programs/:id', reads: 'record', handler: showProgram },
]

async function showPrograms({ store, viewer, pageAccess, now, path, query }: Visit) {
  const access = pageAccess.templates('training_template')
  const [total, history] = await Promise.all([
    programs.count(store, access),
    trainingHistory(store, pageAccess.sessions('dtt')),
  ])
  const rows = rowsOfPage(total, query)
  const page = await programs.page(store, access, rows)
  const shown = paged(
    page.map(({ record }) => record),
    total,
    rows,
  )
  return view({
    title: 'Programs',
    body:
      total === 0
        ? noRecords(
            viewer,
            'No programs yet',
            'This page will show your training programs, what they consist of, and how sessions with them went.',
          )
        : html`<section class="card" id="sessions">${table('Programs', programColumns(viewer, await history.programUses(viewer.timeZone, now), now), shown.rows)}${stripKey(
            viewer,
            shown.rows.flatMap(({ Segment }) => Segment),
          )}${tableFoot(path, query, shown)}</section>`,
  })
}

export function programColumns(
  viewer: Viewer,
  useOf: ReadonlyMap<number, ProgramUse>,
  now: number,
): TableColumn<TrainingTemplate>[] {
  return [
    {
      title: 'Program',
      line: 'first',
      cell: program =>
        html`<a href="/programs/${program.id}">${recordName(viewer, 'program', program)}</a> ${stateMarks(program)}${oneLine(viewer, program)}`,
    },
    { title: 'Segments', line: 'second', cell: ({ Segment }) => programStrip(viewer, Segment) },
    {
      title: 'Sessions',
      numeric: true,
      line: 'second',
      unit: ({ id }) => (useOf.get(id)?.sessions === 1 ? '\u00a0session' : '\u00a0sessions'),
      cell: ({ id }) => numberText(useOf.get(id)?.sessions ?? 0),
    },
    {
      title: 'Passed',
      numeric: true,
      line: 'second',
      unit: ' passed',
      cell: ({ id }) => partText(useOf.get(id)?.passed ?? 0, useOf.get(id)?.sessions ?? 0),
    },
    {
      title: 'Last session',
      line: 'second',
      cell: ({ id }) => {
        const use = useOf.get(id)
        if (use === undefined) return html`<span class="muted">None yet</span>`
        return use.last === null ? NONE : timeAgo(viewer, use.last, now)
      },
    },
  ]
}

function oneLine(viewer: Viewer, { tagline }: ListedProgram): Part {
  const text = freeText(viewer, tagline)
  return text === '' ? nothing : html`<br><span class="muted small">${text}</span>`
}
