import { lockedTimes } from '../../stats/lock-statistics.ts'
import type { LockStats } from '../../stats/lock-queries.ts'
import { dayFrom, timeWithin } from '../../stats/periods.ts'
import { sessionsBetween, type SessionStats } from '../../stats/training.ts'
import { longDay } from '../charts/days.ts'
import { card, recordLink, resultMark, table } from '../layout/components.ts'
import { html, type Html, nothing, type Part } from '../html.ts'
import type { Viewer, Visit } from '../page.ts'
import type { Programs } from '../text/program-names.ts'
import { durationText, numberText } from '../text/text.ts'
import { distanceOf } from './training/table.ts'
import { lockText } from './locks/states.ts'

/** What happened on a day, and tables of such events. */

interface Time {
  readonly start: number
  readonly end: number
}

function isUnderLock({ intervals }: LockStats, { start, end }: Time): boolean {
  return intervals.some(one => one.locked && one.start < end && one.end > start)
}

interface Known {
  readonly sessions: readonly SessionStats[]
  readonly locks: readonly LockStats[]
  readonly from: number
  readonly until: number
}

/** The sessions of both kinds on the day that the address names, if it is not before `from`. */
export function dayCard(visit: Visit, { sessions, locks, from, until }: Known, programs: Programs): Html {
  const { viewer, query } = visit
  const date = query.get('day') ?? ''
  const [start, end] = dayFrom(date, viewer.timeZone) ?? []
  if (start === undefined || end === undefined || start < from) return nothing
  const under = locks.filter(lock => isUnderLock(lock, { start, end }))
  const events: readonly Event[] = [
    ...sessionsBetween(sessions, start, end).map(session => trainingEvent(viewer, session, programs)),
    ...under.map(lock => {
      const locked = timeWithin(lockedTimes([lock], until), start, end)
      const result = lockText(`${durationText(locked / 1000)} under lock`, viewer)
      return { at: lock.at, to: `/locks/${lock.id}`, name: 'Lock session', result }
    }),
  ]
  return card(
    longDay(date),
    events.length === 0
      ? html`<p class="muted">Nothing is known of this day.</p>`
      : eventTable(visit, 'Activity of the day', events),
    { id: 'day', actions: html`<a href="${visit.path}">Close</a>` },
  )
}

interface Event {
  readonly at: number
  readonly to: string
  readonly name: string
  readonly result: Part
  readonly grade?: string
  readonly details?: string
}

function eventTable(visit: Visit, name: string, events: readonly Event[]): Html {
  return table(
    name,
    [
      { title: 'When', line: 'first', cell: ({ at, to }) => recordLink(visit, to, at) },
      { title: 'What', line: 'second', cell: ({ name }) => name },
      { title: 'Result', line: 'first', cell: ({ result }) => result },
      { title: 'Grade', numeric: true, line: 'first', cell: ({ grade = '' }) => grade },
      { title: 'Details', numeric: true, line: 'second', cell: ({ details = '' }) => details },
    ],
    events,
  )
}

function trainingEvent(viewer: Viewer, session: SessionStats, programs: Programs): Event {
  const { id, at, passed, program, grade, reps } = session
  return {
    at,
    to: `/training/${id}`,
    name: programs.nameOf(program),
    result: resultMark(passed),
    ...(grade === null ? {} : { grade: `${grade}\u00a0%` }),
    details: `${numberText(reps)}\u00a0${reps === 1 ? 'rep' : 'reps'} · ${distanceOf(viewer, session)}`,
  }
}
