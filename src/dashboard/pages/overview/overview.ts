import { hash } from 'node:crypto'
import { lockStatus } from '../../../stats/status.ts'
import { bucketsOf } from '../../../stats/buckets.ts'
import { type LockHistory, lockHistory } from '../../../stats/lock-history.ts'
import { activeLock, locksSince, newestLock } from '../../../stats/lock-queries.ts'
import { lockStatistics, withoutPractice } from '../../../stats/lock-statistics.ts'
import { trainingHistory } from '../../../stats/training-history.ts'
import { endOfTomorrow, zoneClock } from '../../../stats/zone-clock.ts'
import { bothWays, emptyState } from '../../layout/components.ts'
import { html, type Html, nothing } from '../../html.ts'
import { type DashboardPage, type LiveState, type Reader, view, type Visit } from '../../page.ts'
import { DEFAULT_PRESET, periodFor } from '../../text/period.ts'
import { agoText, countText, unbroken } from '../../text/text.ts'
import { lockVerdict } from '../locks/locks.ts'
import { example, EXAMPLE_OVERVIEW } from '../example.ts'
import { headline } from '../locks/time.ts'
import { sourceNotice } from '../source/states.ts'
import { readTraining, weekVerdict } from '../training/training.ts'
import { newsOf } from './news.ts'
import { weekVerdicts } from '../parts.ts'
import { lastSession, lockCard, STRIP_DAYS, thisWeek, weeksCard } from './tiles.ts'
import { listReads } from '../../../accounts/read-log-queries.ts'
import { DAY_MS, HOUR_MS } from '../../../contract/time.ts'
import { countedUntil } from '../../../stats/known-time.ts'
import { readPrograms } from '../../text/names.ts'
import { shownLocks } from '../locks/list.ts'
import { trainingAddresses } from '../training/list.ts'
import { yearLine } from '../year/year.ts'

export const overviewPages: readonly DashboardPage[] = [
  { section: 'overview', reads: 'statistics', area: 'both', path: '/', handler: showOverview },
  { section: null, reads: 'statistics', area: 'both', path: '/live', handler: readLive },
]

/** The page answers "is it locked, what is new, how am I doing?" in this order. */
async function showOverview(visit: Visit) {
  const { viewer } = visit
  const isOwn = viewer.subject.id === viewer.session.accountId
  const [shown, notice] = await Promise.all([
    readOverview(visit, isOwn ? viewer.session.weeklyGoal : null),
    sourceNotice(visit),
  ])
  if (shown === undefined && !isOwn)
    return view({ title: 'Overview', body: emptyState('Nothing here yet', 'There are no records that you may read.') })
  if (shown === undefined)
    return view({
      title: 'Overview',
      heading: html`Bring your records in`,
      lead: 'Lockstep keeps your lock and training history and shows how it goes. Choose a way to bring it in.',
      body: html`${notice}${bothWays}${!visit.viewer.discreet && example(...EXAMPLE_OVERVIEW)}`,
    })
  const { heading, verdict, news, cards, trained, locked } = shown
  const since = await sinceLastLook(visit, trained, locked)
  return view({
    title: 'Overview',
    heading: heading && html`<span data-live="state">${heading}</span>`,
    lead: html`${since}${verdict && html`<span class="news" data-live="verdict">${verdict}</span>`}<span class="news" data-live="news">${news}</span>`,
    body: html`${notice}${cards}`,
  })
}

