import { DAY_MS } from '../../../contract/time.ts'
import { notFound } from '../../../contract/errors.ts'
import { knownYears, type Totals, type YearStatistics, yearStatistics } from '../../../stats/year.ts'
import { zoneClock } from '../../../stats/zone-clock.ts'
import { card, facts, noRecords, stat, stats } from '../../layout/components.ts'
import { figure, html, type Html, nothing, type Part } from '../../html.ts'
import { type DashboardPage, type Reader, view, type Viewer, type Visit, sharedAreas } from '../../page.ts'
import { daysName, timeOfDays } from '../../text/period.ts'
import {
  countText,
  longDistanceText,
  durationText,
  NONE,
  numberText,
  partText,
  percentText,
  unbroken,
  shortDay,
} from '../../text/text.ts'
import { lockedPercent, shares } from '../locks/charts.ts'
import { lockText } from '../locks/states.ts'
import { stepTo } from '../area.ts'
import { inParts, partPictures } from '../parts.ts'
import { daysCard } from './days.ts'
import { recordCard } from './records.ts'
import { countedUntil } from '../../../stats/known-time.ts'

/** A calendar year on one sheet. */

const OF_YEAR = { section: 'year', reads: 'statistics', area: 'both' } as const

export const yearPages: readonly DashboardPage[] = [
  { ...OF_YEAR, path: '/year', handler: showYear },
  { ...OF_YEAR, path: '/year/:id', handler: showYear },
]

async function showYear(visit: Visit) {
  const { viewer } = visit
  const years = await yearsOf(visit)
  const current = years.at(-1) ?? 0
  const year = visit.path === '/year' ? current : visit.id
  if (!years.includes(year)) throw notFound('Year')
  const statistics = await readYear(visit, year)
  if (statistics.firstTraining === undefined && statistics.firstLock === undefined) {
    return view({
      title: `Year ${year}`,
      body: noRecords(
        viewer,
        'Nothing here yet',
        lockText(
          'This page will show the totals of the year, each of its days, and the highest values so far.',
          viewer,
        ),
      ),
    })
  }
  return view({
    title: `Year ${year}`,
    actions: stepper(years, year),
    body: yearCards(visit, statistics),
  })
}

/** The percent of time locked by month. */
function lockedMonths({ viewer, now }: Reader, { year, total, months }: YearStatistics): Html {
  if (total.locks.percent === null) return nothing
  const days = { first: total.from, last: Math.min(total.to, zoneClock(viewer.timeZone).dayOf(now)) }
  const time = inParts(timeOfDays(days, viewer.timeZone), now, viewer, 'month')
  const picture = shares(viewer, { buckets: months, time }, `months-${year}`)
  return partPictures(viewer, time, '/locks?from={from}&to={to}', [picture], `figures-${year}`)
}

/** The years that have a page, the oldest first. */
export function yearsOf(reader: Reader): Promise<number[]> {
  return knownYears(reader.store, accessOf(reader), clockOf(reader))
}

export function readYear(reader: Reader, year: number): Promise<YearStatistics> {
  return yearStatistics(reader.store, accessOf(reader), { year, ...clockOf(reader) })
}

function accessOf({ pageAccess }: Reader) {
  return { training: pageAccess.sessions('dtt'), locks: pageAccess.sessions('lkbx') }
}

function clockOf({ viewer, now }: Reader) {
  return { timeZone: viewer.timeZone, now, until: countedUntil(viewer.asOf, now) }
}

/** Everything that is known of a year. */
export function yearCards(reader: Reader, statistics: YearStatistics): Html {
  const { viewer } = reader
  const { year, days, isRunning } = statistics
  const others = figuresOf(viewer, statistics).filter(({ of }) => of === undefined)
  return html`
    ${largeFigures(viewer, statistics)}
    ${recordCard(reader, statistics)}
    ${daysCard(viewer, days, year)}
    ${sharedAreas(viewer).includes('lkbx') ? lockedMonths(reader, statistics) : nothing}
    ${card(isRunning ? 'Totals so far' : 'Totals', facts(others.map(({ name, text }) => [name, text(statistics.total)])))}
  `
}

function stepper(years: readonly number[], year: number): Html {
  const step = (rel: 'prev' | 'next', to: number) =>
    stepTo(rel, years.includes(to) ? `/year/${to}` : undefined, String(to))
  return html`<nav class="stepper" aria-label="Years">${step('prev', year - 1)}${step('next', year + 1)}</nav>`
}

