import { legendOf, MAX_ROWS, resultLegend } from '../../charts/picture.ts'
import { gradeRange, levels, type Range } from '../../charts/plane.ts'
import { medianOf, sum } from '../../../contract/numbers.ts'
import { notFound } from '../../../contract/errors.ts'
import { type TrainingTemplate, isCounted, type TemplateSegment } from '../../../contract/training-templates.ts'
import { type ListedProgram, programs, programsOf } from '../../../stats/program-queries.ts'
import { type ProgramUse, trainingHistory } from '../../../stats/training-history.ts'
import {
  FIRST,
  SECOND,
  dotted,
  facts,
  noRecords,
  paginate,
  recordTabs,
  stat,
  stats,
  table,
  type TableColumn,
  tableFoot,
} from '../../layout/components.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import { label } from '../../text/labels.ts'
import { freeText, recordName, typeName } from '../../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../../page.ts'
import {
  countText,
  dateTimeText,
  durationText,
  NONE,
  numberText,
  partText,
  percentText,
  timeAgo,
  unbroken,
} from '../../text/text.ts'
import { boundaries, doneText, inParts, lastResults, leastNews, timeSince } from '../parts.ts'
import { example, EXAMPLE_PROGRAM } from '../example.ts'
import { programRuns } from './program-runs.ts'
import { gradePicture } from './pictures.ts'

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
    lead: leastNews(
      all.map(program => {
        const name = () => html`<a href="/programs/${program.id}">${recordName(viewer, 'program', program.parse())}</a>`
        return { name, ...tenOf(uses.get(program.id)) }
      }),
      ['passed in the last ten', 'The last ten sessions with each program were passed'],
    ),
    body:
      all.length === 0
        ? noRecords(
            viewer,
            'No programs yet',
            'This page will show your training programs, what they consist of, and how sessions with them went.',
            example(EXAMPLE_PROGRAM),
          )
        : html`<section class="card" id="sessions">${legendOf([['line', `Grades of the last ten, ${rangeOf(uses).join(' to ')}\u00a0%`], ...resultLegend([...uses.values()].flatMap(({ lastGrades }) => lastGrades.map(({ isPassed }) => isPassed)))])}${table('Programs', programColumns(viewer, uses, now), rows)}${tableFoot(path, query, shown)}</section>`,
  })
}

export function programColumns(
  viewer: Viewer,
  useOf: ReadonlyMap<number, ProgramUse>,
  now: number,
): TableColumn<TrainingTemplate>[] {
  const range = rangeOf(useOf)
  return [
    {
      title: 'Program',
      line: 'first',
      cell: program =>
        html`<a href="/programs/${program.id}">${recordName(viewer, 'program', program)}</a> ${stateMarks(program)}<div class="small muted">${lengthText(program.Segment)}</div>`,
    },
    { title: 'Last ten', line: 'second', cell: ({ id }) => gradesOf(useOf.get(id)?.lastGrades ?? [], range) },
    { title: 'Median of ten', ...SECOND, before: 'median ', cell: ({ id }) => medianText(useOf.get(id)) },
    {
      title: 'Passed',
      ...FIRST,
      unit: ' passed',
      cell: ({ id }) => doneText(tenOf(useOf.get(id)), useOf.get(id)?.passed ?? 0, useOf.get(id)?.sessions ?? 0),
    },
    {
      title: 'Last session',
      ...SECOND,
      before: 'last session ',
      cell({ id }) {
        const at = useOf.get(id)?.last
        return at == null ? html`<span class="muted">None yet</span>` : timeAgo(viewer, at, now)
      },
    },
  ]
}

/** Of the grades that are drawn. */
function rangeOf(useOf: ReadonlyMap<number, ProgramUse>): Range {
  return gradeRange([...useOf.values()].flatMap(({ lastGrades }) => lastGrades.map(({ value }) => value)))
}

/** `91 %`, and below it `(first ten 68 %)`. */
function medianText({ graded = 0, firstGrades = [], lastGrades = [] }: Partial<ProgramUse> = {}): Part {
  const [first, last] = [firstGrades, lastGrades.map(({ value }) => value)].map(medianOf)
  if (first === undefined || last === undefined) return NONE
  return html`${percentText(last)}${graded >= 20 && html`<br> <small class="muted nowrap">(first\u00a0ten ${percentText(first)})</small>`}`
}

function tenOf({ lastGrades = [] }: Partial<ProgramUse> = {}) {
  return { done: lastGrades.filter(({ isPassed }) => isPassed).length, of: lastGrades.length }
}

/** How grades developed, as a line with the last one, on the scale of all programs. */
function gradesOf(grades: ProgramUse['lastGrades'], [low, high]: Range): Html {
  if (grades.length < 2) return nothing
  const y = (grade: number) => 90 - ((grade - low) * 80) / (high - low)
  const ends = levels(
    'grid',
    [low, high].map(grade => ({ x: [0, 100], y: y(grade) })),
  )
  return html`${lastResults(grades, y, numberText(grades.at(-1)?.value ?? 0), ends)}<span class="hidden">${grades.map(({ value }) => percentText(value)).join(', ')}</span>`
}