/** What the lock is doing, what is new, and the cards of the present; undefined without records. */
export async function readOverview(reader: Reader, goal: number | null) {
  const { store, viewer, pageAccess, now } = reader
  const { timeZone } = viewer
  const isOwn = viewer.subject.id === viewer.session.accountId
  const access = pageAccess.sessions('lkbx')
  const until = countedUntil(viewer.asOf, now)
  const clock = zoneClock(timeZone)
  const today = clock.dayOf(now)
  const limit = endOfTomorrow(clock, today)
  const query = { preset: DEFAULT_PRESET } as const
  const period = periodFor(query, now, timeZone)
  const [history, locks, last, current, programs] = await Promise.all([
    trainingHistory(store, pageAccess.sessions('dtt')),
    lockHistory(store, access),
    newestLock(store, access, limit, until),
    activeLock(store, access, until),
    readPrograms(reader),
  ])
  if (history.sessions.length === 0 && locks.entries.length === 0) return undefined
  const asked = { ...trainingAddresses.read({ query: new URLSearchParams(), viewer }), ...query }
  const training = await readTraining(reader, asked, period)
  const shownLock = locks.entries.length === 0 ? undefined : await shownLocks(reader, locks, query, period)
  const locked = await lockedByDay(reader, locks, until)
  const news =
    training &&
    newsOf({
      reader,
      sessions: history.sessions,
      bests: await history.bests(timeZone, today),
      stretches: await locks.longest(until, limit),
      programs,
    })
  const verdicts = [training && weekVerdict(training.week), lockVerdict(viewer, shownLock?.judged)]
  const cards = html`
    <div class="tiles" data-live="tiles">
      ${lockCard(reader, current, last, locked)}
      ${training === undefined ? nothing : thisWeek(reader, training, goal)}
      ${await lastSession(reader, history.sessions, programs, limit)}
    </div>
    ${weeksCard(reader, training, shownLock)}
    ${await yearLine(reader)}
  `
  return {
    // Of somebody else, what is new since the last look comes before how the week stands.
    heading: headline(reader, current, last, until, ...(isOwn ? verdicts : [])),
    verdict: isOwn ? undefined : weekVerdicts(viewer, now, ...verdicts),
    news,
    cards,
    trained: history.sessions,
    locked: locks.entries,
  }
}

/** How much was locked of each of the last days. */
async function lockedByDay({ store, viewer, pageAccess, now }: Reader, { since }: LockHistory, until: number) {
  const clock = zoneClock(viewer.timeZone)
  const to = clock.dayOf(now)
  const from = to + 1 - STRIP_DAYS
  const locks = await locksSince(store, pageAccess.sessions('lkbx'), until, clock.startOf(from))
  const days = bucketsOf({ unit: 'day', weekStart: 'monday', from, to }, clock, now)
  const [{ buckets }] = await lockStatistics(withoutPractice(locks), { since, until }, [days])
  return buckets
}

/**
 * What somebody else has recorded since the viewer last looked at it here: before this hour, because the log of reads counts by
 * hours. Nothing for one's own records, and at the first look.
 */
async function sinceLastLook(
  { store, viewer, now }: Visit,
  trained: readonly { readonly id: number; readonly at: number }[],
  locked: typeof trained,
): Promise<Html> {
  const { accountId: readerId } = viewer.session
  if (viewer.subject.id === readerId) return nothing
  const beforeAt = now - (now % HOUR_MS)
  const reads = await listReads(store, viewer.subject.id, { readerId, beforeAt, limit: MAX_READS })
  const last = reads.find(({ via }) => via === 'dashboard')
  if (last === undefined) return nothing
  const since = last.hour + HOUR_MS
  const newOf = (records: typeof trained, path: string, name: string) => {
    const found = records.filter(({ at }) => at >= since && at <= now)
    const text = html`${unbroken(countText(found.length, name))}`
    return found.length > 1 ? [text] : found.map(({ id }) => html`<a href="${path}/${id}">${text}</a>`)
  }
  const news = [...newOf(trained, '/training', 'training session'), ...newOf(locked, '/locks', 'lock')]
  const text = news.map((one, index) => html`${index > 0 && ' and '}${one}`)
  return html`<span class="news"><strong>Since you last looked, ${agoText(viewer, since, now)}: ${text.length === 0 ? 'nothing new' : text}</strong></span><br>`
}

/** Keys of the viewer read in between. */
const MAX_READS = 200

/** Open pages request this once a minute: its validator changes when they have to be rendered again. */
async function readLive({ store, viewer, pageAccess, now }: Visit): Promise<LiveState> {
  const { subject, session, asOf, timeZone } = viewer
  const [lock, history] = await Promise.all([
    activeLock(store, pageAccess.sessions('lkbx'), now),
    trainingHistory(store, pageAccess.sessions('dtt')),
  ])
  const status = lockStatus(lock, { isOwner: subject.id === session.accountId, asOf, now })
  const { elapsed, remaining: _remaining, ...locked } = status
  const day = Math.floor((elapsed ?? 0) / DAY_MS)
  const { last, ...training } = await history.status(timeZone, now)
  const isFresh = countedUntil(asOf, now) === now
  const state = JSON.stringify([subject.id, isFresh, locked, day, last?.id, training])
  return { shape: 'live', etag: `"${hash('sha256', state, 'base64url').slice(0, 22)}"` }
}
