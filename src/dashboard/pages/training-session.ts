import type { TrainerSegment, TrainingSession } from '../../contract/training-sessions.ts'
import { notFound } from '../../contract/errors.ts'
import { chart, chartCards } from '../charts/charts.ts'
import { neighboursOf, trainingSession } from '../../stats/training-queries.ts'
import { html, type Html, nothing, type Part } from '../html.ts'
import { label } from '../text/labels.ts'
import { kindName, personName, personOf, recordName } from '../text/names.ts'
import { type Chart, type DashboardPage, view, type Viewer, type Visit } from '../page.ts'
import {
  apiTabs,
  card,
  jsonFile,
  type TableColumn,
  drawnText,
  facts,
  resultMark,
  stat,
  stats,
  table,
  tabs,
} from '../layout/components.ts'
import { paginate, pageNumber, RECORD_ROWS, recordTableFoot } from '../paging.ts'
import { programLink, type Programs, readPrograms } from '../text/program-names.ts'
import { countText, dateTime, dateTimeText, distanceText, durationText, NONE, numberText } from '../text/text.ts'

export const trainingSessionPages: readonly DashboardPage[] = [
  { section: 'training', reads: 'record', area: 'dtt', path: '/training/:id', handler: showSession },
]

async function showSession(visit: Visit) {
  const { store, viewer, pageAccess, id, baseUrl, path, query } = visit
  const found = await trainingSession(store, pageAccess.ofAll('training_session'), id)
  if (found === undefined) throw notFound('Training session')
  const { session, owner, document } = found
  const { at, grade, passed, reps, distance, approximate, program } = session
  const [programs, { before, after }] = await Promise.all([
    readPrograms(visit),
    neighboursOf(store, pageAccess.sessions('dtt', owner), session),
  ])
  const file = jsonFile(visit, `training-session-${id}`, document)
  if (file !== undefined) return file
  // The archive wrote it in the form of the contract.
  const record = JSON.parse(document) as TrainingSession
  const segments = record.TrainerSegment
  const seconds = segments.reduce((sum, { durationMeasured }) => sum + durationMeasured, 0)
  const passedSegments = segments.filter(segment => segment.passed).length
  const charts = [targetsChart(viewer, segments)]
  const ownerNote = owner === viewer.subject.id ? '' : ` · ${personName(viewer, personOf(viewer, owner))}`
  return view({
    owner,
    title: recordName(viewer, 'training', record),
    back: visit.home,
    lead: html`${dateTime(viewer, at)} · ${programLink(programs, program)}${ownerNote}`,
    actions: html`${step(before, 'Earlier', 'prev')}${step(after, 'Later', 'next')}`,
    charts,
    body: html`
      ${stats(
        stat('Grade', grade === null ? NONE : `${grade}\u00a0%`, 'mean of its segments'),
        stat('Result', resultMark(passed), `${passedSegments} of ${countText(segments.length, 'segment')} passed`),
        stat(label('repsMeasured'), numberText(reps)),
        stat(
          label('distanceTravelled'),
          distance === null ? NONE : distanceText(viewer, distance),
          distance === null ? 'not known' : approximate ? 'approximate' : undefined,
        ),
        stat(label('durationMeasured'), segments.length === 0 ? NONE : durationText(seconds), 'in its segments'),
      )}
      ${tabs(path, query.get('view'), [
        {
          name: 'table',
          title: 'Table',
          body: () => html`
            ${chartCards(visit, charts)}
            ${card('Segments', segments.length === 0 ? html`<p class="muted">This session has no segments.</p>` : segmentTable(visit, segments), { id: 'rows' })}
            ${card('Record', recordFacts(viewer, record, programs, owner))}
          `,
        },
        ...apiTabs(baseUrl, `/api/v1/dtt/sessions/${record.id}`, document, viewer.discreet),
      ])}
    `,
  })

  function step(to: { readonly id: number } | undefined, text: string, rel: string): Html {
    if (to === undefined) return nothing
    const search = query.get('view') === null ? '' : `?view=${encodeURIComponent(query.get('view') ?? '')}`
    return html`<a class="button small" rel="${rel}" href="/training/${to.id}${search}">${text}</a>`
  }
}

/** Zero is no target. */
function targetRepetitions({ repsTarget }: Pick<TrainerSegment, 'repsTarget'>): string {
  return repsTarget === 0 ? NONE : numberText(repsTarget)
}

function targetTime({ durationTarget }: Pick<TrainerSegment, 'durationTarget'>): string {
  return durationTarget === 0 ? NONE : durationText(durationTarget)
}

/** `3 Endurance`: segments are distinguished by their position. */
function segmentName(viewer: Viewer, { type }: Pick<TrainerSegment, 'type'>, position: number): string {
  return `${position} ${kindName(viewer, type)}`
}

