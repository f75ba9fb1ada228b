import { medianOf } from '../../../contract/numbers.ts'
import { bucketStart } from '../../../contract/time.ts'
import { trainingWriter } from '../../../archive/formats/tables.ts'
import type { TrainingSession } from '../../../contract/training-sessions.ts'
import { trainingHistory } from '../../../stats/training-history.ts'
import { trainingRecords } from '../../../stats/training-queries.ts'
import { type SessionStats, sessionsBetween, totalsOf } from '../../../stats/training.ts'
import { judgedReps } from '../../../stats/usual.ts'
import { countedUntil } from '../../../stats/known-time.ts'
import { zoneClock } from '../../../stats/zone-clock.ts'
import { patterns } from '../../charts/plane.ts'
import { figure, html, type Html, nothing } from '../../html.ts'
import type { Reader, Viewer, Visit } from '../../page.ts'
import { typeName, ofWhom, readPrograms } from '../../text/names.ts'
import { comparedDays, daysName, daysText, type Period, periodText, timeOfDays } from '../../text/period.ts'
import { countText, longDistanceText, numberText, percentText } from '../../text/text.ts'
import { example, EXAMPLE_TRAINING } from '../example.ts'
import { addressOf, areaPages, daysAddress, daysBefore, fewAtOnce, figureTiles, isFiltered } from '../area.ts'
import {
  barPicture,
  boundaries,
  endsThisWeek,
  GRADES,
  inParts,
  isLongerThanWeek,
  timeSince,
  verdictText,
  weekVerdicts,
} from '../parts.ts'
import { fieldsOf, measureChoice, scopeOf, trainingAddresses, type TrainingQuery, sessionRows, sorted } from './list.ts'
import { amountBars, gradePicture } from './pictures.ts'

export type ShownTraining = NonNullable<Awaited<ReturnType<typeof readTraining>>>

export const trainingPages = areaPages<TrainingQuery, ShownTraining, SessionStats>({
  section: 'training',
  area: 'dtt',
  title: 'Training',
  list: 'Sessions',
  addresses: trainingAddresses,
  nothingYet: () => [
    'No training sessions yet',
    'This page will show your sessions with their grades, repetitions and distances over time.',
    example(...EXAMPLE_TRAINING),
  ],
  read: readTraining,
  none: (_viewer, shown) => [
    isFiltered(trainingAddresses, shown.query) ? 'No session matches' : 'No sessions',
    noneText(shown),
  ],
  heading: ({ viewer, now }, { week, time, query }) =>
    html`${ofWhom(viewer)}Training ${endsThisWeek(time) && query.passed === undefined ? weekVerdicts(viewer, now, weekVerdict(week)) : nothing}`,
  lead: ({ viewer }, shown) => gradeNews(viewer, shown),
  fields: ({ viewer }, { query, programs, known, types }) => fieldsOf(viewer, query, programs, known, types),
  tiles: (viewer, shown) => html`${typeNote(viewer, shown.query)}${totalTiles(viewer, shown)}`,
  pictures,
  table: (visit, { query, sessions, programs, alike }) => sessionRows(visit, query, sessions, programs, alike),
  file: {
    header: ({ discreet }) => trainingWriter.header(discreet),
    sessions: (visit, query, period) => sessionsOf(visit, visit.pageAccess.sessions('dtt'), query, period),
    async cells(visit) {
      const programs = await readPrograms(visit)
      return ({ session, document }) => {
        const record = document === undefined ? undefined : (JSON.parse(document) as TrainingSession)
        const { id, at, program, passed, grade, segments, reps, distance, approximate } = session
        const cells = {
          number: id,
          recorded: at,
          programNumber: program > 0 ? program : null,
          program: program < 0 ? (record?.name ?? '') : (programs.find(program)?.name ?? ''),
          passed,
          grade,
          segments,
          repetitions: reps,
          distance: distance === null ? null : distance / 1_000_000,
          approximate,
        }
        return trainingWriter.cells(cells, record, visit.viewer.discreet)
      }
    },
  },
})

