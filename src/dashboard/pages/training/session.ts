import { sum } from '../../../contract/numbers.ts'
import type { TrainerSegment, TrainingSession } from '../../../contract/training-sessions.ts'
import type { TrainingTemplate } from '../../../contract/training-templates.ts'
import { notFound } from '../../../contract/errors.ts'
import { type GradeRank, gradeRank } from '../../../stats/bests.ts'
import { programs } from '../../../stats/program-queries.ts'
import { trainingHistory } from '../../../stats/training-history.ts'
import { trainingSession } from '../../../stats/training-queries.ts'
import type { SessionStats } from '../../../stats/training.ts'
import { type Usual, usualOfProgram } from '../../../stats/usual.ts'
import { legendOf, resultLegend } from '../../charts/picture.ts'
import { boxes, dots, gradeRange, linePath, markText, resultDots, tickAt, valueScale } from '../../charts/plane.ts'
import { html, type Html, nothing } from '../../html.ts'
import { label } from '../../text/labels.ts'
import { ofWhom, typeName, personName, personOf, recordName, programLink, readPrograms } from '../../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../../page.ts'
import {
  FIRST,
  SECOND,
  card,
  mainStat,
  recordTabs,
  resultMark,
  stat,
  stats,
  table,
  type TableColumn,
  TYPED,
  dotted,
  paginate,
  RECORD_ROWS,
  tableFoot,
} from '../../layout/components.ts'
import { countText, dateTime, durationText, NONE, numberText, percentText, timerText } from '../../text/text.ts'
import { recordSteps } from '../area.ts'
import { beyondText, GRADES, rangeText, strip, tenLinks } from '../parts.ts'
import { type Passing, passingAt, passingGrades } from './program-runs.ts'
import { distanceOf } from './list.ts'

export const trainingSessionPages: readonly DashboardPage[] = [
  { section: 'training', reads: 'record', area: 'dtt', path: '/training/:id', handler: showSession },
]

async function showSession(visit: Visit) {
  const { store, viewer, pageAccess, id, now } = visit
  const stored = await trainingSession(store, pageAccess.ofAll('training_session'), id)
  if (stored === undefined) throw notFound('Training session')
  const { session, owner, document } = stored
  const [names, found, { sessions }] = await Promise.all([
    readPrograms(visit),
    programs.find(store, pageAccess.ofAll('training_template'), [session.program]),
    trainingHistory(store, pageAccess.sessions('dtt', owner)),
  ])
  const own = sessions.findLastIndex(one => one.id === id)
  // The archive wrote it in the form of the contract.
  const record = JSON.parse(document) as TrainingSession
  const segments = record.TrainerSegment.map((segment, index) => ({ ...segment, position: index + 1 }))
  const program = found.get(session.program)?.record
  const passing = program === undefined ? [] : passingGrades(program)
  const when = Date.parse(program?.updatedAt ?? '') > session.at ? ', as the program has it now' : ''
  const usual = usualOfProgram(sessions, own, ({ grade }) => grade)
  const rank = gradeRank(sessions, session, now)
  const graded = sum(session.types.map(({ grades }) => grades.length))
  const title = recordName(viewer, 'training', record)
  const isNamed = session.program !== 0 && title !== names.nameOf(session.program)
  return view({
    owner,
    title,
    heading: html`${owner === viewer.subject.id && ofWhom(viewer)}${isNamed ? names.nameOf(session.program) : title}`,
    back: visit.sectionStart,
    lead: dotted(
      isNamed && title,
      html`${dateTime(viewer, session.at, now)}${session.isTyped ? TYPED : nothing}`,
      segments.length > 0 && durationText(sum(segments.map(({ durationMeasured }) => durationMeasured))),
      isNamed
        ? program && html`<a class="off-paper" href="/programs/${program.id}">See the program</a>`
        : programLink(names, session.program),
      owner === viewer.subject.id ? nothing : personName(viewer, personOf(viewer, owner)),
    ),
    actions: recordSteps(visit, sessions, 'Sessions'),
    body: recordTabs(visit, {
      owner,
      apiPath: `/api/v1/dtt/sessions/${record.id}`,
      json: document,
      summary: () => html`
        ${stats(
          mainStat(
            'Grade',
            html`${percentText(session.grade)} ${resultMark(session.passed)}`,
            dotted(
              session.passed ? nothing : failedNote(viewer, record.TrainerSegment, program),
              gradeNote(session.grade, usual, rank),
              graded > 1 && `mean of ${countText(graded, 'segment')}`,
            ),
          ),
          ...amountStats(visit, sessions, own, session, segments, passing),
        )}
        ${lastTen(viewer, sessions.slice(0, own + 1), session, usual)}
        ${card('Segments', segmentTable(visit, segments, passing, when), { id: 'rows' })}
      `,
    }),
  })
}

