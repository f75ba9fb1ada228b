import type { TrainerSegment, TrainingSession } from '../../../contract/training-sessions.ts'
import { notFound } from '../../../contract/errors.ts'
import { type GradeRank, gradeRank } from '../../../stats/bests.ts'
import { trainingHistory } from '../../../stats/training-history.ts'
import { trainingSession } from '../../../stats/training-queries.ts'
import type { SessionStats } from '../../../stats/training.ts'
import { beyondUsual, type Usual, usualGrade } from '../../../stats/usual.ts'
import { legendMark } from '../../charts/picture.ts'
import { boxes, patterns } from '../../charts/plane.ts'
import { measureBar } from '../../charts/spark.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import { label } from '../../text/labels.ts'
import { typeName, personName, personOf, recordName, programLink, readPrograms } from '../../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../../page.ts'
import {
  card,
  jsonFile,
  mainStat,
  recordTabs,
  resultMark,
  stat,
  stats,
  table,
  type TableColumn,
  TYPED,
} from '../../layout/components.ts'
import { paginate, RECORD_ROWS, tableFoot } from '../../paging.ts'
import {
  countText,
  dateText,
  dateTime,
  distanceText,
  durationText,
  futureMark,
  NONE,
  numberText,
  percentText,
} from '../../text/text.ts'
import { recordSteps } from '../area.ts'
import { strip } from '../parts.ts'
import { distanceOf } from './list.ts'

export const trainingSessionPages: readonly DashboardPage[] = [
  { section: 'training', reads: 'record', area: 'dtt', path: '/training/:id', handler: showSession },
]

async function showSession(visit: Visit) {
  const { store, viewer, pageAccess, id, now } = visit
  const found = await trainingSession(store, pageAccess.ofAll('training_session'), id)
  if (found === undefined) throw notFound('Training session')
  const { session, owner, document } = found
  const [programs, { sessions }] = await Promise.all([
    readPrograms(visit),
    trainingHistory(store, pageAccess.sessions('dtt', owner)),
  ])
  const file = jsonFile(visit, `training-session-${id}`, document)
  if (file !== undefined) return file
  const own = sessions.findLastIndex(one => one.id === id)
  // The archive wrote it in the form of the contract.
  const record = JSON.parse(document) as TrainingSession
  const segments = record.TrainerSegment.map((segment, index) => ({ ...segment, position: index + 1 }))
  const isOwn = owner === viewer.session.accountId
  const ofProgram = programLink(programs, session.program)
  const usual = session.grade === null ? undefined : usualGrade(sessions, own)
  const rank = gradeRank(sessions, session, now)
  const beside = [
    ...(session.grade === null || usual === undefined
      ? []
      : [`${usualText(session.grade, usual, isOwn)} (${usual.low} to ${usual.high})`]),
    ...(rank === undefined ? [] : [rankText(rank)]),
  ].join(' · ')
  const besideText = beside === '' ? undefined : beside
  return view({
    owner,
    title: recordName(viewer, 'training', record),
    back: visit.sectionStart,
    lead: html`${dateTime(viewer, session.at)} · ${ofProgram}${futureMark(viewer, now, session.at)}${session.isTyped ? TYPED : nothing}${
      owner === viewer.subject.id ? nothing : ` · ${personName(viewer, personOf(viewer, owner))}`
    }`,
    actions: recordSteps(visit, sessions, 'Sessions'),
    body: recordTabs(visit, {
      owner,
      apiPath: `/api/v1/dtt/sessions/${record.id}`,
      json: document,
      summary: () => html`
        ${stats(
          mainStat(
            'Grade',
            html`${session.grade === null ? NONE : percentText(session.grade)} ${resultMark(session.passed)}`,
            besideText,
          ),
          ...amountStats(visit, session, segments),
        )}
        ${card('Segments', segmentTables(visit, segments), { id: 'rows' })}
        ${lastTen(viewer, sessions.slice(0, own + 1), session)}
      `,
    }),
  })
}

/** `2 over your usual`, `3 under your usual`, `as usual`. */
export function usualText(grade: number, usual: Usual, isOwn: boolean): string {
  const beyond = beyondUsual(grade, usual)
  if (beyond === 0) return 'as usual'
  return `${countText(Math.abs(beyond), 'point')} ${beyond > 0 ? 'over' : 'under'} ${isOwn ? 'your' : 'the'} usual`
}

/** `third best of 109`, `shared best of 20` */
export function rankText({ better, equals, of }: GradeRank): string {
  return `${equals === 0 ? '' : 'shared '}${['best', 'second best', 'third best'][better]} of ${numberText(of)}`
}

