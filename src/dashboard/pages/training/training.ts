import { fieldValues, trainingFields, trainingWriter } from '../../../archive/formats/tables.ts'
import { roundedRatio } from '../../../contract/numbers.ts'
import { trainingHistory } from '../../../stats/training-history.ts'
import { trainingRecords } from '../../../stats/training-queries.ts'
import type { KindTotals, SessionStats, Totals } from '../../../stats/training.ts'
import { html, type Html, nothing } from '../../html.ts'
import type { Viewer, Visit } from '../../page.ts'
import { paginate, pageNumber } from '../../paging.ts'
import { kindName } from '../../text/names.ts'
import {
  comparedDays,
  comparedText,
  comparisons,
  type Days,
  movedTo,
  type Period,
  periodText,
  timeOfDays,
} from '../../text/period.ts'
import { type Programs, readPrograms } from '../../text/program-names.ts'
import {
  capital,
  countText,
  dateText,
  distanceText,
  numberText,
  partText,
  percentText,
  unbroken,
} from '../../text/text.ts'
import { addressOf, type Area, areaPages, daysAddress, fewAtOnce, figureTiles, type WithDocument } from '../area.ts'
import { boundaries, inParts, isLongerThanWeek, partPictures, timeSince } from '../parts.ts'
import { filterFields, scopeOf, trainingAddresses, type TrainingQuery } from './filters.ts'
import { type Compared, distancePicture, gradePicture, repetitionsPicture, type ShownSessions } from './pictures.ts'
import { sessionRows, sortedBy } from './table.ts'

interface ShownTraining extends ShownSessions {
  readonly query: TrainingQuery
  /** Undefined for all days. */
  readonly period: Period | undefined
  /** What it is compared with: as many days before, if nothing else was chosen. */
  readonly before: (Compared & { readonly days: Days }) | undefined
  readonly programs: Programs
  /** Of the period, whatever the filters. */
  readonly all: readonly SessionStats[]
  readonly kinds: readonly KindTotals[]
}

const training: Area<TrainingQuery, ShownTraining, SessionStats> = {
  section: 'training',
  area: 'dtt',
  title: 'Training',
  addresses: trainingAddresses,
  nothingYet: () => [
    'No training sessions yet',
    'This page will show your sessions with their grades, repetitions and distances over time.',
  ],
  read: readTraining,
  isEmpty: ({ sessions }) => sessions.length === 0,
  lead: changeText,
  none: (viewer, shown) => [isFiltered(shown.query) ? 'No session matches' : 'No sessions', changeText(viewer, shown)],
  fields: (visit, { query, programs, all, kinds }) => filterFields(visit, query, programs, all, kinds),
  note: (viewer, { query: { kind } }) => (kind === undefined ? nothing : kindNote(viewer, kind)),
  tiles: totalTiles,
  pictures,
  async table(visit, { query, sessions, programs }) {
    const paged = paginate(await sortedBy(query, sessions, programs), pageNumber(visit.query))
    return { rows: await sessionRows(visit, query, paged, programs) }
  },
  file: {
    header: trainingWriter.header,
    sessions(visit, query, period) {
      const access = visit.pageAccess.sessions('dtt')
      return sessionsOf(visit, access, query, period)
    },
    async cells(visit) {
      const programs = await readPrograms(visit)
      return ({ session, document }) => {
        const record = document === undefined ? undefined : (JSON.parse(document) as object)
        const { id, at, program, passed, grade, segments, reps, distance, approximate } = session
        const cells = {
          number: id,
          recorded: at,
          programNumber: program,
          program: programs.nameOf(program),
          passed,
          grade,
          segments,
          repetitions: reps,
          distance: distance === null ? null : distance / 1_000_000,
          approximate,
        }
        return trainingWriter.cells(cells, fieldValues(trainingFields, record, visit.viewer.discreet))
      }
    },
    line: (_visit, _session, document) => document,
  },
}

export const trainingPages = areaPages(training)

function isFiltered({ kind, program, passed }: TrainingQuery): boolean {
  return kind !== undefined || program !== undefined || passed !== undefined
}

async function readTraining(
  visit: Visit,
  query: TrainingQuery,
  period: Period | undefined,
): Promise<ShownTraining | undefined> {
  const { store, viewer, pageAccess, now } = visit
  const { timeZone } = viewer
  const span = period && timeOfDays(period, timeZone)
  const [history, programs] = await Promise.all([
    trainingHistory(store, pageAccess.sessions('dtt')),
    readPrograms(visit),
  ])
  if (history.sessions.length === 0) return undefined
  const within = await history.select({}, span?.from, span?.to)
  const selection = await history.select(query, span?.from, span?.to)
  const { sessions } = selection
  const time = inParts(span ?? timeSince(sessions, now, viewer), now, viewer)
  const summary = await history.summary(selection, boundaries(time.parts))
  const { kinds } = selection.name === within.name ? summary : await history.summary(within)
  const earlier = boundaries(time.earlier)
  const compareWith = async (period: Period) => {
    const days = comparedDays(period, query.compare)
    const { from, to } = timeOfDays(days, timeZone)
    const selection = await history.select(query, from, to)
    const summary = await history.summary(selection, movedTo(days, period, boundaries(time.parts), timeZone))
    return { days, sessions: selection.sessions, summary, title: comparisons[query.compare ?? 'before'] }
  }
  const isShown = period !== undefined && period.length > 0 && period.first <= period.today
  const before = isShown ? await compareWith(period) : undefined
  return {
    query,
    period,
    programs,
    sessions,
    summary,
    time,
    earlier: await history.summary(await history.select(query, earlier[0], earlier.at(-1)), earlier),
    before,
    compared: query.compare === undefined ? undefined : before,
    daysAddress: daysAddress(trainingAddresses, query),
    all: within.sessions,
    kinds,
  }
}

