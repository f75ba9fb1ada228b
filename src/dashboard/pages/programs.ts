import { notFound } from '../../contract/errors.ts'
import { isCounted, type TemplateSegment, type TrainingTemplate } from '../../contract/training-templates.ts'
import { recordById } from '../../resources/record-queries.ts'
import { chart } from '../charts.ts'
import { type ListedProgram, type ProgramUse, programUses, trainingsWith } from '../../stats/queries.ts'
import { type SessionFigures, totalsOf } from '../../stats/training.ts'
import { html, type Html, nothing, type Part } from '../html.ts'
import { label } from '../labels.ts'
import { freeText, kindName, personName, recordName } from '../names.ts'
import { type Page, view, type Viewer, type Visit } from '../page.ts'
import { apiTabs, card, emptyState, facts, table, tabs } from '../components.ts'
import { readPrograms } from '../program-names.ts'
import { countText, dateText, dateTimeText, durationText, NONE, numberText, timeAgo } from '../text.ts'
import { gradeChart } from './training-charts.ts'
import { percentText } from './training-summaries.ts'
import { sessionColumns } from './training-table.ts'

export const programPages: readonly Page[] = [
  { path: '/programs', answer: showPrograms },
  { path: '/programs/:id', answer: showProgram },
]

async function showPrograms({ store, viewer, now }: Visit) {
  const [{ all }, uses] = await Promise.all([readPrograms(store, viewer), programUses(store, viewer.subject.id)])
  const own = all.filter(({ ownerId }) => ownerId === viewer.subject.id)
  const useOf = new Map(uses.map(use => [use.program, use]))
  const inUse = own.find(({ isActive }) => isActive)
  return view({
    section: 'programs',
    title: 'Programs',
    ...(own.length === 0
      ? {}
      : {
          lead: `${countText(own.length, 'program')}${inUse === undefined ? ', none of them in use' : `; ${recordName(viewer, 'program', inUse)} is in use`}.`,
        }),
    body:
      own.length === 0
        ? emptyState(
            'No programs yet',
            html`Here you would see your training programs, what they consist of, and how sessions with them went. They come in with an archive: <code>lockstep import records.ndjson</code>.`,
          )
        : html`<section class="card">${programTable(viewer, own, useOf, now)}</section>`,
  })
}

function programTable(
  viewer: Viewer,
  programs: readonly ListedProgram[],
  useOf: ReadonlyMap<number, ProgramUse>,
  now: number,
): Html {
  return table<ListedProgram>(
    'Programs',
    [
      {
        title: 'Program',
        cell: program =>
          html`<a href="/programs/${program.id}">${recordName(viewer, 'program', program)}</a>${oneLine(viewer, program)}`,
      },
      { title: 'State', cell: stateMarks },
      { title: label('createdDate'), cell: ({ createdDate }) => dateText(viewer, Date.parse(createdDate)) },
      { title: 'Sessions', numeric: true, cell: ({ id }) => numberText(useOf.get(id)?.sessions ?? 0) },
      {
        title: 'Pass rate',
        numeric: true,
        cell: ({ id }) => percentText(useOf.get(id)?.passed ?? 0, useOf.get(id)?.sessions ?? 0),
      },
      {
        title: 'Last session',
        cell: ({ id }) => {
          const use = useOf.get(id)
          return use === undefined ? html`<span class="muted">None yet</span>` : timeAgo(viewer, use.last, now)
        },
      },
    ],
    programs,
  )
}

function oneLine(viewer: Viewer, { tagline }: ListedProgram): Part {
  const text = freeText(viewer, tagline)
  return text === '' ? nothing : html`<br><span class="muted small">${text}</span>`
}

function stateMarks({ isActive, isPublic }: ListedProgram): Part {
  if (!isActive && !isPublic) return html`<span class="muted">${NONE}</span>`
  return html`<span class="marks">${isActive ? html`<span class="state on">In use</span>` : nothing}${isPublic ? html`<span class="state">Public</span>` : nothing}</span>`
}

async function showProgram(visit: Visit) {
  const { store, viewer, id, path, query, baseUrl, now } = visit
  const owners = viewer.readable.map(person => person.id)
  const row = await recordById(store, { table: 'training_template' }, { owners }, id)
  if (row === undefined) throw notFound('Training program')
  // The archive wrote it in the form of the contract.
  const program = JSON.parse(row.document) as TrainingTemplate
  const sessions = await trainingsWith(store, viewer.subject.id, id)
  const tagline = freeText(viewer, program.tagline)
  return view({
    section: 'programs',
    title: recordName(viewer, 'program', program),
    back: { path: '/programs', title: 'Programs' },
    ...(tagline === '' ? {} : { lead: tagline }),
    charts: true,
    body: html`
      ${tabs(path, query.get('view'), [
        {
          name: 'table',
          title: 'Table',
          body: () => html`
            ${card('Facts', programFacts(viewer, program))}
            ${segmentsChart(viewer, program)}
            ${sessionsWith(viewer, program, sessions, now)}
          `,
        },
        ...apiTabs(baseUrl, `/api/v1/dtt/templates/${program.id}`, row.document, viewer.discreet),
      ])}
    `,
  })
}

