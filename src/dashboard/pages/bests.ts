import type { TrainingBests } from '../../stats/bests.ts'
import { lockHistory } from '../../stats/lock-history.ts'
import { countedUntil } from '../../stats/status.ts'
import { trainingHistory } from '../../stats/training-history.ts'
import { card, noRecords, facts } from '../layout/components.ts'
import { html, type Html, nothing, type Part } from '../html.ts'
import { kindName } from '../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../page.ts'
import { countText, dateText, durationText, numberText, unbroken } from '../text/text.ts'
import { lockText } from './lock-states.ts'

/** The highest values, each with a link to where it comes from. */
export const bestPages: readonly DashboardPage[] = [
  { section: 'year', reads: 'statistics', area: 'both', path: '/bests', handler: showBests },
]

async function showBests(visit: Visit) {
  const { store, viewer, now, pageAccess } = visit
  const until = countedUntil(viewer.asOf, now)
  const [trainings, locks] = await Promise.all([
    trainingHistory(store, pageAccess.sessions('dtt')),
    lockHistory(store, pageAccess.sessions('lkbx')),
  ])
  const [bests, longest] = await Promise.all([trainings.bests(viewer.timeZone, now), locks.longest(until)])
  const rows = [
    ...trainingRows(bests),
    ...(longest === undefined
      ? []
      : [
          row(
            lockText('Longest locked stretch', viewer),
            durationText(longest.seconds),
            `/locks/${longest.session.id}`,
            dateText(viewer, longest.session.at),
          ),
        ]),
  ]
  return view({
    title: 'Bests',
    lead:
      viewer.subject.id === viewer.session.accountId
        ? 'Over all known records.'
        : 'Over all records that are shared with you.',
    body:
      rows.length === 0 && bests.grades.length === 0
        ? noRecords(
            viewer,
            'No bests yet',
            lockText(
              'This page will show the highest grades, the longest streak and the longest locked stretch.',
              viewer,
            ),
          )
        : html`
            ${rows.length === 0 ? nothing : card('Overall', facts(rows))}
            ${bests.grades.length === 0 ? nothing : card('Best grade by kind', facts(gradeRows(viewer, bests)))}
          `,
  })
}

/** The bests of training, for the overview. */
export function bestsCard(bests: TrainingBests): Html {
  const rows = trainingRows(bests)
  if (rows.length === 0) return nothing
  return card('Bests', facts(rows), { actions: html`<a href="/bests">All bests</a>` })
}

function trainingRows({ week, current, longest }: TrainingBests): (readonly [string, Html])[] {
  const days = ({ from, to }: { from: string; to: string }) => `/training?from=${from}&to=${to}`
  return [
    ...(week === undefined
      ? []
      : [
          row(
            'Most repetitions in a week',
            numberText(week.reps),
            days(week),
            `week of ${unbroken(dayText(week.from))}`,
          ),
        ]),
    ...(current === undefined
      ? []
      : [row('Current streak', countText(current.days, 'day'), days(current), `since ${dayText(current.from)}`)]),
    ...(longest === undefined
      ? []
      : [row('Longest streak', countText(longest.days, 'day'), days(longest), `until ${dayText(longest.to)}`)]),
  ]
}

function gradeRows(viewer: Viewer, { grades }: TrainingBests): (readonly [string, Html])[] {
  return grades.map(({ kind, grade, session }) =>
    row(kindName(viewer, kind), `${grade}\u00a0%`, `/training/${session.id}`, dateText(viewer, session.at)),
  )
}

function row(name: string, value: Part, to: string, when: string): readonly [string, Html] {
  return [name, html`<a href="${to}">${value}</a> <small class="muted">${when}</small>`]
}

function dayText(date: string): string {
  return dateText({ timeZone: 'UTC' }, Date.parse(date))
}
