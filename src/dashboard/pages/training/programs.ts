import { stretched, linePath, dots } from '../../charts/plane.ts'
import type { TrainingTemplate } from '../../../contract/training-templates.ts'
import { programs, programsOf } from '../../../stats/program-queries.ts'
import { type ProgramUse, trainingHistory } from '../../../stats/training-history.ts'
import { noRecords, table, type TableColumn } from '../../layout/components.ts'
import { html, type Html, nothing } from '../../html.ts'
import { recordName } from '../../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../../page.ts'
import { paginate, tableFoot } from '../../paging.ts'
import { lengthText } from './program-segments.ts'
import { NONE, numberText, partText, timeAgo } from '../../text/text.ts'
import { strip } from '../parts.ts'
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
  return view({
    title: 'Programs',
    body:
      all.length === 0
        ? noRecords(
            viewer,
            'No programs yet',
            'This page will show your training programs, what they consist of, and how sessions with them went.',
          )
        : html`<section class="card" id="sessions">${table('Programs', programColumns(viewer, uses, now, SORTED), rows)}${tableFoot(path, query, shown)}</section>`,
  })
}

const SORTED = { title: html`Last session<span aria-hidden="true"> ↓</span>`, sorted: 'descending' } as const

export function programColumns(
  viewer: Viewer,
  useOf: ReadonlyMap<number, ProgramUse>,
  now: number,
  lastHead: Pick<TableColumn<never>, 'title' | 'sorted'> = { title: 'Last session' },
): TableColumn<TrainingTemplate>[] {
  const lowest = Math.min(...useOf.values().flatMap(({ grades }) => grades), 90)
  return [
    {
      title: 'Program',
      line: 'first',
      cell: program =>
        html`<a href="/programs/${program.id}">${recordName(viewer, 'program', program)}</a> ${stateMarks(program)}<br><span class="muted small">${lengthText(program.Segment)}</span>`,
    },
    { title: 'Last ten grades', line: 'second', cell: ({ id }) => gradesOf(useOf.get(id)?.grades ?? [], lowest) },
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
      ...lastHead,
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

/** How grades developed, as a line. All programs share a scale. */
function gradesOf(grades: readonly number[], lowest: number): Html {
  if (grades.length < 2) return nothing
  const points = grades.map((value, index) => ({ at: index, value }))
  const space = {
    x: (at: number) => 3 + (at * 94) / (grades.length - 1),
    y: (grade: number) => 90 - ((grade - lowest) * 80) / Math.max(100 - lowest, 1),
    axes: nothing,
  }
  return html`${strip(html`${stretched(linePath('line', space, points))}${dots('filled', space, points.slice(-1))}`)}<span class="hidden">${grades.map(grade => `${grade}\u00a0%`).join(', ')}</span>`
}