function programFacts(viewer: Viewer, program: TrainingTemplate): Html {
  const owner = viewer.readable.find(({ id }) => id === program.ownerId)
  const texts = (['description', 'message'] as const).flatMap(field => {
    const text = freeText(viewer, program[field])
    return text === '' ? [] : [[label(field), text] as const]
  })
  const deviceLine = freeText(viewer, program.toyTagline)
  return facts([
    ...texts,
    ['State', stateMarks(program)],
    [label('handsFreeMode'), program.handsFreeMode ? 'Yes' : 'No'],
    [label('targetDepth'), numberText(program.targetDepth)],
    [label('targetWindow'), `± ${numberText(program.targetWindow)}`],
    [label('toyId'), program.toyId ?? 'None set'],
    ...(deviceLine === '' ? [] : [[label('toyTagline'), deviceLine] as const]),
    ...(program.iconId === undefined ? [] : [[label('iconId'), program.iconId ?? NONE] as const]),
    [label('createdDate'), dateTimeText(viewer, Date.parse(program.createdDate))],
    [label('updatedAt'), dateTimeText(viewer, Date.parse(program.updatedAt))],
    ...(owner === undefined ? [] : [[label('ownerId'), personName(viewer, owner)] as const]),
    [label('id'), program.id],
    [label('bubbleId'), html`<code>${program.bubbleId}</code>`],
  ])
}

interface Placed extends TemplateSegment {
  readonly place: number
}

function segmentsChart(viewer: Viewer, { Segment }: TrainingTemplate): Html {
  const rows: Placed[] = Segment.map((segment, index) => ({ ...segment, place: index + 1 }))
  const has = (field: keyof TemplateSegment) => Segment.some(segment => segment[field] !== undefined)
  return chart<Placed>({
    chartType: 'segments',
    title: 'Segments',
    summary: segmentsSummary(Segment),
    empty: 'No segments',
    ...(has('passFailEnabled')
      ? {
          legend: [
            ['solid', 'Graded as passed or not'],
            ['approximate', 'Not graded'],
          ] as const,
        }
      : {}),
    columns: [
      { title: 'Place', numeric: true, cell: ({ place }) => place },
      { key: 'label', title: label('type'), cell: ({ type }) => kindName(viewer, type) },
      {
        key: 'seconds',
        title: 'Time',
        numeric: true,
        cell: row => (isCounted(row.type) ? NONE : durationText(row.duration)),
        value: row => (isCounted(row.type) ? null : row.duration),
      },
      {
        key: 'reps',
        title: 'Repetitions',
        numeric: true,
        cell: row => (isCounted(row.type) ? numberText(row.duration) : NONE),
        value: row => (isCounted(row.type) ? row.duration : null),
      },
      {
        key: 'repeat',
        title: label('repeat'),
        numeric: true,
        cell: ({ repeat }) => `${numberText(repeat)} ×`,
        value: ({ repeat }) => repeat,
      },
      ...(has('speed') ? [{ title: label('speed'), numeric: true, cell: ({ speed }: Placed) => speed ?? NONE }] : []),
      {
        key: 'graded',
        title: label('passFailEnabled'),
        cell: ({ passFailEnabled }) => (passFailEnabled === undefined ? 'Not known' : passFailEnabled ? 'Yes' : 'No'),
        value: ({ passFailEnabled }) => (passFailEnabled === false ? 0 : 1),
      },
      ...(has('passGradeThreshold')
        ? [
            {
              title: label('passGradeThreshold'),
              numeric: true,
              cell: ({ passFailEnabled, passGradeThreshold }: Placed) =>
                passFailEnabled === false || passGradeThreshold === undefined ? NONE : `${passGradeThreshold}\u00a0%`,
            },
          ]
        : []),
      ...(has('failureText') && !viewer.discreet
        ? [{ title: label('failureText'), cell: ({ failureText }: Placed) => failureText ?? NONE }]
        : []),
    ],
    rows,
  })
}

function segmentsSummary(segments: readonly TemplateSegment[]): string {
  if (segments.length === 0) return 'This program has no segments.'
  let seconds = 0
  let reps = 0
  let runs = 0
  for (const { type, duration, repeat } of segments) {
    const times = Math.max(1, repeat)
    runs += times
    if (isCounted(type)) reps += duration * times
    else seconds += duration * times
  }
  const parts = [...(seconds > 0 ? [durationText(seconds)] : []), ...(reps > 0 ? [countText(reps, 'repetition')] : [])]
  const repeated = runs === segments.length ? '' : `, ${numberText(runs)} with repeats`
  return `${countText(segments.length, 'segment')}${repeated}: ${parts.join(' and ') || 'of no length'}.`
}

const MAX_LISTED_SESSIONS = 10

function sessionsWith(
  viewer: Viewer,
  program: TrainingTemplate,
  sessions: readonly SessionFigures[],
  now: number,
): Html {
  const [first] = sessions
  if (first === undefined) {
    return emptyState('No sessions with it yet', 'Sessions that are run with this program will be listed here.')
  }
  const { passed } = totalsOf(sessions)
  const newest = sessions.toReversed().slice(0, MAX_LISTED_SESSIONS)
  return html`
    ${gradeChart(viewer, { sessions, from: first.at, to: Math.max(now, first.at + 1), now })}
    ${card(
      'Sessions with it',
      html`
        <p class="summary">${passed} of ${countText(sessions.length, 'session')} passed (${percentText(passed, sessions.length)}).</p>
        ${table('Sessions with this program', sessionColumns(viewer, undefined), newest)}
        ${
          sessions.length > newest.length
            ? html`<p><a href="/training?range=all&program=${program.id}">All ${numberText(sessions.length)} sessions with it</a></p>`
            : nothing
        }
      `,
    )}
  `
}
