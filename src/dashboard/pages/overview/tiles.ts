import { sum } from '../../../contract/numbers.ts'
import { DAY_MS, formatDate } from '../../../contract/time.ts'
import type { TrainingSession } from '../../../contract/training-sessions.ts'
import { gradeRank } from '../../../stats/bests.ts'
import type { LockStats } from '../../../stats/lock-queries.ts'
import type { LockStatistics } from '../../../stats/lock-statistics.ts'
import { type SessionStats, sessionsBetween } from '../../../stats/training.ts'
import { programs as programQueries } from '../../../stats/program-queries.ts'
import { trainingRecords } from '../../../stats/training-queries.ts'
import { usualOfProgram } from '../../../stats/usual.ts'
import { zoneClock } from '../../../stats/zone-clock.ts'
import { WEEKDAYS } from '../../charts/days.ts'
import { patterns } from '../../charts/plane.ts'
import { card, resultMark, dotted, stat } from '../../layout/components.ts'
import { figure, html, type Html, nothing, type Part } from '../../html.ts'
import { recordName, programLink, type Programs } from '../../text/names.ts'
import type { Reader, Viewer } from '../../page.ts'
import { daysName, daysText } from '../../text/period.ts'
import { countText, durationText, numberText, partText, percentText, timeAgo, shortDay } from '../../text/text.ts'
import { knownEnd, lockText, practiceMark, readLock } from '../locks/states.ts'
import { endAhead, lockTime, plannedEndStat, progressBar, tickingTime } from '../locks/time.ts'
import { lockedFigure, shareBars } from '../locks/locks.ts'
import { barStrip, dayBars, rangeText, weekBars } from '../parts.ts'
import { amountBars, gradeStrip } from '../training/pictures.ts'
import { failedNote, gradeNote, lastGrades, tenWith } from '../training/session.ts'
import { medianFigure, repsFigure, type ShownTraining } from '../training/training.ts'
import { countedUntil } from '../../../stats/known-time.ts'
import { lockedPercent, type ShownLocks } from '../locks/list.ts'

/** The lock with what is planned, and how much of each of the last days was locked. */
export function lockCard(
  reader: Reader,
  current: (LockStats & { readonly document: string }) | undefined,
  last: LockStats | undefined,
  days: readonly LockStatistics[],
): Html {
  const { viewer, now } = reader
  const shown = current ?? last
  if (shown === undefined) return nothing
  const locked = days.filter(({ lockedSeconds }) => lockedSeconds > 0).length
  const today = zoneClock(viewer.timeZone).dayOf(now)
  const end = knownEnd(shown)
  const until = countedUntil(viewer.asOf, now)
  const clock = { until, now }
  const ahead = current && endAhead(viewer, current, viewer.subject.id, until)
  return tile(
    html`<a href="/locks/${shown.id}">${current === undefined ? 'Last lock' : recordName(viewer, 'lock', readLock(current.document))}</a>${practiceMark(shown.rules)}`,
    html`
      ${current === undefined ? nothing : html`<p class="muted">${lockTime(current, clock)}</p>`}
      <dl class="stats">
        ${current === undefined ? nothing : html`${stat('So far', tickingTime(current.at, clock), ahead && progressBar(current, ahead, clock))}${plannedEndStat(viewer, current, viewer.subject.id, until)}`}
        ${current === undefined && end !== null && stat('Ended', timeAgo(viewer, end, now), `after ${durationText((end - shown.at) / 1000)}`)}
        ${stat('Days with a lock', numberText(locked), `of the last ${countText(days.length, 'day')}`)}
      </dl>
      ${dayStrip(viewer, days, today)}
    `,
    'wide',
  )
}

export const STRIP_DAYS = 28

/** How much of each of the last days was locked, as a link to them. */
function dayStrip(viewer: Viewer, days: readonly LockStatistics[], today: number): Html {
  const first = today + 1 - days.length
  const bars = dayBars(days.map(({ lockedSeconds }) => lockedSeconds / 864))
  return html`<a class="days-strip" href="/locks?from=${formatDate(first)}&to=${formatDate(today)}">${bars}<span class="ends small muted"><span>${shortDay(first * DAY_MS)}</span><span>${lockText('Hours locked by day, of 24', viewer)}</span><time title="${shortDay(today * DAY_MS)}">Today</time></span></a>`
}

/** What has not begun yet is not zero. */
export function thisWeek(reader: Reader, { known, week }: ShownTraining, goal: number | null): Html {
  const { monday, scope, reps, count, judged } = week
  const link = html`<a href="/training?from=${formatDate(monday)}&to=${formatDate(monday + 6)}">This week</a>`
  const counted = figure(`sessions ${scope}`, count, countText(count, 'session'))
  const usually = judged?.byNow && `usually ${rangeText(judged.byNow)} by now`
  const ofGoal =
    goal !== null && `Weekly goal: ${numberText(reps)} of ${countText(goal, 'repetition')} (${partText(reps, goal)})`
  if (count === 0)
    return html`<p class="card wide">${dotted(link, html`${repsFigure(reps, scope)} repetitions`, counted, usually, ofGoal || undefined)}</p>`
  return tile(
    link,
    html`
      <p class="big">${repsFigure(reps, scope)} <small>repetitions</small></p>
      <p class="muted">${dotted(usually, counted)}</p>
      ${ofGoal && html`<p class="muted">${ofGoal}</p>`}
      ${weekBars(weekDays(reader, known, monday), zoneClock(reader.viewer.timeZone).dayOf(reader.now) - monday)}
    `,
  )
}

