import type { TrainingTemplate } from '../../../contract/training-templates.ts'
import { programs, programsOf } from '../../../stats/program-queries.ts'
import { type ProgramUse, trainingHistory } from '../../../stats/training-history.ts'
import { noRecords, table, type TableColumn } from '../../layout/components.ts'
import { html } from '../../html.ts'
import { recordName } from '../../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../../page.ts'
import { paginate, tableFoot } from '../../paging.ts'
import { drawnLength, lengthText, programStrip, stripKey } from '../../charts/program-strip.ts'
import { NONE, numberText, partText, timeAgo } from '../../text/text.ts'
import { showProgram, stateMarks } from './program.ts'

const OF_PROGRAMS = { section: 'programs', area: 'dtt' } as const

export const programPages: readonly DashboardPage[] = [
  { ...OF_PROGRAMS, path: '/programs', reads: 'list', handler: showPrograms },
  { ...OF_PROGRAMS, path: '/programs/:id', reads: 'record', handler: showProgram },
]

/** The one that was run last is the first. */
async function showPrograms({ store, viewer, pageAccess, now, path, query }: Visit) {
  const access = pageAccess.templates('training_template')
  const [all, history] = await Promise.all([
    programsOf(store, access),
    trainingHistory(store, pageAccess.sessions('dtt')),
  ])
  const uses = await history.programUses(viewer.timeZone, now)
  const lastOf = ({ id }: { readonly id: number }) => uses.get(id)?.last ?? -Infinity
  const shown = paginate(
    all.toSorted((a, b) => lastOf(b) - lastOf(a)),
    query,
  )
  const ids = shown.rows.map(({ id }) => id)
  const found = await programs.find(store, access, ids)
  const rows = ids.flatMap(id => found.get(id)?.record ?? [])
  const key = stripKey(
    viewer,
    rows.flatMap(({ Segment }) => Segment),
  )
  return view({
    title: 'Programs',
    body:
      all.length === 0
        ? noRecords(
            viewer,
            'No programs yet',
            'This page will show your training programs, what they consist of, and how sessions with them went.',
          )
        : html`<section class="card" id="sessions">${table('Programs', programColumns(viewer, uses, now, rows), rows)}${key}${tableFoot(path, query, shown)}</section>`,
  })
}

const SORTED = { title: html`Last session<span aria-hidden="true"> ↓</span>`, sorted: 'descending' } as const

/** `rows` are those of a list whose strips are compared. */
export function programColumns(
  viewer: Viewer,
  useOf: ReadonlyMap<number, ProgramUse>,
  now: number,
  rows: readonly TrainingTemplate[] = [],
): TableColumn<TrainingTemplate>[] {
  const longest = Math.max(...rows.map(({ Segment }) => drawnLength(Segment)))
  return [
    {
      title: 'Program',
      line: 'first',
      cell: program =>
        html`<a href="/programs/${program.id}">${recordName(viewer, 'program', program)}</a> ${stateMarks(program)}<br><span class="muted small">${lengthText(program.Segment)}</span>`,
    },
    { title: 'Segments', line: 'second', cell: ({ Segment }) => programStrip(viewer, Segment, longest) },
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
      ...(rows.length === 0 ? { title: 'Last session' } : SORTED),
      numeric: true,
      line: 'second',
      cell: ({ id }) => {
        const use = useOf.get(id)
        if (use === undefined) return html`<span class="muted">None yet</span>`
        return use.last === null ? NONE : timeAgo(viewer, use.last, now)
      },
    },
  ]
}
