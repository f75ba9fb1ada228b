import { dots, gradeRange, levels, linePath, markText, type Range, stretched } from '../../charts/plane.ts'
import type { TrainingTemplate } from '../../../contract/training-templates.ts'
import { programs, programsOf } from '../../../stats/program-queries.ts'
import { type ProgramUse, trainingHistory } from '../../../stats/training-history.ts'
import { noRecords, table, type TableColumn, paginate, tableFoot } from '../../layout/components.ts'
import { html, type Html, nothing } from '../../html.ts'
import { recordName } from '../../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../../page.ts'
import { countText, dateText, NONE, numberText, partText, percentText, timeAgo } from '../../text/text.ts'
import { comparedWith, strip } from '../parts.ts'
import { lengthText, showProgram, stateMarks } from './program.ts'

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
    heading: html`Programs${newsOf(viewer, uses, rows)}`,
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

/** `▲ Interval B 7 points above its median on 25 Nov`: of the programs of the page with some sessions, what changed most. */
function newsOf(viewer: Viewer, uses: ReadonlyMap<number, ProgramUse>, rows: readonly TrainingTemplate[]): Html {
  const changes = rows.flatMap(program => {
    const { median = null, sessions = 0, lastGrades = [] } = uses.get(program.id) ?? {}
    const last = lastGrades.at(-1)
    return sessions < MIN_SESSIONS || last === undefined || median === null
      ? []
      : [{ program, last, change: last.value - median }]
  })
  const [most] = changes.toSorted((a, b) => Math.abs(b.change) - Math.abs(a.change))
  if (most === undefined || most.change === 0) return nothing
  const { program, last, change } = most
  const words = { text: (by: number) => `${recordName(viewer, 'program', program)} ${countText(by, 'point')}` }
  return html` <span class="verdict">${comparedWith('its median', change, words)} on ${dateText(viewer, last.at)}</span>`
}

const MIN_SESSIONS = 10

const SORTED = { title: html`Last session<span aria-hidden="true"> ↓</span>`, sorted: 'descending' } as const

export function programColumns(
  viewer: Viewer,
  useOf: ReadonlyMap<number, ProgramUse>,
  now: number,
  lastHead: Pick<TableColumn<never>, 'title' | 'sorted'> = { title: 'Last session' },
): TableColumn<TrainingTemplate>[] {
  const range = gradeRange([...useOf.values()].flatMap(({ lastGrades }) => lastGrades.map(({ value }) => value)))
  return [
    {
      title: 'Program',
      line: 'first',
      cell: program =>
        html`<a href="/programs/${program.id}">${recordName(viewer, 'program', program)}</a> ${stateMarks(program)}<br><span class="muted small">${lengthText(program.Segment)}</span>`,
    },
    {
      title: `Last ten grades, ${range.join(' to ')}\u00a0%`,
      line: 'second',
      cell: ({ id }) => gradesOf(useOf.get(id)?.lastGrades ?? [], range),
    },
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
        return html`<b>${partText(passed, sessions)}</b><span class="wide"> · ${numberText(passed)} of ${numberText(sessions)}</span>`
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

/** How grades developed, as a line with the last one, on the scale of all programs. */
function gradesOf(grades: ProgramUse['lastGrades'], [low, high]: Range): Html {
  if (grades.length < 2) return nothing
  const points = grades.map((grade, at) => ({ ...grade, at }))
  const space = {
    x: (at: number) => 2 + (at * 84) / (grades.length - 1),
    y: (grade: number) => 90 - ((grade - low) * 80) / (high - low),
  }
  const [passed, others] = [true, false].map(wanted => points.filter(({ isPassed }) => isPassed === wanted))
  const ends = levels(
    'grid',
    [low, high].map(grade => ({ x: [0, 89], y: space.y(grade) })),
  )
  const last = points.at(-1)?.value ?? 0
  return html`${strip(html`${ends}${stretched(linePath('line', space, points))}${dots('filled', space, passed ?? [])}${dots('hollow', space, others ?? [])}${markText(91, space.y(last), numberText(last), ' at-end')}`, 48)}<span class="hidden">${grades.map(({ value }) => percentText(value)).join(', ')}</span>`
}