function targetsChart(viewer: Viewer, segments: readonly TrainerSegment[]): Chart {
  const rows = segments.map((segment, index) => ({ ...segment, name: segmentName(viewer, segment, index + 1) }))
  type Row = (typeof rows)[number]
  return chart<Row>({
    id: 'targets',
    chartType: 'targets',
    title: 'Measured against target',
    summary: `${targetsSummary(segments)}${drawnText(segments.length, RECORD_ROWS)}`,
    maxDrawn: RECORD_ROWS,
    empty: 'No segments',
    legend: [
      ['solid', 'Passed'],
      ['outline', 'Not passed'],
      ['tick', 'Target'],
    ],
    columns: [
      { key: 'label', title: 'Segment', cell: ({ name }) => name },
      {
        key: 'seconds',
        title: label('durationMeasured'),
        numeric: true,
        cell: row => durationText(row.durationMeasured),
        value: row => row.durationMeasured,
      },
      {
        key: 'seconds-target',
        title: label('durationTarget'),
        numeric: true,
        cell: targetTime,
        value: row => row.durationTarget,
      },
      {
        key: 'reps',
        title: label('repsMeasured'),
        value: row => row.repsMeasured,
      },
      {
        key: 'reps-target',
        title: label('repsTarget'),
        numeric: true,
        cell: targetRepetitions,
        value: row => row.repsTarget,
      },
      {
        key: 'passed',
        title: label('passed'),
        cell: ({ passed }) => (passed ? 'Passed' : 'Not passed'),
        value: ({ passed }) => (passed ? 1 : 0),
      },
    ],
    rows,
  })
}

function targetsSummary(segments: readonly TrainerSegment[]): string {
  const sum = (
    field: 'durationMeasured' | 'durationTarget' | 'repsMeasured' | 'repsTarget',
    of: readonly TrainerSegment[],
  ) => of.reduce((total, segment) => total + segment[field], 0)
  if (segments.length === 0) return 'This session has no segments.'
  const timed = segments.filter(({ durationTarget }) => durationTarget > 0)
  const counted = segments.filter(({ repsTarget }) => repsTarget > 0)
  const ofSome = timed.length < segments.length ? ' in segments with a target for it' : ''
  const time = `${durationText(sum('durationMeasured', timed))} of a target of ${durationText(sum('durationTarget', timed))}${ofSome}`
  const reps = `${numberText(sum('repsMeasured', counted))} of ${countText(sum('repsTarget', counted), 'repetition')} in segments with a target for them.`
  if (timed.length === 0) {
    return counted.length === 0 ? 'No segment has a target.' : `No segment has a target for time; ${reps}`
  }
  return counted.length === 0 ? `${time}; no segment has a target for repetitions.` : `${time}, and ${reps}`
}

/** Every field of a result; those that no segment of the session has are left out. */
function segmentTable({ viewer, path, query }: Visit, segments: readonly TrainerSegment[]): Html {
  type Row = TrainerSegment & { readonly position: number }
  const rows: Row[] = segments.map((segment, index) => ({ ...segment, position: index + 1 }))
  const numeric = (title: string, cell: (row: Row) => Part): TableColumn<Row> => ({ title, numeric: true, cell })
  const optional = (field: keyof TrainerSegment, column: TableColumn<Row>) =>
    segments.some(segment => segment[field] !== undefined) ? [column] : []
  const known = (value: number | null | undefined, text: (value: number) => string) =>
    value === null || value === undefined ? NONE : text(value)
  const paged = paginate(rows, pageNumber(query), RECORD_ROWS)
  return html`${table<Row>(
    'Segments',
    [
      { title: 'Segment', cell: row => html`<span class="when">${segmentName(viewer, row, row.position)}</span>` },
      { title: label('passed'), cell: ({ passed }) => resultMark(passed) },
      numeric(label('percentGrade'), row => `${row.percentGrade}\u00a0%`),
      numeric(label('points'), row => numberText(row.points)),
      numeric(label('durationMeasured'), row => durationText(row.durationMeasured)),
      numeric(label('durationTarget'), targetTime),
      numeric(label('repsMeasured'), row => numberText(row.repsMeasured)),
      numeric(label('repsTarget'), targetRepetitions),
      numeric(label('distanceTravelled'), row =>
        known(row.distanceTravelled, metres => distanceText(viewer, metres * 1_000_000)),
      ),
      ...optional('longestDeepthroat', {
        title: label('longestDeepthroat'),
        numeric: true,
        cell: row => known(row.longestDeepthroat, milliseconds => durationText(milliseconds / 1000)),
      }),
      ...optional('strokeLength', {
        title: label('strokeLength'),
        numeric: true,
        cell: row => known(row.strokeLength, millimetres => `${numberText(millimetres)}\u00a0mm`),
      }),
      ...optional('speedMeasured', {
        title: label('speedMeasured'),
        numeric: true,
        cell: row => known(row.speedMeasured, numberText),
      }),
      ...optional('order', { title: label('order'), numeric: true, cell: row => known(row.order, numberText) }),
      numeric(label('id'), row => row.id),
    ],
    paged.rows,
    { look: 'stacks' },
  )}${recordTableFoot(path, query, paged, 'rows')}`
}

function recordFacts(viewer: Viewer, record: TrainingSession, programs: Programs, owner: number): Html {
  return facts([
    [label('id'), record.id],
    [label('bubble_id'), html`<code>${record.bubble_id}</code>`],
    [label('name'), recordName(viewer, 'training', record)],
    [label('passed'), resultMark(record.passed)],
    [label('created_at'), dateTimeText(viewer, Date.parse(record.created_at))],
    [label('trainer_id'), record.trainer_id],
    [label('settings_id'), programLink(programs, record.settings_id)],
    [label('repsMeasured'), numberText(record.repsMeasured)],
    [
      label('distanceTravelled'),
      record.distanceTravelled === undefined ? NONE : distanceText(viewer, record.distanceTravelled * 1_000_000),
    ],
    [label('distanceApproximate'), record.distanceApproximate === true ? 'Yes' : 'No'],
    [label('ownerId'), personName(viewer, personOf(viewer, owner))],
  ])
}