/** How many repetitions there were on each day. */
function weekDays({ viewer }: Reader, sessions: readonly SessionStats[], monday: number): number[] {
  const { startOf } = zoneClock(viewer.timeZone)
  return WEEKDAYS.map((_, day) => {
    const ofDay = sessionsBetween(sessions, startOf(monday + day), startOf(monday + day + 1))
    return sum(ofDay.map(one => one.reps))
  })
}

/** The last session before `limit`, which is that of `/status`, beside what is usual with its program. */
export async function lastSession(
  { store, viewer, pageAccess, now }: Reader,
  sessions: readonly SessionStats[],
  programs: Programs,
  limit: number,
): Promise<Html> {
  const index = sessions.findLastIndex(({ at }) => at < limit)
  const last = sessions[index]
  if (last === undefined) return nothing
  const { id, at, grade, passed, program, reps } = last
  const usual = usualOfProgram(sessions, index, one => one.grade)
  const rank = gradeRank(sessions, last, limit)
  const ten = tenWith(last, sessions.slice(0, index + 1))
  const document = passed ? undefined : (await trainingRecords(store, pageAccess.sessions('dtt'), [id])).get(id)
  const templates = pageAccess.ofAll('training_template')
  const found = passed ? undefined : await programQueries.find(store, templates, [program])
  const { TrainerSegment: segments = [] } = JSON.parse(document ?? '{}') as Partial<TrainingSession>
  const failed = passed ? undefined : failedNote(viewer, segments, found?.get(program)?.record)
  return tile(
    html`<a href="/training/${id}">Last session</a>`,
    html`
      <p class="big">${percentText(grade)} <small>grade\u00a0 ${resultMark(passed)}</small></p>
      ${failed === undefined ? nothing : html`<p>${failed}</p>`}
      <p class="muted">${gradeNote(grade, usual, rank)}</p>
      <p class="muted">${dotted(programLink(programs, program), countText(reps, 'repetition'), timeAgo(viewer, at, now))}</p>
      ${ten.length < 2 ? nothing : html`<p class="small muted">Last ${ten.length} with this program${ten.every(one => one.passed) ? nothing : '; hollow: not passed'}</p>${lastGrades(viewer, ten, last, usual)}`}
    `,
  )
}

/** The last twelve weeks, drawn as the pages of training and locks draw them, to which they lead. */
export function weeksCard(
  { viewer, now }: Reader,
  training: ShownTraining | undefined,
  locks: ShownLocks | undefined,
): Html {
  const period = training?.period ?? locks?.period
  const strip = (to: string, title: string, figure: Part, drawing: Html, last: string | undefined) =>
    html`<figure><figcaption><a href="${to}">${title}</a><strong>${figure}</strong></figcaption>${drawing}<div class="ends small muted"><span>${period && shortDay(period.first * DAY_MS)}</span><span>${last === undefined ? nothing : `this week ${last}`}</span></div></figure>`
  const strips: Html[] = []
  if (training !== undefined && training.sessions.length > 0) {
    const { totals, grade, periods, spreads } = training.summary
    const week = spreads.at(-1) ?? undefined
    const scope = daysName(training.period)
    const reps = repsFigure(totals.reps, scope)
    const median = grade !== null && medianFigure(grade.median, scope)
    const bars = barStrip(viewer, { ...amountBars(viewer, training, now), byNow: training.week.judged?.byNow })
    strips.push(strip('/training#repetitions', 'Repetitions', reps, bars, numberText(periods.at(-1)?.reps ?? 0)))
    const dots = gradeStrip(viewer, training)
    strips.push(strip('/training#grades', 'Median grade', median, dots, week && percentText(week.median)))
  }
  if (locks !== undefined && locks.total.knownSeconds > 0) {
    const share = lockedFigure(locks.total, daysName(locks.period))
    const week = locks.buckets.at(-1)
    const last = week && percentText(lockedPercent(week) ?? 0)
    strips.push(strip('/locks', lockText('Locked', viewer), share, barStrip(viewer, shareBars(viewer, locks)), last))
  }
  if (strips.length === 0) return nothing
  return card(
    'Last 12 weeks',
    html`${patterns}<div class="multiples">${strips}</div><p class="small muted">A mark is a week, the highest with its figure; the grey band, where there is one, is what is usual: the middle half of up to twelve weeks before.</p>`,
    { actions: html`<span class="muted">${period && daysText(period)}</span>` },
  )
}

function tile(title: Part, body: Html, look = ''): Html {
  return html`<section class="card tile ${look}"><h2>${title}</h2>${body}</section>`
}
