import { DAY_MS } from '../../../contract/time.ts'
import { notFound } from '../../../contract/errors.ts'
import { countedUntil } from '../../../stats/status.ts'
import { knownYears, type Totals, type YearStatistics, yearStatistics } from '../../../stats/year.ts'
import { zoneClock } from '../../../stats/zone-clock.ts'
import { shortDay } from '../../charts/days.ts'
import { card, facts, noRecords, stat, stats } from '../../layout/components.ts'
import { sharedAreas } from '../../layout/subject-notes.ts'
import { figure, html, type Html, nothing, type Part } from '../../html.ts'
import { type DashboardPage, type Reader, view, type Viewer, type Visit } from '../../page.ts'
import { daysName } from '../../text/period.ts'
import {
  countText,
  longDistanceText,
  durationText,
  NONE,
  numberText,
  partText,
  percentText,
  unbroken,
} from '../../text/text.ts'
import { lockedPercent } from '../locks/charts.ts'
import { lockText } from '../locks/states.ts'
import { stepTo } from '../area.ts'
import { daysCard, drawnDays } from './days.ts'
import { lockedMonths } from './months.ts'
import { recordCard } from './records.ts'

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
    body: html`
      <div class="year">
        ${yearCards(visit, statistics)}
      </div>
    `,
  })
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
export function yearCards(reader: Reader, year: YearStatistics): Html {
  const areas = sharedAreas(reader.viewer)
  return html`
    ${largeFigures(reader.viewer, year)}
    ${recordCard(reader, year)}
    ${daysCard(reader.viewer, drawnDays(year.days), year.year)}
    ${areas.includes('lkbx') ? lockedMonths(reader, year) : nothing}
    ${card(year.isRunning ? 'Totals so far' : 'Totals', facts(totalsOf(reader, year)))}
  `
}

function stepper(years: readonly number[], year: number): Html {
  const step = (rel: 'prev' | 'next', to: number) =>
    stepTo(rel, years.includes(to) ? `/year/${to}` : undefined, String(to))
  return html`<nav class="stepper" aria-label="Years">${step('prev', year - 1)}${step('next', year + 1)}</nav>`
}

/** Four figures of the year, each beside the same days of the year before, if that was known from its start. */
function largeFigures(
  viewer: Viewer,
  { year, isRunning, total, before, firstTraining, firstLock }: YearStatistics,
): Html {
  const clock = zoneClock(viewer.timeZone)
  const title = isRunning ? `${year - 1} to ${shortDay(before.to * DAY_MS)}` : String(year - 1)
  const tile = (
    first: { readonly at: number } | undefined,
    name: string,
    of: string,
    valueOf: (totals: Totals) => number | null,
    [text, differenceText = text]: readonly ((value: number) => string)[],
  ) => {
    const [value, then] = [valueOf(total), valueOf(before)]
    if (value === null || text === undefined || differenceText === undefined) return nothing
    const scopeOf = ({ from, to }: Totals) => daysName({ first: from, last: to })
    const shown = figure(`${of} ${scopeOf(total)}`, value, text(value))
    if (first === undefined || first.at > clock.startOf(before.from) || then === null) return stat(name, shown)
    const difference = value - then
    const how = difference === 0 ? 'the same' : `${difference > 0 ? '+' : '−'}${differenceText(Math.abs(difference))}`
    return stat(name, shown, html`${title}: ${figure(`${of} ${scopeOf(before)}`, then, text(then))} (${how})`)
  }
  const areas = sharedAreas(viewer)
  const points = (value: number) => unbroken(countText(value, 'point'))
  return stats(
    ...(areas.includes('dtt')
      ? [
          tile(firstTraining, 'Training sessions', 'sessions', ({ training }) => training.sessions, [numberText]),
          tile(firstTraining, 'Days with training', 'days', ({ training }) => training.days, [numberText]),
          tile(firstTraining, 'Repetitions', 'reps', ({ training }) => training.reps, [numberText]),
        ]
      : []),
    ...(areas.includes('lkbx')
      ? [
          tile(firstLock, lockText('Time locked', viewer), 'lockedPercent', ({ locks }) => lockedPercent(locks), [
            percentText,
            points,
          ]),
        ]
      : []),
  )
}

interface Row {
  readonly name: string
  readonly of: (totals: Totals) => Part
}

/** The totals of a year as texts, by name. */
export function totalsOf({ viewer }: Reader, year: YearStatistics): (readonly [name: string, value: Part])[] {
  return rowsOf(viewer, year).map(({ name, of }) => [name, of(year.total)])
}

/** The rows of areas that may be read. Of days before the first record, nothing is known. */
function rowsOf(viewer: Viewer, { firstTraining, firstLock }: YearStatistics): readonly Row[] {
  const areas = sharedAreas(viewer)
  const clock = zoneClock(viewer.timeZone)
  const since = (first: { readonly at: number } | undefined, { name, of }: Row): Row => ({
    name: lockText(name, viewer),
    of: totals => (first !== undefined && first.at < clock.startOf(totals.to + 1) ? of(totals) : NONE),
  })
  return [
    ...(areas.includes('dtt') ? trainingRows(viewer).map(row => since(firstTraining, row)) : []),
    ...(areas.includes('lkbx') ? lockRows.map(row => since(firstLock, row)) : []),
  ]
}

function trainingRows(viewer: Viewer): readonly Row[] {
  return [
    { name: 'Training sessions', of: ({ training }) => numberText(training.sessions) },
    { name: 'Passed', of: ({ training: { passed, sessions } }) => ratio(passed, sessions) },
    { name: 'Days with training', of: ({ training }) => numberText(training.days) },
    { name: 'Repetitions', of: ({ training }) => numberText(training.reps) },
    { name: 'Distance', of: ({ training }) => distanceOfYear(viewer, training) },
    { name: 'Training time', of: ({ training: { duration } }) => (duration === 0 ? NONE : durationText(duration)) },
  ]
}

const lockRows: readonly Row[] = [
  { name: 'Time locked', of: ({ locks }) => (locks.percent === null ? NONE : percentText(lockedPercent(locks) ?? 0)) },
  { name: 'Locked', of: ({ locks }) => lengthOf(locks, locks.lockedSeconds) },
  { name: 'On breaks', of: ({ locks }) => lengthOf(locks, locks.breakSeconds) },
  { name: 'Lock sessions begun', of: ({ locks }) => numberText(locks.started) },
  { name: 'Lock sessions ended', of: ({ locks }) => numberText(locks.ended) },
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
