import { DAY_MS, formatDate } from '../../../contract/time.ts'
import { notFound } from '../../../contract/errors.ts'
import {
  knownYears,
  type KnownDay,
  type Totals,
  type YearStatistics,
  yearsTogether,
  yearStatistics,
} from '../../../stats/year.ts'
import { trainingHistory } from '../../../stats/training-history.ts'
import { zoneClock } from '../../../stats/zone-clock.ts'
import { SECOND, card, dotted, noRecords, stat, table, type TableColumn } from '../../layout/components.ts'
import { figure, html, type Html, nothing } from '../../html.ts'
import { type DashboardPage, type Reader, view, type Viewer, type Visit } from '../../page.ts'
import { daysName, timeOfDays } from '../../text/period.ts'
import {
  capital,
  countText,
  longDistanceText,
  durationText,
  hoursText,
  minutesText,
  numberText,
  partText,
  percentText,
  shortDay,
  dateText,
  yearOf,
} from '../../text/text.ts'
import { shareBars } from '../locks/locks.ts'
import { lockedPercent } from '../locks/list.ts'
import { lockText } from '../locks/states.ts'
import { type Figure, figureTiles, stepTo } from '../area.ts'
import { example, EXAMPLE_YEAR } from '../example.ts'
import { barPicture, boundaries, GRADES, inParts, rangeText } from '../parts.ts'
import { amountBars, gradePicture, type ShownSessions } from '../training/pictures.ts'
import { countedUntil } from '../../../stats/known-time.ts'
import { patterns } from '../../charts/plane.ts'
import { daysCalendar, shadesOf } from '../../charts/days.ts'

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
  const title = `Year ${year}`
  if (statistics.firstTraining === undefined && statistics.firstLock === undefined) {
    const text = 'This page will show the totals of the year, each of its days, and the highest values so far.'
    return view({ title, body: noRecords(viewer, 'Nothing here yet', lockText(text, viewer), example(EXAMPLE_YEAR)) })
  }
  const step = (rel: 'prev' | 'next', to: number) =>
    stepTo(rel, years.includes(to) ? `/year/${to}` : undefined, String(to))
  const actions = html`<nav class="stepper" aria-label="Years">${step('prev', year - 1)}${step('next', year + 1)}</nav>`
  return view({
    title,
    actions,
    lead: html`<span class="news">${daysNews(viewer, knownDays(viewer, statistics))}</span>`,
    body: html`${await yearCards(visit, statistics)}${await allYears(visit)}`,
  })
}

/** The months of a year from a record on, in which something is known; fewer than three would fill no picture. */
function monthsFrom(record: { readonly at: number } | undefined, { viewer, now }: Reader, { total }: YearStatistics) {
  if (record === undefined) return undefined
  const { dayOf } = zoneClock(viewer.timeZone)
  const days = { first: Math.max(total.from, dayOf(record.at)), last: Math.min(total.to, dayOf(now)) }
  const time = inParts(timeOfDays(days, viewer.timeZone), now, viewer, 'month')
  return time.parts.length < MIN_MONTHS ? undefined : time
}

async function trainingByMonth(reader: Reader, statistics: YearStatistics): Promise<ShownSessions | undefined> {
  const time = monthsFrom(statistics.firstTraining, reader, statistics)
  if (time === undefined) return undefined
  const history = await trainingHistory(reader.store, reader.pageAccess.sessions('dtt'))
  const selection = await history.select({}, time.from, time.to)
  const summary = await history.summary(selection, boundaries(time.parts))
  const { sessions } = selection
  return { sessions, summary, time, daysAddress: '/training?from={from}&to={to}', suffix: `-${statistics.year}` }
}

/** Grades, repetitions and the percent of time locked, by month. */
async function monthPictures(reader: Reader, statistics: YearStatistics): Promise<Html> {
  const { viewer, now } = reader
  const { year, months, firstLock } = statistics
  const locked = monthsFrom(firstLock, reader, statistics)
  const trained = await trainingByMonth(reader, statistics)
  const buckets = locked === undefined ? [] : months.slice(-locked.parts.length)
  const cards = [
    trained && gradePicture(viewer, trained),
    trained && barPicture(viewer, amountBars(viewer, trained, now)),
    locked && barPicture(viewer, shareBars(viewer, { buckets, time: locked, earlier: undefined }, `months-${year}`)),
  ].filter(one => one !== undefined)
  return cards.length === 0 ? nothing : html`<div class="charts">${patterns}${cards}</div>`
}

const MIN_MONTHS = 3

/** The years that have a page, the oldest first. */
export function yearsOf(reader: Reader): Promise<number[]> {
  return knownYears(reader.store, ...askedBy(reader))
}

export function readYear(reader: Reader, year: number): Promise<YearStatistics> {
  const [access, clock] = askedBy(reader)
  return yearStatistics(reader.store, access, { year, ...clock })
}

function askedBy({ viewer, pageAccess, now }: Reader) {
  const access = { training: pageAccess.sessions('dtt'), locks: pageAccess.sessions('lkbx') }
  return [access, { timeZone: viewer.timeZone, now, until: countedUntil(viewer.asOf, now) }] as const
}

