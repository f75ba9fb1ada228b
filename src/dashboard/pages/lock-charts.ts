import { addBuckets, rangeBetween } from '../../contract/calendar.ts'
import { bucketsOf } from '../../stats/buckets.ts'
import { calendarWeeks } from '../../stats/calendar.ts'
import { lockedTimes, lockStatistics } from '../../stats/lock-statistics.ts'
import { wallClock } from '../../stats/periods.ts'
import type { LockStats } from '../../stats/lock-queries.ts'
import { zoneClock } from '../../stats/zone-clock.ts'
import { calendarTable, longDay } from '../charts/calendar.ts'
import { chart, type ChartColumn } from '../charts/charts.ts'
import { html, type Html } from '../html.ts'
import type { Chart, Viewer } from '../page.ts'
import { countText, dateTimeText, durationText, monthText, numberText } from '../text/text.ts'
import { lockText, stateName } from './lock-states.ts'

/** Charts of time under lock. */

const MONTHS = 12

const DAYS_ADDRESS = '/locks?from={from}&to={to}#sessions'

/** The present instant, and the one up to which time under lock counts. */
interface Clock {
  readonly now: number
  readonly until: number
}

export function monthChart(viewer: Viewer, history: readonly LockStats[], { now, until }: Clock): Chart {
  const months = monthsOf(viewer, history, { now, until })
  const average = averageOf(months)
  const [first] = wholeMonths(months)
  return chart<Month>({
    id: 'months',
    chartType: 'bars',
    title: lockText('Locked time by month (h)', viewer),
    summary: lockText(monthSummary(months, average), viewer),
    empty: lockText('No locked time in these months', viewer),
    wide: true,
    data: {
      average: average === null ? undefined : hours(average),
      'average-from': first === undefined ? undefined : wallClock(first.start, viewer.timeZone),
      unit: 'h',
      period: 'month',
      href: DAYS_ADDRESS,
    },
    legend: [
      ...(months.some(({ locked }) => locked > 0) ? ([['solid', stateName('locked', viewer)]] as const) : []),
      ...(months.some(({ open }) => open > 0) ? ([['open', 'Breaks']] as const) : []),
      ...(months.some(({ isCurrent, locked }) => isCurrent && locked > 0)
        ? ([['so-far', 'This month so far']] as const)
        : []),
      ...(average === null ? [] : ([['average', 'Average of whole months']] as const)),
    ],
    columns: monthColumns(viewer, now),
    rows: months,
  })
}

/** Whole months, starting with the first that has a lock session; before it, nothing is known. */
function wholeMonths(months: readonly Month[]): readonly Month[] {
  const whole = months.filter(({ isCurrent, isKnown }) => !isCurrent && isKnown)
  const first = whole.findIndex(({ locked, open }) => locked + open > 0)
  return first === -1 ? [] : whole.slice(first)
}

function averageOf(months: readonly Month[]): number | null {
  const whole = wholeMonths(months)
  return whole.length === 0 ? null : whole.reduce((sum, { locked }) => sum + locked, 0) / whole.length
}

function monthSummary(months: readonly Month[], average: number | null): string {
  const month = months.find(({ isCurrent, isKnown }) => isCurrent && isKnown)
  const current = month?.locked ?? 0
  const now = `${hoursText(current)} this month so far`
  if (average !== null) {
    const count = wholeMonths(months).length
    const of = count === 1 ? 'in the month before' : `in an average month of the last ${count}`
    return month === undefined ? `${hoursText(average)} ${of}.` : `${hoursText(average)} ${of}, ${now}.`
  }
  return current === 0 ? 'No time under lock is known in these months.' : `${now}; no whole month before it.`
}

interface Month {
  readonly start: number
  readonly end: number
  readonly locked: number
  readonly open: number
  readonly isCurrent: boolean
  /** Whether the records are known up to a time in it, or later. */
  readonly isKnown: boolean
}

function monthsOf({ timeZone }: Viewer, history: readonly LockStats[], { now, until }: Clock): Month[] {
  const clock = zoneClock(timeZone)
  const { from } = rangeBetween(
    { unit: 'month', weekStart: 'monday', from: undefined, to: undefined },
    clock.dayOf(now),
  )
  const to = addBuckets('month', from, MONTHS) - 1
  const buckets = bucketsOf({ unit: 'month', weekStart: 'monday', from, to }, clock, now)
  const { buckets: sums } = lockStatistics(history, buckets, until)
  return buckets.map(({ start, end, partial }, index) => {
    const { lockedSeconds = 0, breakSeconds = 0 } = sums[index] ?? {}
    const isKnown = start <= until
    return { start, end, locked: lockedSeconds * 1000, open: breakSeconds * 1000, isCurrent: partial, isKnown }
  })
}

function monthColumns(viewer: Viewer, now: number): ChartColumn<Month>[] {
  return [
    {
      key: 'start',
      title: 'Month',
      cell: ({ start, isCurrent }) => `${monthText(viewer, start)}${isCurrent ? ' (so far)' : ''}`,
      value: ({ start }) => wallClock(start, viewer.timeZone),
    },
    {
      key: 'end',
      title: 'Until',
      cell: ({ end }) => dateTimeText(viewer, Math.min(end, now)),
      value: ({ end }) => wallClock(end, viewer.timeZone),
    },
    {
      key: 'current',
      title: 'Whole',
      cell: ({ isCurrent }) => (isCurrent ? 'So far' : 'Yes'),
      value: ({ isCurrent }) => (isCurrent ? 1 : 0),
    },
    {
      key: 'locked',
      title: lockText('Locked (h)', viewer),
      series: 'solid',
      value: ({ locked }) => hours(locked),
    },
    {
      key: 'open',
      title: 'Breaks (h)',
      series: 'open',
      value: ({ open }) => hours(open),
    },
  ]
}

const WEEKS = 26

export function lockCalendar(viewer: Viewer, history: readonly LockStats[], { now, until }: Clock): Html {
  const locked = lockedTimes(history, until)
  const weeks = calendarWeeks({ items: history, locked }, now, viewer.timeZone, WEEKS)
  const under = weeks.flat().filter(day => day.locked > 0).length
  return html`
    <section class="card">
      <div class="card-head"><h2>Days</h2></div>
      <p class="summary">${lockText(`${countText(under, 'day')} with time under lock in ${WEEKS} weeks.`, viewer)}</p>
      ${calendarTable(lockText('Days under lock', viewer), weeks, ({ date, start, end, locked }) => {
        const session = history.findLast(({ intervals }) =>
          intervals.some(one => one.locked && one.start < end && one.end > start),
        )
        const isWhole = locked >= (Math.min(end, now) - start) * WHOLE_DAY_SHARE
        return {
          look: locked === 0 ? 'none' : isWhole ? 'more' : 'one',
          text: `${longDay(date)}: ${lockText(locked === 0 ? 'not locked' : `${durationText(locked / 1000)} under lock`, viewer)}`,
          to: session === undefined ? undefined : `/locks/${session.id}`,
        }
      })}
      <ul class="legend">
        <li><i class="day one"></i>Part of the day</li>
        <li><i class="day more"></i>Nearly all of it</li>
      </ul>
    </section>
  `
}

/** The share of a day that must be locked for it to count as a whole day: breaks are allowed. */
const WHOLE_DAY_SHARE = 0.8

/** In the unit of the axis. */
function hoursText(milliseconds: number): string {
  return `${numberText(hours(milliseconds))}\u00a0h`
}

function hours(milliseconds: number): number {
  return Math.round(milliseconds / 360_000) / 10
}