/** What of a session was not passed, beside that it was not: `segment 6 Endurance 67 %, passes at 68 %`, or `2 segments not passed`; undefined if every segment was. */
export function failedNote(
  viewer: Viewer,
  segments: readonly TrainerSegment[],
  program?: TrainingTemplate,
): string | undefined {
  const [first, ...others] = segments.filter(({ passed }) => !passed)
  if (first === undefined) return undefined
  if (others.length > 0) return `${countText(others.length + 1, 'segment')} not passed`
  const index = segments.indexOf(first)
  const least = (program && passingAt(passingGrades(program), index, first.type)) ?? 0
  const passes = least > first.percentGrade ? `, passes at\u00a0${percentText(least)}` : ''
  return `segment\u00a0${numberText(index + 1)} ${typeName(viewer, first.type)} ${percentText(first.percentGrade)}${passes}`
}

/** `◆ grade as usual (96 to 98 %) · third best of 109 with this program` */
export function gradeNote(
  grade: number | null,
  usual: Usual | undefined,
  rank: GradeRank | undefined,
): Html | undefined {
  // Beside a result, what it is of.
  const verdict = grade !== null && usual && beyondText(grade, usual, GRADES).replace('as usual', 'grade as usual')
  const place = rank && `${rankText(rank)} of ${numberText(rank.of)} with this program`
  if (!verdict) return place === undefined ? undefined : dotted(place)
  return dotted(`${verdict} (${rangeText(usual)}\u00a0%)`, place)
}

/** `best`, `equals the third best` */
export function rankText({ better, equals }: GradeRank): string {
  return `${equals === 0 ? '' : 'equals the '}${['best', 'second best', 'third best'][better]}`
}

/** The last sessions with the program, up to this one. */
function lastTen(
  viewer: Viewer,
  sessions: readonly SessionStats[],
  session: SessionStats,
  usual: Usual | undefined,
): Html {
  const ten = tenWith(session, sessions)
  if (ten.length < 2) return nothing
  return card(
    `This one and the ${numberText(ten.length - 1)} before with this program`,
    html`
      ${lastGrades(viewer, ten, session, usual)}
      ${legendOf([
        usual !== undefined && ['usual', 'Usual before this one'],
        ...resultLegend(ten.map(one => one.passed)),
      ])}
    `,
  )
}

export function tenWith({ program }: SessionStats, sessions: readonly SessionStats[]): readonly SessionStats[] {
  return sessions.filter(one => one.program === program).slice(-10)
}

/** Their grades as a line, on what is usual; the one of `session` is marked. */
export function lastGrades(
  viewer: Viewer,
  ten: readonly SessionStats[],
  session: SessionStats,
  usual: Usual | undefined,
): Html {
  const points = ten.flatMap(({ id, grade, passed }, index) =>
    grade === null ? [] : [{ id, isPassed: passed, at: ((index + 0.5) * 100) / ten.length, value: grade }],
  )
  const values = [...points.map(({ value }) => value), ...(usual === undefined ? [] : [usual.low, usual.high])]
  const space = { ...valueScale(gradeRange(values), percentText), x: (at: number) => at }
  const current = points.filter(({ id }) => id === session.id)
  const nameOf = ({ grade, passed }: SessionStats) => `${percentText(grade)}, ${passed ? 'passed' : 'not passed'}`
  return html`
      <div class="plot"><svg class="plane" height="112" aria-hidden="true">${space.axes}
        ${usual === undefined ? nothing : boxes('usual', [{ x: [0, 100], y: [space.y(usual.high), space.y(usual.low)] }])}
        ${points.map(({ id, at, value }, index) => {
          // Where the line goes up more than down, there is room below. That of the session stands free above.
          const up = sum([points[index - 1], points[index + 1]].map(beside => (beside?.value ?? value) - value))
          if (id === session.id) return markText(at, space.y(value) - 4, numberText(value))
          return markText(at, space.y(value), numberText(value), up > 0 ? ' below' : '')
        })}${linePath('line', space, points)}${dots('current', space, current)}${resultDots(space, points)}
      </svg>${tenLinks(viewer, '/training', ten, nameOf, session.id)}</div>`
}