/** Everything that is known of a year. */
export async function yearCards(reader: Reader, statistics: YearStatistics): Promise<Html> {
  const { viewer } = reader
  return html`
    ${largeFigures(viewer, statistics)}
    ${recordCard(reader, statistics)}
    ${daysCard(viewer, knownDays(viewer, statistics))}
    ${await monthPictures(reader, statistics)}
  `
}

/** The figures of all years, the newest first, and from when on the first one has some. Of an area that may not be read nothing is known. */
export async function allYears(reader: Reader): Promise<Html> {
  const years = await yearsTogether(reader.store, ...askedBy(reader))
  if (years.length < 2) return nothing
  const title = lockText('Time locked', reader.viewer)
  type Column = TableColumn<(typeof years)[number]>
  const training: readonly Column[] = [
    { ...SECOND, title: 'Training sessions', unit: ' sessions', cell: ({ sessions }) => numberText(sessions) },
    { ...SECOND, title: 'Median grade', line: 'first', unit: ' grade', cell: ({ grade }) => percentText(grade) },
    { ...SECOND, title: 'Repetitions', unit: ' reps', cell: ({ reps }) => numberText(reps) },
  ]
  const cell: Column['cell'] = ({ locks }) => percentText(lockedPercent(locks))
  const share: Column = { ...SECOND, title, before: `${title} `, cell }
  const { dayOf } = zoneClock(reader.viewer.timeZone)
  const thisYear = Number(yearOf(reader.viewer, reader.now))
  const partText = ({ year, since }: (typeof years)[number]) =>
    since !== undefined ? `since ${shortDay(dayOf(since) * DAY_MS)}` : year === thisYear && 'so far'
  const shown: readonly Column[] = [
    {
      title: 'Year',
      line: 'first',
      cell: year =>
        html`<a href="/year/${year.year}">${year.year}</a> <span class="small muted nowrap">${partText(year)}</span>`,
    },
    ...(years.some(({ sessions }) => sessions > 0) ? training : []),
    ...(years.some(one => one.locks.knownSeconds > 0) ? [share] : []),
  ]
  return card('All years', table('All years', shown, years.toReversed()), { id: 'years' })
}

/** Of days before the first record nothing is known. */
function knownDays(viewer: Viewer, { days, firstTraining, firstLock }: YearStatistics): readonly KnownDay[] {
  const { startOf } = zoneClock(viewer.timeZone)
  return days.filter(({ day }) => startOf(day + 1) > Math.min(firstTraining?.at ?? Infinity, firstLock?.at ?? Infinity))
}

/** `Trained on 179 and locked on 199 of 333 days` */
function daysNews(viewer: Viewer, days: readonly KnownDay[]): string {
  const counts = [
    ['trained', days.filter(({ sessions }) => sessions > 0).length],
    [lockText('locked', viewer), days.filter(({ lockedSeconds }) => lockedSeconds > 0).length],
  ] as const
  const texts = counts.flatMap(([done, count]) => (count === 0 ? [] : `${done} on ${numberText(count)}`))
  return capital(`${texts.join(' and ') || 'nothing on any'} of ${countText(days.length, 'day')}`)
}

/** This year in a line, which leads to its page. */
export async function yearLine(reader: Reader): Promise<Html> {
  const { viewer, now } = reader
  const year = Number(yearOf(viewer, now))
  const statistics = await readYear(reader, year)
  const facts = figuresOf(viewer, statistics).flatMap(({ name, of, value, text }) =>
    value === null ? [] : html`${name} ${figure(`${of} ${scopeOf(statistics.total)}`, value, text(value))}`,
  )
  return html`<p>${dotted(html`<a href="/year">Year ${year}</a>`, ...facts)}</p>`
}

/** The large figures of the year, each beside the same days of the year before, if that was known from its start. */
function largeFigures(viewer: Viewer, statistics: YearStatistics): Html {
  const { year, isRunning, total, before } = statistics
  const time = `in ${year - 1}${isRunning ? ` until ${shortDay(before.to * DAY_MS)}` : ''}`
  const figures = figuresOf(viewer, statistics).filter(({ value }) => value !== null)
  const days = { text: time, scope: scopeOf(before), address: `/year/${year - 1}` } as const
  return figureTiles(figures, scopeOf(total), days, true)
}

function scopeOf({ from, to }: Totals): string {
  return daysName({ first: from, last: to })
}

