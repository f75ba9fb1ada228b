import { stretched, linePath, dots, percent } from '../../charts/plane.ts'
import type { TrainingTemplate } from '../../../contract/training-templates.ts'
import { programs, programsOf } from '../../../stats/program-queries.ts'
import { type ProgramUse, trainingHistory } from '../../../stats/training-history.ts'
import { noRecords, table, type TableColumn } from '../../layout/components.ts'
import { html, type Html, nothing } from '../../html.ts'
import { recordName } from '../../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../../page.ts'
import { paginate, tableFoot } from '../../paging.ts'
import { lengthText } from './program-segments.ts'
import { NONE, numberText, percentText, timeAgo } from '../../text/text.ts'
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
        : html`<section class="card" id="sessions">${leastPassed(viewer, uses, rows)}${table('Programs', programColumns(viewer, uses, now, SORTED), rows)}${tableFoot(path, query, shown)}</section>`,
  })
}

/** `12 of 30 sessions passed with Endurance, the lowest share`: of the programs of the page with some sessions. */
function leastPassed(viewer: Viewer, uses: ReadonlyMap<number, ProgramUse>, rows: readonly TrainingTemplate[]): Html {
  const used = rows.flatMap(program => {
    const { passed = 0, sessions = 0 } = uses.get(program.id) ?? {}
    return sessions < MIN_SESSIONS ? [] : [{ program, passed, sessions, part: passed / sessions }]
  })
  const [least, next] = used.toSorted((a, b) => a.part - b.part)
  if (least === undefined || next === undefined || least.part === next.part) return nothing
  const { program, passed, sessions } = least
  return html`<p class="summary"><b>${numberText(passed)} of ${numberText(sessions)}</b> sessions passed with <a href="/programs/${program.id}">${recordName(viewer, 'program', program)}</a>, the lowest share</p>`
}

const MIN_SESSIONS = 10

const SORTED = { title: html`Last session<span aria-hidden="true"> ↓</span>`, sorted: 'descending' } as const

export function programColumns(
  viewer: Viewer,
  useOf: ReadonlyMap<number, ProgramUse>,
  now: number,
  lastHead: Pick<TableColumn<never>, 'title' | 'sorted'> = { title: 'Last session' },
): TableColumn<TrainingTemplate>[] {
  const lowest = Math.min(...useOf.values().flatMap(({ lastGrades }) => lastGrades.map(({ value }) => value)), 90)
  return [
    {
      title: 'Program',
      line: 'first',
      cell: program =>
        html`<a href="/programs/${program.id}">${recordName(viewer, 'program', program)}</a> ${stateMarks(program)}<br><span class="muted small">${lengthText(program.Segment)}</span>`,
    },
    { title: 'Last ten grades', line: 'second', cell: ({ id }) => gradesOf(useOf.get(id)?.lastGrades ?? [], lowest) },
    {
      title: 'Median grade',
      numeric: true,
      line: 'first',
      before: 'median ',
      cell: ({ id }) => percentOf(useOf.get(id)?.median),
    },
    {
      title: 'Sessions passed',
      numeric: true,
      line: 'second',
      unit: ' passed',
      cell: ({ id }) => {
        const { passed = 0, sessions = 0 } = useOf.get(id) ?? {}
        return `${numberText(passed)} of ${numberText(sessions)}`
      },
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

function percentOf(grade: number | null = null): string {
  return grade === null ? NONE : percentText(grade)
}

/** How grades developed, as a line with the first and the last one. All programs share a scale. */
function gradesOf(grades: ProgramUse['lastGrades'], lowest: number): Html {
  if (grades.length < 2) return nothing
  const points = grades.map((grade, at) => ({ ...grade, at }))
  const space = {
    x: (at: number) => 12 + (at * 76) / (grades.length - 1),
    y: (grade: number) => 85 - ((grade - lowest) * 70) / Math.max(100 - lowest, 1),
    axes: nothing,
  }
  const [passed, others] = [true, false].map(wanted => points.filter(({ isPassed }) => isPassed === wanted))
  const ends = [points[0], points.at(-1)].map(
    (point, index) =>
      point &&
      html`<text class="label at-${index === 0 ? 'start' : 'end'}" x="${index === 0 ? 8 : 92}%" y="${percent(space.y(point.value))}">${point.value}</text>`,
  )
  return html`${strip(html`${stretched(linePath('line', space, points))}${dots('filled', space, passed ?? [])}${dots('hollow', space, others ?? [])}${ends}`)}<span class="hidden">${grades.map(({ value }) => percentText(value)).join(', ')}</span>`
}