/** What is shown of a period, all days if it is undefined; undefined if there are no sessions at all. */
export async function readTraining(reader: Reader, query: TrainingQuery, period: Period | undefined) {
  const { store, viewer, pageAccess, now } = reader
  const { timeZone } = viewer
  const span = period && timeOfDays(period, timeZone)
  const [history, programs] = await Promise.all([
    trainingHistory(store, pageAccess.sessions('dtt')),
    readPrograms(reader),
  ])
  if (history.sessions.length === 0) return undefined
  const selection = await history.select(query, span?.from, span?.to)
  const { sessions } = selection
  const time = inParts(span ?? timeSince(sessions, now, viewer), now, viewer)
  const summary = await history.summary(selection, boundaries(time.parts))
  const { types } = await history.summary(await history.select({}))
  const earlier = period === undefined ? [] : boundaries(time.earlier)
  const compared = period && timeOfDays(comparedDays(period), timeZone)
  const before = compared && (await history.summary(await history.select(query, compared.from, compared.to)))
  const today = zoneClock(timeZone).dayOf(now)
  const every = await history.select(query, -Infinity, zoneClock(timeZone).startOf(today + 1))
  return {
    query,
    program: query.program,
    period,
    today,
    programs,
    /** All, whatever the period and the filters. */
    known: history.sessions,
    /** All, of a type only its segments, so that they are compared with their like. */
    alike: (await history.select({ type: query.type })).sessions,
    week: weekSoFar(reader, every.sessions),
    sessions,
    summary,
    time,
    ...(earlier.length > 0 && {
      earlier: await history.summary(await history.select(query, earlier[0], earlier.at(-1)), earlier),
    }),
    /** All up to today that match the filters, whatever the period. */
    everything: every.sessions,
    daysAddress: daysAddress(trainingAddresses, query),
    types,
    /** As many days before. */
    before,
    /** Whether the sums of these days and of those before are of the same length: all of both is known. */
    isComparable:
      compared !== undefined &&
      (history.sessions[0]?.at ?? now) < compared.from &&
      viewer.copied === null &&
      countedUntil(viewer.asOf, now) >= Math.min(now, time.to),
  }
}

async function* sessionsOf(
  visit: Visit,
  access: Parameters<typeof trainingHistory>[1],
  query: TrainingQuery,
  period: Period | undefined,
) {
  const { store, viewer } = visit
  const span = period && timeOfDays(period, viewer.timeZone)
  const history = await trainingHistory(store, access)
  const { sessions } = await history.select(query, span?.from, span?.to)
  const rows = sorted(query, sessions, await readPrograms(visit))
  yield* fewAtOnce(rows, ids => trainingRecords(store, access, ids))
}

function pictures({ viewer, now }: Visit, shown: ShownTraining): Html {
  const { query, week, time } = shown
  const isOwn = viewer.subject.id === viewer.session.accountId
  const goal = isOwn ? (viewer.session.weeklyGoal ?? undefined) : undefined
  const isJudged = endsThisWeek(time) && query.measure === 'repetitions'
  const bars = amountBars(viewer, shown, now, { measure: query.measure, goal, actions: measureChoice(query) })
  const amounts = { ...bars, byNow: isJudged ? week.judged?.byNow : undefined }
  const grades = gradePicture(viewer, shown, typeMedians(viewer, shown))
  return html`<div class="charts">${patterns}${grades}${isLongerThanWeek(time) ? barPicture(viewer, amounts) : nothing}</div>`
}

/** The median grade of each type, if no type was chosen; in the order of their grades. */
function typeMedians(viewer: Viewer, { query, period, summary }: ShownTraining): Html {
  const types = summary.types
    .flatMap(({ type, grade }) => (grade === null ? [] : [{ type, median: grade.median }]))
    .toSorted((a, b) => a.median - b.median)
  if (query.type !== undefined || types.length < 2) return nothing
  return html`<ul class="legend">${types.map(({ type, median }) => {
    const ofType = { ...query, type }
    return html`<li><a href="${addressOf(trainingAddresses, ofType)}">${typeName(viewer, type)}</a>${medianFigure(median, scopeOf(ofType, period))}</li>`
  })}</ul>`
}

/** How much there was so far this week, and what is usual at the same point of a week, if records are known up to now. */
function weekSoFar({ viewer, now }: Reader, sessions: readonly SessionStats[]) {
  const clock = zoneClock(viewer.timeZone)
  const today = clock.dayOf(now)
  const monday = bucketStart('week', 'monday', today)
  const { reps, sessions: count } = totalsOf(sessionsBetween(sessions, clock.startOf(monday), clock.startOf(today + 1)))
  const judged = countedUntil(viewer.asOf, now) === now ? judgedReps(sessions, clock, now) : undefined
  const shown = judged?.byNow === undefined ? judged : { ...judged, value: reps }
  return { monday, scope: daysName({ first: monday, last: today }), reps, count, judged: shown }
}