async function showProgram(visit: Visit) {
  const { store, viewer, pageAccess, id, now } = visit
  const found = (await programs.find(store, pageAccess.ofAll('training_template'), [id])).get(id)
  if (found === undefined) throw notFound('Training program')
  const { record: program, document } = found
  pageAccess.note('dtt', program.ownerId)
  const history = await trainingHistory(store, pageAccess.sessions('dtt'))
  const selection = await history.select({ program: id })
  const { sessions } = selection
  const time = inParts(timeSince(sessions, now, viewer), now, viewer)
  const [summary, runs] = await Promise.all([
    history.summary(selection, boundaries(time.parts)),
    sessions.length === 0 ? undefined : programRuns(visit, program, sessions),
  ])
  const tagline = freeText(viewer, program.tagline)
  const count = sum(program.Segment.map(({ repeat }) => Math.max(1, repeat)))
  const daysAddress = `/training?program=${id}&from={from}&to={to}`
  const shown = { sessions, summary, time, daysAddress, program: id }
  const use = (await history.programUses(viewer.timeZone, now)).get(id)
  const passed = sessions.filter(one => one.passed).length
  const of = `${numberText(passed)} of ${numberText(sessions.length)}`
  const all = html`<a class="off-paper" href="/training?range=all&amp;program=${id}">All sessions</a>`
  const last = sessions.findLast(({ at }) => at <= now)
  const lastLink = last && html`<a href="/training/${last.id}">${timeAgo(viewer, last.at, now)}</a>`
  return view({
    owner: program.ownerId,
    title: recordName(viewer, 'program', program),
    back: visit.sectionStart,
    lead: dotted(
      (program.isActive || program.isPublic) && stateMarks(program),
      tagline !== '' && tagline,
      count === 0 ? 'No segments' : `${countText(count, 'segment')}: ${lengthText(program.Segment)}`,
    ),
    body: recordTabs(visit, {
      owner: program.ownerId,
      apiPath: `/api/v1/dtt/templates/${program.id}`,
      json: document,
      summary: () => html`
        ${
          runs === undefined
            ? html`<p class="card muted">No sessions with this program yet.</p>`
            : html`${stats(
                runs.verdict,
                stat('Median, last ten', medianText(use)),
                stat('Sessions passed', of, dotted(partText(passed, sessions.length), all)),
                stat('Last session', lastLink),
              )}${runs.card}${gradePicture(viewer, shown)}`
        }
        <details class="card figures" id="facts"${sessions.length === 0 && html` open`}><summary>Segments, settings and dates</summary><h2 class="on-paper">Segments, settings and dates</h2>${programFacts(viewer, program)}</details>
      `,
    }),
  })
}

function programFacts(viewer: Viewer, program: TrainingTemplate): Html {
  const texts = (['description', 'message', 'toyTagline'] as const).map(
    field => [label(field), freeText(viewer, program[field])] as const,
  )
  return facts([
    ['Segments', segmentsText(viewer, program.Segment)],
    ...texts.filter(([, text]) => text !== ''),
    [label('handsFreeMode'), program.handsFreeMode ? 'Yes' : 'No'],
    [label('targetDepth'), numberText(program.targetDepth)],
    [label('targetWindow'), `± ${numberText(program.targetWindow)}`],
    [label('createdDate'), dateTimeText(viewer, Date.parse(program.createdDate))],
    [label('updatedAt'), dateTimeText(viewer, Date.parse(program.updatedAt))],
  ])
}

/** `Warm-up 3 min, 3 × Training 3 min, …`, as they are run. */
function segmentsText(viewer: Viewer, segments: readonly TemplateSegment[]): string {
  const texts = segments.slice(0, MAX_ROWS).map(segment => {
    const { type, passFailEnabled, passGradeThreshold: least = 0 } = segment
    const passes = passFailEnabled === false || least === 0 ? '' : ` (passes at ${percentText(least)})`
    const text = `${typeName(viewer, type)} ${lengthText([{ ...segment, repeat: 1 }])}${passes}`
    return unbroken(segment.repeat > 1 ? `${numberText(segment.repeat)} × ${text}` : text)
  })
  return `${texts.join(', ') || 'none'}${segments.length > MAX_ROWS ? ', …' : ''}`
}

function stateMarks({ isActive, isPublic }: ListedProgram): Part {
  return html`${isActive ? html`<span class="state on">Active</span>` : nothing}${isPublic ? html`<span class="state">Public</span>` : nothing}`
}

/** `12 min + 40 repetitions` */
function lengthText(segments: readonly TemplateSegment[]): string {
  const [seconds = 0, reps = 0] = [false, true].map(counted => {
    const of = segments.filter(({ type }) => isCounted(type) === counted)
    return sum(of.map(({ duration, repeat }) => duration * Math.max(1, repeat)))
  })
  const parts = [...(seconds > 0 ? [durationText(seconds)] : []), ...(reps > 0 ? [countText(reps, 'repetition')] : [])]
  return parts.join(' + ') || 'of no length'
}