async function* sessionsOf(
  visit: Visit,
  access: Parameters<typeof trainingHistory>[1],
  query: TrainingQuery,
  period: Period | undefined,
): AsyncGenerator<WithDocument<SessionStats>> {
  const { store, viewer } = visit
  const span = period && timeOfDays(period, viewer.timeZone)
  const history = await trainingHistory(store, access)
  const { sessions } = await history.select(query, span?.from, span?.to)
  const sorted = await sortedBy(query, sessions, await readPrograms(visit))
  yield* fewAtOnce(sorted, async some => {
    const ids = some.map(({ id }) => id)
    return { sessions: some, documents: await trainingRecords(store, access, ids) }
  })
}

/** With a filter by kind, the page shows that kind alone, except for results. */
function kindNote(viewer: Viewer, kind: string): Html {
  return html`<p class="muted">Grades, repetitions and distances are of segments of the kind ${kindName(viewer, kind)} only. Results are of whole sessions.</p>`
}

function pictures({ viewer, now }: Visit, shown: ShownTraining): Html {
  const { kind } = shown.query
  // Of one kind that was chosen, its grades are those of all.
  const kinds = kind === undefined ? shown.summary.kinds.map(one => one.kind) : []
  const isOwn = viewer.subject.id === viewer.session.accountId
  const goal = isOwn ? (viewer.session.weeklyGoal ?? undefined) : undefined
  const byPart = isLongerThanWeek(shown.time)
    ? [repetitionsPicture(viewer, shown, goal, now), distancePicture(viewer, shown, now)]
    : []
  const cards = partPictures(viewer, shown.time, shown.daysAddress, [gradePicture(viewer, shown, kinds), ...byPart])
  return html`<div class="charts">${cards}</div>`
}

/** A sentence on what changed. What it is compared with links to the page that shows it. */
function changeText(viewer: Viewer, shown: ShownTraining): Html | string {
  const { query, period, sessions, before, summary } = shown
  const { totals } = summary
  const [first] = sessions
  const count = countText(totals.sessions, 'session')
  const { figures, changes } = figuresText(query, totals, before?.summary.totals)
  if (period === undefined || before === undefined) {
    return first === undefined ? `${noSessions(shown)}.` : `${count} since ${dateText(viewer, first.at)}${figures}.`
  }
  const then = before.sessions.length
  const when = comparedText(period, query.compare)
  const { days } = before
  const link = html`<a href="${addressOf(trainingAddresses, query, { days: [days.first, days.last], compare: undefined })}">${numberText(then)} ${when}</a>`
  if (first === undefined) return then === 0 ? `${noSessions(shown)}.` : html`${noSessions(shown)}; ${link}.`
  const start = `${count} ${periodText(period)}`
  return then === 0 ? `${start}${figures}; nothing ${when} to compare with.` : html`${start}, ${link}${changes}.`
}

function noSessions({ query, period }: ShownTraining): string {
  const when = period === undefined ? '' : ` ${periodText(period)}`
  return isFiltered(query) ? `No session${when} matches the filters` : `No sessions${when}`
}

/** The figures of sessions alone, and how they differ from those before. Of sessions chosen by their result, the rate says nothing. */
function figuresText({ passed, compare }: TrainingQuery, now: Totals, then: Totals | undefined) {
  const rated = passed === undefined
  const rate = `${partText(now.passed, now.sessions)} passed`
  const grade = now.grade === null ? [] : [`mean grade ${now.grade}\u00a0%`]
  const figures = [...(rated ? [rate] : []), ...grade].map(text => `, ${text}`).join('')
  if (then === undefined) return { figures, changes: '' }
  const before = compare === 'year' ? 'a year before' : 'before'
  const change =
    now.grade === null || then.grade === null
      ? []
      : now.grade === then.grade
        ? [`the mean grade stayed at ${now.grade}\u00a0%`]
        : [`the mean grade went from ${then.grade} to ${now.grade}\u00a0%`]
  const rates = rated ? [`${rate} (${partText(then.passed, then.sessions)} ${before})`] : []
  const text = [...rates, ...change].join(', and ')
  return { figures, changes: text === '' ? '' : `. ${capital(text)}` }
}

/** The sums of the period. Of sessions chosen by their result, the rate says nothing. */
function totalTiles(viewer: Viewer, { query, period, summary, compared, before }: ShownTraining): Html {
  const now = summary.totals
  const then = compared === undefined || compared.sessions.length === 0 ? undefined : compared.summary.totals
  const tile = (
    name: string,
    of: string,
    valueOf: (totals: Totals) => number | null,
    text: (value: number) => string,
    differenceText = text,
  ) => {
    return { name, of, value: valueOf(now), before: then && valueOf(then), text, differenceText }
  }
  const points = (value: number) => unbroken(countText(value, 'point'))
  const rate = ({ passed, sessions }: Totals) => roundedRatio(passed * 100, sessions)
  const distance = ({ measured, approximate }: Totals) => (now.distance === null ? null : measured + approximate)
  const figures = [
    tile('Sessions', 'sessions', ({ sessions }) => sessions, numberText),
    ...(query.passed === undefined ? [tile('Passed', 'passedPercent', rate, percentText, points)] : []),
    tile('Mean grade', 'grade', ({ grade }) => grade, percentText, points),
    tile('Repetitions', 'reps', ({ reps }) => reps, numberText),
    tile('Distance', 'distance', distance, value => distanceText(viewer, value)),
  ]
  return figureTiles(figures, {
    scope: scopeOf(query, period),
    compared: compared && { title: compared.title, scope: scopeOf(query, before?.days) },
  })
}