/** The sums of a session, of repetitions what is usual; and how many of its segments were passed, of those that can fail. */
function amountStats(
  { viewer }: Visit,
  sessions: readonly SessionStats[],
  own: number,
  session: SessionStats,
  segments: readonly Row[],
  passing: Passing,
): Html[] {
  const isJudged = ({ passed, position, type }: Row) => !passed || passingAt(passing, position - 1, type) !== 0
  const judged = segments.filter(isJudged)
  const passed = judged.filter(segment => segment.passed).length
  const others = segments.filter(segment => !isJudged(segment))
  const usual = usualOfProgram(sessions, own, ({ reps }) => reps)
  const more = judged.length === 0 ? countText(others.length, 'segment') : `${numberText(others.length)} more`
  const note = usual && `${beyondText(session.reps, usual, { text: numberText })} (${rangeText(usual)})`
  return [
    stat('Repetitions', numberText(session.reps), note),
    stat('Distance', distanceOf(viewer, session)),
    stat(
      'Segments passed',
      judged.length === 0 ? NONE : `${numberText(passed)} of ${numberText(judged.length)}`,
      others.length === 0 ? undefined : `${more} without a passing grade`,
    ),
  ]
}

type Row = TrainerSegment & { readonly position: number }

/** What matters of each segment; all of it is in the data of the record. */
function segmentTable({ viewer, path, query }: Visit, segments: readonly Row[], passing: Passing, when: string): Html {
  if (segments.length === 0) return html`<p class="muted">This session has no segments.</p>`
  const paged = paginate(segments, query, RECORD_ROWS)
  const gradeAt = ({ position, type }: Row) => passingAt(passing, position - 1, type) ?? -1
  const least = [...new Set(segments.map(gradeAt))].filter(grade => grade > 0)
  return html`
    ${legendOf([
      least.length > 0 && [
        'tick',
        `Passing grade of a segment${when}${least.length === 1 ? `: ${percentText(least[0] ?? 0)}` : ''}`,
      ],
      segments.some(one => !one.passed) && ['late', 'Not passed'],
      segments.some(one => one.passed && gradeAt(one) === 0) && ['so-far', 'Without a passing grade'],
    ])}
    ${table<Row>('Segments', segmentColumns(viewer, segments, passing), paged.rows)}
    ${tableFoot(path, query, paged, 'rows')}
  `
}

function segmentColumns(viewer: Viewer, segments: readonly Row[], passing: Passing): TableColumn<Row>[] {
  const distance: TableColumn<Row> = {
    title: label('distanceTravelled'),
    ...SECOND,
    cell: ({ distanceTravelled: metres = null }) =>
      distanceOf(viewer, { distance: metres === null ? null : metres * 1_000_000, approximate: false }, true),
  }
  return [
    {
      title: 'Segment',
      line: 'first',
      cell: segment =>
        html`${segment.position} ${typeName(viewer, segment.type)}${segment.passed ? nothing : html`\u00a0 ${resultMark(false)}`}`,
    },
    {
      title: html`<span class="hidden">Bar</span>`,
      line: 'second',
      cell(segment) {
        const least = passingAt(passing, segment.position - 1, segment.type)
        const bar = boxes(!segment.passed ? 'late' : least === 0 ? 'so-far' : 'solid', [
          { x: [0, Math.max(0, Math.min(100, segment.percentGrade))], y: [0, 100] },
        ])
        return strip(
          html`${least !== 0 && boxes('track', [{ x: [0, 100], y: [0, 100] }])}${bar}${least !== undefined && least > 0 && tickAt(least)}`,
          8,
        )
      },
    },
    { title: label('percentGrade'), ...FIRST, cell: ({ percentGrade }) => percentText(percentGrade) },
    {
      title: label('durationMeasured'),
      ...SECOND,
      cell: ({ durationMeasured, durationTarget }) =>
        `${timerText(durationMeasured)}${durationTarget === 0 || durationTarget === durationMeasured ? '' : ` of ${timerText(durationTarget)}`}`,
    },
    {
      title: label('repsMeasured'),
      ...SECOND,
      unit: '\u00a0reps',
      cell: ({ repsMeasured, repsTarget }) =>
        repsTarget === 0 ? numberText(repsMeasured) : `${numberText(repsMeasured)} of ${numberText(repsTarget)}`,
    },
    ...(segments.some(({ distanceTravelled }) => distanceTravelled != null) ? [distance] : []),
  ]
}