export function weekVerdict({ judged }: ShownTraining['week']): string | undefined {
  return judged && verdictText(judged, countText(judged.value, 'repetition'))
}

export function medianFigure(median: number, scope: string): Html {
  return figure(`medianGrade ${scope}`, median, percentText(median))
}

export function repsFigure(reps: number, scope: string): Html {
  return figure(`reps ${scope}`, reps, numberText(reps))
}

/** With a link to where there are sessions. */
function noneText({ query, period, everything }: ShownTraining): Html {
  const when = period === undefined ? '' : ` ${periodText(period)}`
  const none = isFiltered(trainingAddresses, query) ? `No session${when} matches the filters.` : `No sessions${when}.`
  const count = everything.length
  if (count === 0) return html`${none}`
  const address = addressOf(trainingAddresses, query, { preset: 'all', days: undefined })
  return html`${none} <a href="${address}">${countText(count, 'session')} at other times</a>`
}

function typeNote(viewer: Viewer, { type }: TrainingQuery): Html {
  if (type === undefined) return nothing
  return html`<p class="muted">Grades, repetitions and distances are of segments of the type ${typeName(viewer, type)} only. Results are of whole sessions.</p>`
}

/** `Since the beginning, median grade: 66 % (1–14 Jan 2022) → 92 % (17–30 Sept)`: of the first 14, 28, 91 or 364 days, or half of all, and of as many last ones, the fewest of which both have five grades, each a link to its days; undefined unless they differ. */
function gradeNews({ timeZone }: Viewer, { query, today, everything }: ShownTraining): Html | undefined {
  const clock = zoneClock(timeZone)
  const begin = clock.dayOf(everything[0]?.at ?? 0)
  const half = Math.floor((today + 1 - begin) / 2)
  const within = (first: number, last: number) => {
    const sessions = sessionsBetween(everything, clock.startOf(first), clock.startOf(last + 1))
    return { days: { first, last, today }, grades: sessions.flatMap(({ grade }) => grade ?? []) }
  }
  for (const length of [...[14, 28, 91, 364].filter(days => days < half), half]) {
    const both = [within(begin, begin + length - 1), within(today + 1 - length, today)]
    if (both.some(({ grades }) => grades.length < 5)) continue
    const [from = 0, to = 0] = both.map(({ grades }) => medianOf(grades))
    const [first, last] = both.map(({ days }, index) => {
      const address = addressOf(trainingAddresses, query, { days: [days.first, days.last] })
      return html`<a href="${address}">${medianFigure(index === 0 ? from : to, scopeOf(query, days))}</a> (${daysText(days)})`
    })
    return from === to
      ? undefined
      : html`<span class="news">Since the beginning, median grade: ${first} → ${last}</span>`
  }
  return undefined
}

/** Of sessions chosen by their result, the rate says nothing. */
function totalTiles(viewer: Viewer, shown: ShownTraining): Html {
  const { query, period, summary, before, isComparable } = shown
  const { sessions, passed, passedPercent, reps, distance } = summary.totals
  const then = isComparable ? before?.totals : undefined
  const scope = scopeOf(query, period)
  const percent = passedPercent ?? 0
  const rate = html`${numberText(passed)} passed (${figure(`passedPercent ${scope}`, percent, percentText(percent))})`
  return figureTiles(
    [
      {
        name: 'Median grade',
        of: 'medianGrade',
        value: summary.grade?.median ?? null,
        before: before && (before.grade?.median ?? null),
        note: period === undefined ? 'of all sessions' : undefined,
        ...GRADES,
      },
      {
        name: 'Sessions',
        of: 'sessions',
        value: sessions,
        before: then?.sessions,
        text: numberText,
        note: query.passed === undefined ? rate : undefined,
      },
      { name: 'Repetitions', of: 'reps', value: reps, before: then?.reps, text: numberText },
      {
        name: 'Distance',
        of: 'distance',
        value: distance,
        before: then?.distance,
        text: value => longDistanceText(viewer, value),
      },
    ],
    scope,
    daysBefore(trainingAddresses, query, period, days => scopeOf(query, days)),
  )
}