/** The last sessions with the program, up to this one, and what was best in it. */
function lastTen(viewer: Viewer, sessions: readonly SessionStats[], session: SessionStats): Html {
  const same = sessions.filter(({ program }) => program === session.program)
  const ten = same.slice(-10)
  if (ten.length < 2) return nothing
  const isMost = (valueOf: (one: SessionStats) => number) =>
    same.length >= ten.length && same.every(one => one.id === session.id || valueOf(one) < valueOf(session))
  const grades = ten.flatMap(({ grade }) => grade ?? [])
  const lowest = Math.min(90, Math.floor(Math.min(...grades, 100) / 10) * 10 - 10)
  const heightOf = (grade: number) => Math.max(4, Math.min(100, ((grade - lowest) * 100) / (100 - lowest)))
  const most = [
    ...(isMost(({ reps }) => reps) ? ['repetitions'] : []),
    ...(isMost(({ distance }) => distance ?? 0) ? ['distance'] : []),
  ].join(' and ')
  const best = most === '' ? '' : `Most ${most} of the ${numberText(same.length)} sessions up to this one.`
  return card(
    `Last ${ten.length} with this program`,
    html`
      ${best === '' ? nothing : html`<p class="summary">${best}</p>`}
      ${patterns}
      <ol class="last-ten">${ten.map(one => {
        const bar = { x: [5, 95], y: [100 - heightOf(one.grade ?? lowest), 100] } as const
        const current = one.id === session.id ? html` aria-current="true"` : nothing
        const name = `${dateText(viewer, one.at)}, ${one.passed ? 'passed' : 'not passed'}`
        return html`<li><a href="/training/${one.id}" title="${name}"${current}>${strip(boxes(one.passed ? 'solid' : 'open', [bar]))}${one.grade ?? NONE}<span class="hidden"> ${name}</span></a></li>`
      })}</ol>
      <ul class="legend"><li>Grades from ${lowest} to 100 %</li><li>${legendMark('solid')}Passed</li><li>${legendMark('open')}Not passed</li></ul>
    `,
  )
}

/** The sums of a session; and why it was not passed, as far as its segments tell. */
function amountStats({ viewer }: Visit, session: SessionStats, segments: readonly Row[]): Html[] {
  const failed = session.passed ? 0 : segments.filter(segment => !segment.passed).length
  const seconds = segments.reduce((sum, { durationMeasured }) => sum + durationMeasured, 0)
  return [
    stat('Repetitions', numberText(session.reps)),
    stat('Distance', distanceOf(viewer, session)),
    stat('Time', segments.length === 0 ? NONE : durationText(seconds)),
    stat('Segments', numberText(segments.length), failed === 0 ? undefined : `${numberText(failed)} not passed`),
  ]
}

type Row = TrainerSegment & { readonly position: number }

/** What matters of each segment as bars, and every other field of the results below. Those that no segment has are left out. */
function segmentTables({ viewer, path, query }: Visit, segments: readonly Row[]): Html {
  if (segments.length === 0) return html`<p class="muted">This session has no segments.</p>`
  const paged = paginate(segments, query, RECORD_ROWS)
  const name: TableColumn<Row> = {
    title: 'Segment',
    cell: row => html`<span class="when">${segmentName(viewer, row)}</span>`,
  }
  return html`
    ${table<Row>('Segments', [name, ...barColumns()], paged.rows, { look: 'stacks bars' })}
    <details class="more">
      <summary>More columns</summary>
      ${table<Row>('More of the segments', [name, ...otherColumns(viewer, segments)], paged.rows, { look: 'stacks' })}
    </details>
    ${tableFoot(path, query, paged, 'rows')}
  `
}

/** `3 Endurance`: segments are distinguished by their position. */
function segmentName(viewer: Viewer, { type, position }: Row): string {
  return `${position} ${typeName(viewer, type)}`
}

function barColumns(): TableColumn<Row>[] {
  return [
    {
      title: label('percentGrade'),
      cell: ({ percentGrade }) => percentText(percentGrade),
    },
    { title: label('passed'), cell: ({ passed }) => resultMark(passed) },
    {
      title: label('durationMeasured'),
      cell: ({ durationMeasured, durationTarget }) =>
        html`${durationText(durationMeasured)}${durationTarget === 0 || durationTarget === durationMeasured ? nothing : ` of ${durationText(durationTarget)}`}`,
    },
    {
      title: label('repsMeasured'),
      cell: ({ repsMeasured, repsTarget, passed }) =>
        repsTarget === 0
          ? numberText(repsMeasured)
          : html`${numberText(repsMeasured)} of ${numberText(repsTarget)}${measureBar(repsMeasured, repsTarget, !passed)}`,
    },
  ]
}

function otherColumns(viewer: Viewer, segments: readonly Row[]): TableColumn<Row>[] {
  const known = (value: number | null | undefined, text: (value: number) => Part = numberText) =>
    value === null || value === undefined ? NONE : text(value)
  const optional = (field: keyof TrainerSegment, cell: (row: Row) => Part): TableColumn<Row>[] =>
    segments.some(segment => segment[field] !== undefined) ? [{ title: label(field), numeric: true, cell }] : []
  return [
    ...optional('points', ({ points }) => numberText(points)),
    ...optional('distanceTravelled', row =>
      known(row.distanceTravelled, metres => distanceText(viewer, metres * 1_000_000)),
    ),
    ...optional('longestDeepthroat', row => known(row.longestDeepthroat, ms => durationText(ms / 1000))),
    ...optional('strokeLength', row => known(row.strokeLength, length => `${numberText(length)}\u00a0mm`)),
    ...optional('speedMeasured', row => known(row.speedMeasured)),
    ...optional('order', row => known(row.order)),
    ...optional('id', ({ id }) => id),
  ]
}