/** The large figures of the year, each beside the same days of the year before, if that was known from its start. */
function largeFigures(viewer: Viewer, statistics: YearStatistics): Html {
  const { year, isRunning, total, before } = statistics
  const start = zoneClock(viewer.timeZone).startOf(before.from)
  const title = isRunning ? `${year - 1} to ${shortDay(before.to * DAY_MS)}` : String(year - 1)
  const scopeOf = ({ from, to }: Totals) => daysName({ first: from, last: to })
  const shown = figuresOf(viewer, statistics).flatMap(
    ({ name, of, first, value, text, differenceText = numberText }) => {
      const [now, then] = [value?.(total) ?? null, value?.(before) ?? null]
      if (of === undefined || now === null) return []
      const current = figure(`${of} ${scopeOf(total)}`, now, text(total))
      if (first === undefined || first.at > start || then === null) return [stat(name, current)]
      const sign = now > then ? '+' : '−'
      const how = now === then ? 'the same' : `${sign}${differenceText(Math.abs(now - then))}`
      return [stat(name, current, html`${title}: ${figure(`${of} ${scopeOf(before)}`, then, text(before))} (${how})`)]
    },
  )
  return stats(...shown)
}

interface YearFigure {
  readonly name: string
  readonly text: (totals: Totals) => string
  /** The first record of its area. */
  readonly first?: { readonly at: number } | undefined
  /** Of large ones: what they are of, and their value, which is null if it is not known. */
  readonly of?: string
  readonly value?: (totals: Totals) => number | null
  readonly differenceText?: (value: number) => string
}

/** The figures of a year as texts, by name. */
export function totalsOf({ viewer }: Reader, year: YearStatistics): (readonly [name: string, value: Part])[] {
  return figuresOf(viewer, year).map(({ name, text }) => [name, text(year.total)])
}

/** The figures of areas that may be read. Of days before the first record, nothing is known. */
function figuresOf(viewer: Viewer, { firstTraining, firstLock, total }: YearStatistics): YearFigure[] {
  const areas = sharedAreas(viewer)
  const end = zoneClock(viewer.timeZone).startOf(total.to + 1)
  const since = (first: YearFigure['first'], all: readonly YearFigure[]): YearFigure[] =>
    all.map(({ name, text, ...figure }) => {
      const isKnown = first !== undefined && first.at < end
      return { ...figure, first, name: lockText(name, viewer), text: totals => (isKnown ? text(totals) : NONE) }
    })
  return [
    ...(areas.includes('dtt') ? since(firstTraining, trainingFigures(viewer)) : []),
    ...(areas.includes('lkbx') ? since(firstLock, lockFigures) : []),
  ]
}

function trainingFigures(viewer: Viewer): readonly YearFigure[] {
  const count = (name: string, of: string, value: (training: Totals['training']) => number): YearFigure => {
    return { name, of, value: ({ training }) => value(training), text: ({ training }) => numberText(value(training)) }
  }
  return [
    count('Training sessions', 'sessions', ({ sessions }) => sessions),
    count('Days with training', 'days', ({ days }) => days),
    count('Repetitions', 'reps', ({ reps }) => reps),
    { name: 'Passed', text: ({ training: { passed, sessions } }) => ratio(passed, sessions) },
    { name: 'Distance', text: ({ training }) => distanceOfYear(viewer, training) },
    { name: 'Training time', text: ({ training: { duration } }) => (duration === 0 ? NONE : durationText(duration)) },
  ]
}

const lockFigures: readonly YearFigure[] = [
  {
    name: 'Time locked',
    of: 'lockedPercent',
    value: ({ locks }) => lockedPercent(locks),
    text: ({ locks }) => (locks.percent === null ? NONE : percentText(lockedPercent(locks) ?? 0)),
    differenceText: value => unbroken(countText(value, 'point')),
  },
  { name: 'Locked', text: ({ locks }) => lengthOf(locks, locks.lockedSeconds) },
  { name: 'On breaks', text: ({ locks }) => lengthOf(locks, locks.breakSeconds) },
  { name: 'Lock sessions begun', text: ({ locks }) => numberText(locks.started) },
  { name: 'Lock sessions ended', text: ({ locks }) => numberText(locks.ended) },
]

/** A time of which something is known. */
function lengthOf({ percent }: Totals['locks'], seconds: number): string {
  if (percent === null) return NONE
  return seconds === 0 ? 'None' : durationText(seconds)
}

/** `150 (70 %)`: how many of all, and their part in percent. */
function ratio(count: number, all: number): string {
  return all === 0 ? NONE : `${numberText(count)} (${partText(count, all)})`
}

/** A distance, marked if some of it may be an estimate. */
function distanceOfYear(viewer: Viewer, training: Totals['training']): string {
  const { sessions, unknownDistances, distance, approximateDistance } = training
  if (sessions > 0 && unknownDistances === sessions) return NONE
  return `${approximateDistance > 0 ? '≈ ' : ''}${longDistanceText(viewer, distance + approximateDistance)}`
}