/** Of days before the first record of its area nothing is known. */
function figuresOf(viewer: Viewer, { firstTraining, firstLock, total, before }: YearStatistics): Figure[] {
  const { startOf } = zoneClock(viewer.timeZone)
  const [start, end] = [startOf(before.from), startOf(total.to + 1)]
  const { training, locks } = total
  const { sessions, passed, duration } = training
  const figures = (
    first: { readonly at: number } | undefined,
    ofArea: readonly (Omit<Figure, 'value'> & { readonly valueOf: (totals: Totals) => number | null })[],
  ) =>
    ofArea.map(({ valueOf, ...one }): Figure => {
      const isKnown = first !== undefined && first.at < end
      return {
        ...one,
        value: isKnown ? valueOf(total) : null,
        before: isKnown && first.at <= start ? valueOf(before) : undefined,
      }
    })
  const hours = duration > 0 && html`<br>${hoursText(duration)} of training`
  const rate = html`${numberText(passed)} passed (${partText(passed, sessions)})${hours}`
  const distance = distanceOfYear(viewer, training)
  const name = lockText('Time locked', viewer)
  const lockedTime = html`${durationText(locks.lockedSeconds)}<br>${countText(locks.started, 'lock')} begun`
  return [
    ...figures(firstTraining, [
      {
        name: 'Training sessions',
        of: 'sessions',
        valueOf: of => of.training.sessions,
        text: numberText,
        note: sessions > 0 ? rate : undefined,
      },
      { name: 'Median grade', of: 'medianGrade', valueOf: of => of.training.grade, ...GRADES },
      { name: 'Repetitions', of: 'reps', valueOf: of => of.training.reps, text: numberText, note: distance },
    ]),
    ...figures(firstLock, [
      { name, of: 'lockedPercent', valueOf: of => lockedPercent(of.locks), ...GRADES, note: lockedTime },
    ]),
  ]
}

/** A distance, marked if some of it may be an estimate. */
function distanceOfYear(viewer: Viewer, training: Totals['training']): string {
  const { sessions, unknownDistances, distance, approximateDistance } = training
  if (sessions === unknownDistances) return ''
  return `Distance ${approximateDistance > 0 ? '≈ ' : ''}${longDistanceText(viewer, distance + approximateDistance)}`
}

/** The highest values up to the end of a year, as links, and when they were. */
function recordCard({ viewer }: Reader, { year, isRunning, bests, stretch }: YearStatistics): Html {
  const [week, session, days, locked] = [bests.week?.best, bests.session?.best, bests.longest?.best, stretch?.best]
  const dayOf = (date: string | number) => dateText({ timeZone: 'UTC' }, new Date(date).getTime())
  const addressOf = ({ from, to }: NonNullable<typeof week | typeof days>) => `/training?from=${from}&to=${to}`
  const record = (name: string, address: string, value: string, when: string) =>
    stat(name, html`<a href="${address}">${value}</a>`, when)
  const began = locked === undefined ? '' : dateText(viewer, locked.session.at)
  const records = [
    week && record('Reps in a week', addressOf(week), numberText(week.reps), `week of ${dayOf(week.from)}`),
    session && record('Reps in a session', `/training/${session.id}`, numberText(session.reps), dayOf(session.at)),
    days && record('Days trained in a row', addressOf(days), countText(days.days, 'day'), `up to ${dayOf(days.to)}`),
    locked && record('Longest stretch', `/locks/${locked.session.id}`, minutesText(locked.seconds * 1000, true), began),
  ].filter(one => one !== undefined)
  const title = isRunning ? 'Best of all years' : `Best up to the end of ${year}`
  return records.length === 0 ? nothing : card(title, html`<dl class="stats">${records}</dl>`)
}

/** Each day, with both areas. */
function daysCard(viewer: Viewer, days: readonly KnownDay[]): Html {
  const trained = days.flatMap(({ sessions, reps }) => (sessions > 0 ? [reps] : [])).toSorted((a, b) => a - b)
  const shadeOf = shadesOf(trained)
  const lasts = [...Map.groupBy(trained, shadeOf)].map(([shade, of]) => [shade, of.at(-1) ?? 0] as const)
  return card(
    'Days',
    html`
      ${daysCalendar(days.map(day => dayLook(viewer, day, `${day.sessions === 0 ? 'none' : shadeOf(day.reps)}${day.lockedSeconds > 0 ? ' under' : ''}`)))}
      <ul class="legend">
        ${trained.length > 0 ? html`<li>Repetitions${lasts.length === 4 && ', four equal groups of days'}:</li>${lasts.map(([shade, high], index) => html`<li><i class="day ${shade}"></i>\u00a0${rangeText({ low: index === 0 ? (trained[0] ?? 0) : (lasts[index - 1]?.[1] ?? 0) + 1, high })}</li>`)}<li><i class="day none"></i>\u00a0Not trained</li>` : nothing}
        ${days.some(({ lockedSeconds }) => lockedSeconds > 0) ? html`<li><i class="day none under"></i>\u00a0${lockText('Locked', viewer)}</li>` : nothing}
      </ul>
    `,
    { id: 'days' },
  )
}

function dayLook(viewer: Viewer, { day, sessions, reps, lockedSeconds }: KnownDay, look: string) {
  const date = formatDate(day)
  if (sessions === 0 && lockedSeconds === 0) return { date, look: 'none', text: '' }
  const text = [
    ...(sessions > 0 ? [countText(sessions, 'session'), countText(reps, 'rep')] : []),
    ...(lockedSeconds > 0 ? [lockText(`${hoursText(lockedSeconds)} locked`, viewer)] : []),
  ]
  return {
    date,
    look,
    text: `${shortDay(Date.parse(date))}: ${text.join(', ')}`,
    to: `/${sessions > 0 ? 'training' : 'locks'}?day=${date}`,
  }
}
